//! Lines of the record: a line that was read can be written and read again, and has a sentence.
#![no_main]

use evenkeel::model::record::RecordLine;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(line) = RecordLine::parse(text) else {
        return;
    };
    assert!(!line.sentence().is_empty());
    assert_eq!(RecordLine::parse(&line.json()).unwrap(), line);
});
