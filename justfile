# The steps of .ci/run, one by one. `just --list` shows them.

# tests that need only cargo
test:
    env PROPTEST_CASES=256 cargo test --locked

# formatting and lints
lint:
    cargo fmt --check
    cargo clippy --locked --all-targets -- -D warnings
    cargo clippy --locked --test e2e --test arena --test soak -- -D warnings

# API documentation, without broken links
docs:
    env RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --quiet

# the documentation as a book, in target/book
book:
    mdbook build

# workflows
actionlint:
    go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

# unused dependencies
machete:
    cargo machete

# licenses, sources and duplicate crates
deny:
    cargo deny check bans licenses sources

# the control plane for the end-to-end tests, built once per machine
testbed:
    tests/testbed/build.sh

# build the end-to-end tests
e2e-build:
    cargo test --locked --test e2e --no-run

# end-to-end tests on real control planes
e2e: testbed e2e-build
    cargo test --locked --test e2e -- --test-threads 64

# random faults between evenkeel and a real API server, and kills beside them, for example `just faults 1-80 13`
faults seeds="1-80" kills="12":
    tests/faults.sh {{seeds}} {{kills}}

# changed inputs for one target of fuzz/, for example `just fuzz policy 60`
fuzz target seconds="60":
    tests/fuzz.sh {{target}} {{seconds}}

# a day's cycles at an interval of a second, which must leave memory, descriptors and metric series flat
soak cycles="1440":
    tests/soak.sh {{cycles}}

# random clusters: evenkeel with and without steering, and descheduler's choice
arena:
    tests/arena.sh

# time, memory and requests on a large cluster, for evenkeel and descheduler
load *args:
    tests/load/run.sh {{args}}

# everything that a change must pass
all:
    .ci/run
