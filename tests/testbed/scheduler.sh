#!/usr/bin/env bash
# scheduler.sh MINOR: builds the kube-scheduler of another release, such as 1.34, and prints the path of the binary, for
# up.sh: TESTBED_SCHEDULER_BINARY=$(./scheduler.sh 1.34) ./up.sh DIR PORT. Needs go, flock. Two to five minutes on 2 cores;
# at once when the binary is there already. Nothing runs this in CI.
set -euo pipefail

# the newest patch of each release that the Go module proxy has, and the newest of the modules kube-scheduler and
# csi-translation-lib if that is an older one: both only define types and names
older=
case "${1:-}" in
  1.31) version=v1.31.0 ;;
  1.32) version=v1.32.13 older=v0.32.2 ;;
  1.33) version=v1.33.13 ;;
  1.34) version=v1.34.4 ;;
  1.35) version=v1.35.4 ;;
  1.36) version=v1.36.3 ;;
  1.37) version=v1.37.2 ;;
  *) echo "usage: scheduler.sh MINOR, one of 1.31 to 1.37" >&2; exit 2 ;;
esac

root=${EVENKEEL_TESTBED_CACHE:-$HOME/.cache/evenkeel-testbed}
binary=$root/schedulers/$1/kube-scheduler

built() { [ "$("$binary" --version 2> /dev/null)" = "Kubernetes $version" ]; }
if built; then
  echo "$binary"
  exit 0
fi

mkdir -p "$root/schedulers/$1"
exec 9> "$root/schedulers/lock"
flock -n 9 || { echo "scheduler.sh: waiting for another build" >&2; flock 9; }
built && { echo "$binary"; exit 0; }
tmp=$(mktemp -d "$root/schedulers/tmp.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
start=$SECONDS
cd "$tmp"

# a wrapper module, because k8s.io/kubernetes replaces the modules of its own repository by folders: see
# modules/generate.sh. It is made anew for every build; Go's checksum database vouches for what it downloads.
export CGO_ENABLED=0 GOWORK=off GOFLAGS="-mod=mod -buildvcs=false -trimpath"
upstream=$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/^\t"GoMod": "\(.*\)",\?$/\1/p')
{
  printf 'module testbed/scheduler\n\nrequire k8s.io/kubernetes %s\n\n' "$version"
  awk -v staging="v0.${version#v1.}" -v older="$older" '
    /^go / {print}
    /=> \.\/staging\// {
      sub(/^replace /, "")
      print "replace " $1 " => " $1 " " (older && $1 ~ /\/(kube-scheduler|csi-translation-lib)$/ ? older : staging)
    }' "$upstream"
} > go.mod

# without a stamped version the scheduler says v0.0.0
stamp=k8s.io/component-base/version
minor=${1#1.}
echo "scheduler.sh: kube-scheduler $version" >&2
go build -ldflags "-s -w -X $stamp.gitVersion=$version -X $stamp.gitMajor=1 -X $stamp.gitMinor=$minor" \
  -o kube-scheduler k8s.io/kubernetes/cmd/kube-scheduler >&2 9>&-
mv kube-scheduler "$binary"
echo "scheduler.sh: kube-scheduler $version took $((SECONDS - start)) s" >&2
echo "$binary"
