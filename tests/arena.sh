#!/usr/bin/env bash
# arena.sh [SIZES] [SEEDS] [constant|mixed|moving] [WAYS]: plays random clusters of these sizes, and prints a table of docs/arena.md.
# WAYS are some of stock, ramp, steering and descheduler, separated by commas.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo test --release --locked --quiet --test arena -- "${1:-10,50,200,1000}" "${2:-30}" "${3:-constant}" "${4:-stock,steering,descheduler}"
