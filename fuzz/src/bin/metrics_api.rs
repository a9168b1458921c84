//! Answers of metrics.k8s.io. The first byte selects nodes or pods.
#![no_main]

use evenkeel::cluster::from_memory;
use evenkeel_fuzz::{body, run};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Some((_, body)) = body(input) {
        if input[0] == b'a' {
            let readings = run(from_memory::node_metrics(body));
            assert!(readings.is_none_or(|r| r.pods.is_empty()));
        } else {
            let readings = run(from_memory::pod_metrics(body));
            assert!(readings.is_none_or(|r| r.nodes.is_empty()));
        }
    }
});
