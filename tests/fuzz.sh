#!/usr/bin/env bash
# fuzz.sh TARGET SECONDS: feeds changed inputs to a target of fuzz/ and keeps those that reach new code.
# fuzz.sh TARGET FILE...: feeds these inputs once, to repeat a failure. Without arguments it lists the targets.
# The seeds are in fuzz/corpus/TARGET. New inputs go to target/fuzz/corpus/TARGET, and those that fail to
# target/fuzz/failures. Needs a C++ compiler, for libFuzzer.
set -euo pipefail
here=$(cd "$(dirname "$0")/../fuzz" && pwd)
[ $# -ge 2 ] || { echo "usage: fuzz.sh TARGET SECONDS|FILE..." >&2; ls "$here/corpus" >&2; exit 2; }
target=$1
shift

# The same versions as in the product.
[ "$here/Cargo.lock" -nt "$here/../Cargo.lock" ] || cp "$here/../Cargo.lock" "$here/Cargo.lock"
# The flags are in the configuration file of that folder.
(cd "$here" && cargo build --release --quiet --bin "$target")
program=$(echo "$here"/../target/fuzz/*/release/"$target")
found=$here/../target/fuzz/corpus/$target failures=$here/../target/fuzz/failures
mkdir -p "$found" "$failures"

# An input that takes 5 s or 1 GiB is a failure.
limits=(-max_len=16384 -timeout=5 -rss_limit_mb=1024)
[ ! -f "$1" ] || exec "$program" "${limits[@]}" "$@"
exec nice -n 15 "$program" "$found" "$here/corpus/$target" "${limits[@]}" -max_total_time="$1" -print_final_stats=1 \
  -artifact_prefix="$failures/$target-"
