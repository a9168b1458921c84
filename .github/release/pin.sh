#!/usr/bin/env bash
# pin.sh DIGEST [FOLDER]: names the image by its digest in the chart and the manifests of FOLDER, by default this repository.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: pin.sh DIGEST [FOLDER]" >&2; exit 2; }
digest=$1
cd "${2:-$(dirname "$0")/../..}"
fail() { echo "pin.sh: $*" >&2; exit 1; }
[[ $digest =~ ^sha256:[0-9a-f]{64}$ ]] || fail "found $digest, expected sha256: and 64 digits"

# replace FILE PATTERN REPLACEMENT: fails unless exactly one line matches.
replace() {
  [ "$(grep -cE "$2" "$1")" = 1 ] || fail "$1: expected one line that matches $2"
  sed -E -i.old "s|$2|$3|" "$1" && rm "$1.old"
}
replace deploy/helm/evenkeel/values.yaml '^  digest: ""$' "  digest: $digest"
replace deploy/base/deployment.yaml '(image: ghcr.io/evenkeel/evenkeel:v[^@]*)$' "\\1@$digest"
