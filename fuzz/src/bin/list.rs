//! Lists of objects, as they arrive from the API server.
#![no_main]

use evenkeel::cluster::from_memory;
use evenkeel::model::snapshot::objects::Objects;
use evenkeel_fuzz::{body, run};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Some((kind, body)) = body(input) {
        let mut objects = Objects::default();
        let items = run(from_memory::list(kind, body, &mut objects));
        assert!(objects.count(kind) <= items);
    }
});
