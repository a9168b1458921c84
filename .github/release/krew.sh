#!/usr/bin/env bash
# krew.sh VERSION CHECKSUMS: prints the manifest of the kubectl plugin. CHECKSUMS is the output of sha256sum for the archives.
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: krew.sh VERSION CHECKSUMS" >&2; exit 2; }

cat <<EOF
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: evenkeel
spec:
  version: v$1
  homepage: https://github.com/evenkeel/evenkeel
  shortDescription: Plan and explain the rebalancing of nodes
  description: |
    Shows which pods evenkeel would evict so that nodes become even by actual
    usage, explains why each pod moves or stays, and checks whether a cluster
    lets evenkeel work. Only the commands run, apply, approve, pause and resume
    change anything in the cluster.
  platforms:
EOF
for platform in linux/amd64:x86_64-unknown-linux-musl linux/arm64:aarch64-unknown-linux-musl \
  darwin/amd64:x86_64-apple-darwin darwin/arm64:aarch64-apple-darwin; do
  os=${platform%%/*} rest=${platform#*/}
  arch=${rest%%:*} target=${rest#*:}
  archive=evenkeel-v$1-$target.tar.gz
  sum=$(awk -v name="$archive" '$2 == name {print $1}' "$2")
  [ -n "$sum" ] || { echo "krew.sh: no checksum of $archive in $2" >&2; exit 1; }
  cat <<EOF
  - selector:
      matchLabels:
        os: $os
        arch: $arch
    uri: https://github.com/evenkeel/evenkeel/releases/download/v$1/$archive
    sha256: $sum
    bin: evenkeel
EOF
done
