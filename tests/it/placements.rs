//! Pods land where we forecast. The real kube-scheduler's decisions were recorded by
//! `tests/e2e/forecast.rs`.

use std::path::PathBuf;

use crate::shared::placements::case::{Case, folder};
use crate::shared::placements::judge::Figures;

/// Returns the recorded cases, in order.
fn recorded() -> Vec<Case> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|e| e == "json"));
    files.sort();
    files
        .iter()
        .map(|file| serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap())
        .collect()
}

#[test]
fn pods_land_where_the_forecast_expects_them() {
    let mut figures = Figures::default();
    for case in recorded() {
        figures.add(&case);
    }
    println!("{figures}");
    assert!(
        figures.landed >= 1000,
        "cases are missing from the recorded data"
    );
    assert!(
        figures.hits() >= 98.0 && figures.width() <= 2.0,
        "{figures}"
    );
}
