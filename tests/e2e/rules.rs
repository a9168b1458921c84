//! The alerts, by Prometheus' own tool: they are well formed, and each fires when it should and not otherwise.

use std::path::Path;
use std::process::Command;

use crate::boards;
use crate::kit::bed::run;

#[test]
fn promtool_finds_no_fault_with_the_alerts_and_each_fires_when_it_should() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rules");
    std::fs::create_dir_all(&folder).unwrap();
    let alerts = folder.join("alerts.yaml");
    std::fs::write(&alerts, boards::groups().to_string()).unwrap();
    run(Command::new("promtool").args(["check", "rules", "--lint=all", "--lint-fatal"]).arg(&alerts));
    // They name the rules by a path of their own folder.
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules")).unwrap() {
        let entry = entry.unwrap();
        let copy = folder.join(entry.file_name());
        std::fs::copy(entry.path(), &copy).unwrap();
        run(Command::new("promtool").args(["test", "rules"]).arg(&copy));
    }
}
