#!/usr/bin/env bash
# notes.sh VERSION: prints the section of CHANGELOG.md for a version, which becomes the text of the release.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# -eq 1 ] || { echo "usage: notes.sh VERSION" >&2; exit 2; }

notes=$(awk -v heading="## [$1]" '
  index($0, heading) == 1 {inside = 1; next}
  /^## \[/ {inside = 0}
  inside' CHANGELOG.md)
[ -n "${notes//[[:space:]]/}" ] || { echo "notes.sh: CHANGELOG.md has no section for $1" >&2; exit 1; }
printf '%s\n' "$notes"
