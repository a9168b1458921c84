//! Files of kube-scheduler.
#![no_main]

use evenkeel::policy::{Policy, SchedulerConfig};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match SchedulerConfig::parse("scheduler.yaml", text) {
        Ok(config) => {
            let policy = Policy::default_native().with_schedulers(config);
            assert!(policy.schedulers().count() >= 1);
            policy.resources();
        }
        Err(error) => {
            assert!(!error.problems.is_empty() && !error.to_string().is_empty());
        }
    }
});
