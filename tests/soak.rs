//! The soak: `tests/soak.sh`. A target of its own, because it takes half an hour.
#![expect(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "nothing here is used from outside, the table is the output, and a mistake ends the \
              run"
)]

/// The soak, and the building blocks of the end-to-end tests.
mod e2e {
    pub(crate) mod soak;
    #[expect(dead_code, unused_imports, reason = "the end-to-end tests use the rest")]
    mod support;
}

fn main() {
    let cycles = std::env::args().nth(1);
    e2e::soak::soak(cycles.map(|text| text.parse().expect("a number of cycles")));
}
