#!/usr/bin/env bash
# archive.sh VERSION TARGET BINARY OUT: packs a binary with its manual pages and completions, and prints the path of the archive.
# The binary must run on this machine.
set -euo pipefail
[ $# -eq 4 ] || { echo "usage: archive.sh VERSION TARGET BINARY OUT" >&2; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
name=evenkeel-v$1-$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/man" "$work/completions" "$4"
cp "$3" "$work/evenkeel"
cp "$root/LICENSE" "$root/README.md" "$work/"
"$work/evenkeel" man "$work/man"
for shell in bash zsh fish powershell elvish; do
  "$work/evenkeel" completions "$shell" > "$work/completions/evenkeel.$shell"
done
# The same input gives the same archive on GNU tar.
options=()
if tar --version | grep -q GNU; then
  options=(--sort=name --mtime="@${SOURCE_DATE_EPOCH:-0}" --owner=0 --group=0 --numeric-owner)
fi
tar -C "$work" "${options[@]}" -cf - LICENSE README.md completions evenkeel man | gzip -n > "$4/$name.tar.gz"
echo "$4/$name.tar.gz"
