//! Objects of the API in JSON, from the API server and from a file.
#![no_main]

use evenkeel::model::snapshot::import;
use evenkeel_fuzz::kind;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((kind, text)) = kind(input) else {
        return;
    };
    match import::json(kind, text) {
        Ok(object) => {
            object.key();
        }
        Err(skipped) => assert_eq!(skipped.kind, kind.name()),
    }
    if let Ok(value) = serde_json::from_slice(text) {
        let _ = import::object(&value);
    }
});
