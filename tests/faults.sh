#!/usr/bin/env bash
# Plays many schedules of faults: tests/faults.sh 1-100
set -euo pipefail
cd "$(dirname "$0")/.."
export EVENKEEL_FAULT_SEEDS=${1:-1-100} EVENKEEL_CONTROL_PLANES=1
exec cargo test --locked --test e2e -- --nocapture faults::
