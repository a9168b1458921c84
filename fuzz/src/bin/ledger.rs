//! Stored ledgers: a ledger that was read can be written and read again, and survives a
//! clock that is wrong.
#![no_main]

use evenkeel::decide::engine::Engine;
use evenkeel::model::ledger::Ledger;
use evenkeel::model::snapshot::Snapshot;
use evenkeel::policy::Policy;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(ledger) = Ledger::parse(text) else {
        return;
    };
    assert_eq!(Ledger::parse(&ledger.write()).unwrap(), ledger);
    let now = "2026-11-21T12:00:00Z".parse().unwrap();
    let mut engine = Engine::new(Policy::default_native(), ledger);
    engine.clamp_ledger(now);
    assert_eq!(engine.clamp_ledger(now), 0, "clamped once, all times are valid");
    engine.settle(&Snapshot::default(), now);
    let kept = engine.ledger();
    assert_eq!(&Ledger::parse(&kept.write()).unwrap(), kept);
});
