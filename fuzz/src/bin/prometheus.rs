//! Answers of Prometheus to the six queries, one per line. The first byte selects a range (`r`).
#![no_main]

use std::sync::LazyLock;

use evenkeel::cluster::usage_source::prometheus::join_in_memory;
use evenkeel::model::snapshot::node_addresses::NodeAddresses;
use libfuzzer_sys::fuzz_target;

static NODES: LazyLock<NodeAddresses> = LazyLock::new(|| {
    let mut nodes = NodeAddresses::default();
    nodes.add("n1", &["10.0.0.1".to_owned()]);
    nodes.add("n2", &["10.0.0.2".to_owned(), "fd00::2".to_owned()]);
    nodes
});

fuzz_target!(|input: &str| {
    let range = input.starts_with('r');
    let mut lines = input.lines().skip(1);
    let answers = [(); 6].map(|()| lines.next().unwrap_or_default());
    if let Ok(readings) = join_in_memory(answers, range, &NODES) {
        assert!(readings.is_sorted_by(|a, b| a.0 < b.0));
    }
});
