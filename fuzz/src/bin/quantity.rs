//! Quantities: a quantity that was read can be written and read again.
#![no_main]

use evenkeel::values::quantity::{Quantity, amount, text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    if let Ok(quantity) = Quantity::parse(input) {
        for resource in ["cpu", "memory"] {
            let read = amount(resource, input).ok();
            assert_eq!(read, quantity.to_amount(resource));
            if let Some(read) = read {
                assert_eq!(amount(resource, &text(resource, read)), Ok(read));
            }
        }
    }
});
