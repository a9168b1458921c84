//! Objects of the API in protobuf.
#![no_main]

use evenkeel::model::snapshot::import;
use evenkeel_fuzz::kind;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((kind, message)) = kind(input) else {
        return;
    };
    match import::protobuf(kind, message) {
        Ok(object) => {
            object.key();
        }
        Err(skipped) => assert_eq!(skipped.kind, kind.name()),
    }
});
