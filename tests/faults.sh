#!/usr/bin/env bash
# Plays many schedules of faults, and kills beside them: tests/faults.sh 1-80 12
set -euo pipefail
cd "$(dirname "$0")/.."
export EVENKEEL_FAULT_SEEDS=${1:-1-80} EVENKEEL_FAULT_KILLS=${2:-12} EVENKEEL_CONTROL_PLANES=1
exec cargo test --locked --test e2e -- --nocapture faults::
