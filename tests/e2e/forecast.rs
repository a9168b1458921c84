//! Pods land where we forecast: random clusters and the real scheduler.

mod cluster;
mod dice;
mod log;
mod pods;
mod stage;

use std::path::Path;

use serde_json::{Value, json};

use crate::e2e::support::{control_plane::with_scheduler_flags, say};
use crate::shared::placements::case::{Case, folder};
use crate::shared::placements::judge::Figures;

use cluster::{LARGE, Scenario, THEMES, scenario};
use stage::Stage;

/// How many clusters are recorded of each release, not counting the large one.
const RECORDED: u64 = 48;
/// Of other releases than the testbed's own, the smallest file of each theme is kept in which at
/// least this many pods landed.
const ENOUGH: usize = 12;
/// None is kept of these themes: the first shows nothing that the rest does not, and the others are
/// large.
const LEFT_OUT: [&str; 3] = ["plain", "everything", "large"];
/// The release of the testbed.
const OWN: u64 = 36;

const LIVE: std::ops::Range<u64> = 1000..1060;

/// Rewrites the folder of the scheduler's release in tests/data/placements:
/// `cargo test --test e2e record_placements -- --ignored`. The variable `TESTBED_SCHEDULER_BINARY`
/// chooses another scheduler, see tests/testbed/README.md.
#[test]
#[ignore = "writes the cases that tests/it/placements.rs replays"]
fn record_placements() {
    with_scheduler_flags(log::FLAGS, async |control_plane| {
        let mut stage = Stage::new(control_plane);
        let minor: u64 = stage.release["1.".len()..].parse().unwrap();
        // Each release has clusters of its own.
        let first = if minor == OWN { 0 } else { minor * 100 };
        let mut scenarios: Vec<Scenario> =
            (first..first + RECORDED).map(|seed| scenario(&THEMES[index(seed)], seed)).collect();
        scenarios.push(scenario(&LARGE, first + RECORDED));
        let cases = play(&mut stage, scenarios).await;
        let recorded = folder().join(&stage.release);
        let _ = std::fs::remove_dir_all(&recorded);
        std::fs::create_dir_all(&recorded).unwrap();
        for case in &cases {
            if minor == OWN || is_kept(case, &cases) {
                std::fs::write(recorded.join(file_name(case)), text(case)).unwrap();
            }
        }
    });
}

/// Uses other clusters than the recorded ones.
#[test]
fn pods_land_where_we_forecast() {
    with_scheduler_flags(log::FLAGS, async |control_plane| {
        let mut stage = Stage::new(control_plane);
        let scenarios = LIVE.map(|seed| scenario(&THEMES[index(seed)], seed));
        let mut figures = Figures::default();
        for case in play(&mut stage, scenarios).await {
            figures.add(&case);
        }
        assert!(figures.landed >= 1000 && figures.hits() >= 98.0 && figures.width() <= 1.2);
        assert!(figures.agreement() >= 90.0);
    });
}

/// Plays the scenarios, prints the accuracy of the forecast, and writes each case to a folder of
/// its release. To debug a miss, copy its file to tests/data/placements.
async fn play(stage: &mut Stage<'_>, scenarios: impl IntoIterator<Item = Scenario>) -> Vec<Case> {
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("forecast").join(&stage.release);
    std::fs::create_dir_all(&kept).unwrap();
    let (mut cases, mut figures) = (Vec::new(), Figures::default());
    for scenario in scenarios {
        let case = stage.play(scenario).await;
        std::fs::write(kept.join(file_name(&case)), text(&case)).unwrap();
        figures.add(&case);
        cases.push(case);
    }
    say(&format!("kube-scheduler {}: {figures}", stage.release));
    cases
}

/// Returns true if the case is the smallest of its theme in which enough pods landed.
fn is_kept(case: &Case, all: &[Case]) -> bool {
    let is_rich = |case: &&Case| {
        let landed = case.placements.iter().filter(|p| p.node.is_some());
        landed.count() >= ENOUGH && !LEFT_OUT.contains(&case.name.as_str())
    };
    let size = text(case).len();
    let mut same = all.iter().filter(is_rich).filter(|c| c.name == case.name);
    is_rich(&case) && same.all(|other| size <= text(other).len())
}

fn file_name(case: &Case) -> String {
    format!("{:02}-{}.json", case.seed, case.name)
}

/// Writes one object or placement per line, so that diffs are easy to read.
fn text(case: &Case) -> String {
    let objects: Vec<String> = case.objects.iter().map(Value::to_string).collect();
    let placements: Vec<String> =
        case.placements.iter().map(|p| serde_json::to_string(p).unwrap()).collect();
    let (objects, placements) = (objects.join(",\n"), placements.join(",\n"));
    let head = format!(
        "{{\"name\":\"{}\",\"seed\":{},\"release\":\"{}\",\"plugins\":{}",
        case.name,
        case.seed,
        case.release,
        json!(case.plugins)
    );
    format!("{head},\n\"objects\":[\n{objects}\n],\n\"placements\":[\n{placements}\n]}}\n")
}

fn index(seed: u64) -> usize {
    usize::try_from(seed % THEMES.len() as u64).unwrap()
}
