//! Policies of every format: a policy that was read can be written and read again, and a
//! refusal names a place.
#![no_main]

use evenkeel::policy::Policy;
use libfuzzer_sys::fuzz_target;

/// The policy without its warnings and what only the exact mode reads.
fn without_mode(mut policy: Policy) -> Policy {
    for profile in &mut policy.profiles {
        profile.evictable.protected.resource_claims_exactly = None;
    }
    Policy { warnings: Vec::new(), exact: false, ..policy }
}

fuzz_target!(|text: &str| {
    match Policy::parse("policy.yaml", text) {
        // The native format requires a strategy.
        Ok(policy) if policy.strategies.is_empty() => {}
        Ok(policy) => {
            let native = policy.to_native();
            let again = Policy::parse("native.yaml", &native);
            let again = again.unwrap_or_else(|error| panic!("{error}\n{native}"));
            assert_eq!(again.to_native(), native);
            assert_eq!(without_mode(again), without_mode(policy));
        }
        Err(error) => {
            assert!(!error.problems.is_empty());
            let placed = |p: &evenkeel::schema::problem::Problem| p.line >= 1 && p.column >= 1;
            assert!(error.problems.iter().all(placed), "{error}");
            // The message quotes the line.
            assert!(!error.to_string().is_empty());
        }
    }
});
