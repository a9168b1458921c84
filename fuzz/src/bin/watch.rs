//! Frames of a watch, as they arrive from the API server.
#![no_main]

use evenkeel::cluster::from_memory;
use evenkeel::model::snapshot::objects::Objects;
use evenkeel_fuzz::{body, run};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Some((kind, body)) = body(input) {
        let mut objects = Objects::default();
        let events = run(from_memory::watch(kind, body, &mut objects));
        assert!(objects.count(kind) <= events);
    }
});
