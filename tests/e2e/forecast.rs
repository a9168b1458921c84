//! Pods land where we forecast: random clusters and the real scheduler.

mod cluster;
mod dice;
mod log;
mod pods;
mod stage;

use std::path::Path;

use serde_json::{Value, json};

use crate::e2e::support::control_plane::with_scheduler_flags;
use crate::e2e::support::wait::say;
use crate::shared::placements::case::{Case, folder};
use crate::shared::placements::judge::Figures;

use cluster::{LARGE, THEMES, scenario};
use stage::Stage;

/// How many clusters are recorded, not counting the large one.
const RECORDED: u64 = 48;

const LIVE: std::ops::Range<u64> = 1000..1060;

/// Rewrites tests/data/placements: `cargo test --test e2e record_placements -- --ignored`.
#[test]
#[ignore = "writes the cases that tests/it/placements.rs replays"]
fn record_placements() {
    with_scheduler_flags(log::FLAGS, async |control_plane| {
        let mut stage = Stage::new(control_plane);
        std::fs::create_dir_all(folder()).unwrap();
        let usual = (0..RECORDED).map(|seed| scenario(&THEMES[index(seed)], seed));
        for scenario in usual.chain([scenario(&LARGE, RECORDED)]) {
            let case = stage.play(scenario).await;
            let landed = case.placements.iter().filter(|p| p.node.is_some()).count();
            say(&format!(
                "{:02}-{}: {landed} of {} landed",
                case.seed,
                case.name,
                case.placements.len()
            ));
            std::fs::write(
                folder().join(format!("{:02}-{}.json", case.seed, case.name)),
                text(&case),
            )
            .unwrap();
        }
    });
}

/// Uses other clusters than the recorded ones.
#[test]
fn pods_land_where_we_forecast() {
    with_scheduler_flags(log::FLAGS, async |control_plane| {
        let mut stage = Stage::new(control_plane);
        let mut figures = Figures::default();
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("forecast");
        std::fs::create_dir_all(&kept).unwrap();
        for seed in LIVE {
            let case = stage.play(scenario(&THEMES[index(seed)], seed)).await;
            figures.add(&case);
            // To debug a miss, copy its file to tests/data/placements.
            std::fs::write(
                kept.join(format!("{}-{}.json", case.seed, case.name)),
                text(&case),
            )
            .unwrap();
        }
        say(&figures.to_string());
        assert!(figures.landed >= 1000 && figures.hits() >= 98.0 && figures.width() <= 2.0);
    });
}

/// Writes one object or placement per line, so that diffs are easy to read.
fn text(case: &Case) -> String {
    let objects: Vec<String> = case.objects.iter().map(Value::to_string).collect();
    let placements: Vec<String> = case
        .placements
        .iter()
        .map(|p| serde_json::to_string(p).unwrap())
        .collect();
    let (objects, placements) = (objects.join(",\n"), placements.join(",\n"));
    let head = format!(
        "{{\"name\":\"{}\",\"seed\":{},\"plugins\":{}",
        case.name,
        case.seed,
        json!(case.plugins)
    );
    format!("{head},\n\"objects\":[\n{objects}\n],\n\"placements\":[\n{placements}\n]}}\n")
}

fn index(seed: u64) -> usize {
    usize::try_from(seed % THEMES.len() as u64).unwrap()
}
