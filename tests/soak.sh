#!/usr/bin/env bash
# soak.sh [CYCLES]: runs the program for this many cycles of a second, by default 1,440, while pods and nodes come and go.
# Prints what it holds, and fails if that grows. Needs the control plane of tests/testbed.
set -euo pipefail
cd "$(dirname "$0")/.."
exec cargo test --locked --test soak -- "${1:-1440}"
