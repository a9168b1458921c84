//! Do pods land where we foresee it? Clusters by chance, and the real scheduler.

mod cluster;
mod dice;
mod log;
mod pods;
mod stage;

use crate::kit::bed::on_a_bed_whose_scheduler_has;
use crate::kit::wait::say;
use crate::placements::case;

use cluster::{LARGE, THEMES, scenario};
use stage::Stage;

/// How many clusters are recorded, those of a size apart.
const RECORDED: u64 = 48;

/// Writes tests/data/placements anew: `cargo test --test e2e record_placements -- --ignored`.
#[test]
#[ignore = "writes the cases that tests/placements replays"]
fn record_placements() {
    on_a_bed_whose_scheduler_has(log::FLAGS, async |bed| {
        let mut stage = Stage::new(bed);
        std::fs::create_dir_all(case::folder()).unwrap();
        let usual = (0..RECORDED).map(|seed| scenario(&THEMES[index(seed)], seed));
        for scenario in usual.chain([scenario(&LARGE, RECORDED)]) {
            let case = stage.play(scenario).await;
            let landed = case.placements.iter().filter(|p| p.node.is_some()).count();
            say(&format!("{:02}-{}: {landed} of {} landed", case.seed, case.name, case.placements.len()));
            std::fs::write(case::folder().join(format!("{:02}-{}.json", case.seed, case.name)), case.text()).unwrap();
        }
    });
}

fn index(seed: u64) -> usize {
    usize::try_from(seed % THEMES.len() as u64).unwrap()
}
