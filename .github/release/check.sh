#!/usr/bin/env bash
# check.sh TAG: fails unless the tag, the crate, the chart, the manifests and the changelog name one version. Prints it.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# -eq 1 ] || { echo "usage: check.sh TAG" >&2; exit 2; }

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)
fail() { echo "check.sh: $*" >&2; exit 1; }
[ "$1" = "v$version" ] || fail "tag $1, but Cargo.toml has $version"
grep -qx "version: $version" deploy/helm/evenkeel/Chart.yaml || fail "Chart.yaml has another version than $version"
grep -qx "appVersion: $version" deploy/helm/evenkeel/Chart.yaml || fail "Chart.yaml has another appVersion than $version"
grep -q "image: ghcr.io/evenkeel/evenkeel:v$version\$" deploy/base/deployment.yaml || fail "deployment.yaml has another image"
.github/release/notes.sh "$version" > /dev/null
echo "$version"
