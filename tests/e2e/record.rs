//! The record on a real API server: each eviction has one line, also after a kill.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::e2e::support::{Launch, Policy, evicted, evictions, scene};

/// The pods of the lines of evictions, with how many lines are not marked as repeated.
pub(super) fn recorded(record: &Path) -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(record).unwrap();
    let mut pods = BTreeMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        if line["type"] == "io.evenkeel.eviction.v1" {
            let pod = line["data"]["pod"].as_str().unwrap().to_owned();
            let is_first = line["possiblyrepeated"] != true;
            *pods.entry(pod).or_default() += usize::from(is_first);
        }
    }
    pods
}

#[test]
fn each_eviction_has_one_line_also_after_a_kill() {
    scene::with(scene::more_lopsided, async |control_plane| {
        let policy =
            Policy { interval: "5s", limits: "{perCycle: 1, perWorkload: 100%}", ..Policy::USUAL };
        let launch = Launch::new(control_plane, &policy).await;
        let record = control_plane.dir.join("record.jsonl");
        let flags = ["--record", record.to_str().unwrap()];
        for wanted in [2, 4] {
            let mut process = launch.run(&flags);
            evicted(control_plane, &mut process, wanted, 240).await;
            if wanted == 2 {
                process.kill_9();
            } else {
                assert!(process.stop(30).await.success());
            }
        }
        let made = evictions(control_plane);
        let lines = recorded(&record);
        let pods: Vec<&String> = lines.keys().collect();
        assert_eq!(lines.len(), made.len(), "{pods:?}");
        assert!(made.iter().all(|one| lines.contains_key(&one.name)), "{pods:?}");
        assert!(lines.values().all(|unmarked| *unmarked <= 1), "{lines:?}");
        let history = Launch::history(&record);
        assert!(history.contains(&format!("{} ", made.len())), "{history}");
    });
}
