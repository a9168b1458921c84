#!/usr/bin/env bash
# build.sh [peer]: builds the control plane, kwok and metrics-server (with `peer`: the descheduler too) from the pinned
# wrapper modules, once a machine; the last line on stdout is the folder that holds bin/ and kwok/. Needs go, flock.
# About 10 minutes on 2 cores from nothing; at once when that folder is there already.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

case "${1:-}" in "" | peer) ;; *) echo "usage: build.sh [peer]" >&2; exit 2 ;; esac

# the folder's name changes with whatever could change the binaries
root=${EVENKEEL_TESTBED_CACHE:-$HOME/.cache/evenkeel-testbed}
cache=$root/$(cat modules/*/go.mod modules/*/go.sum build.sh | sha256sum | cut -c1-16)

built() { [ -d "$cache" ] && { [ "${1:-}" != peer ] || [ -x "$cache/bin/descheduler" ]; }; }
if built "${1:-}"; then
  echo "$cache"
  exit 0
fi

mkdir -p "$root"
exec 9> "$root/lock"
flock -n 9 || { echo "build.sh: waiting for another build" >&2; flock 9; }
tmp=$(mktemp -d "$root/tmp.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

export CGO_ENABLED=0 GOWORK=off GOFLAGS="-mod=readonly -buildvcs=false -trimpath"

# version NAME MODULE: what the wrapper's go.mod pins
version() { awk -v m="$2" '$1 == "require" && $2 == m {print $3}' "modules/$1/go.mod"; }
# build NAME FLAGS OUT PACKAGE...: FLAGS are linker flags
build() {
  local name=$1 flags=$2 out=$3 start=$SECONDS
  shift 3
  echo "build.sh: $name" >&2
  (cd "modules/$name" && go build -ldflags "-s -w $flags" -o "$out" "$@") >&2 9>&-
  echo "build.sh: $name took $((SECONDS - start)) s" >&2
}

if ! built; then
  mkdir -p "$tmp/new/bin" "$tmp/new/kwok"
  bin=$tmp/new/bin/

  # without a stamped version the servers say v0.0.0, and some clients misbehave
  k8s=$(version kubernetes k8s.io/kubernetes)
  minor=${k8s#v1.}
  stamp=k8s.io/component-base/version
  stamp="-X $stamp.gitVersion=$k8s -X $stamp.gitMajor=1 -X $stamp.gitMinor=${minor%%.*}"

  build etcd "" "$bin/etcd" go.etcd.io/etcd/server/v3
  build kwok "-X sigs.k8s.io/kwok/pkg/consts.Version=$(version kwok sigs.k8s.io/kwok)" "$bin" sigs.k8s.io/kwok/cmd/kwok
  build metrics-server "$stamp" "$bin" sigs.k8s.io/metrics-server/cmd/metrics-server
  build kubernetes "$stamp" "$bin" k8s.io/kubernetes/cmd/kube-{apiserver,controller-manager,scheduler}

  # what kwok needs, out of its module, so that starting a testbed needs no go
  src=$(cd modules/kwok && go list -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize
  join() { local f; for f; do echo ---; cat "$f"; echo; done; }
  join "$src"/crd/bases/kwok.x-k8s.io_{metrics,clusterresourceusages}.yaml > "$tmp/new/kwok/crds.yaml"
  join "$src"/stage/node/fast/node-initialize.yaml \
    "$src"/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml \
    "$src"/stage/pod/fast/pod-*.yaml > "$tmp/new/kwok/stages.yaml"
  join "$src"/metrics/resource/metrics-resource.yaml \
    "$src"/metrics/usage/usage-from-annotation.yaml > "$tmp/new/kwok/metrics.yaml"

  mv "$tmp/new" "$cache"
fi

if ! built "${1:-}"; then
  build descheduler "-X sigs.k8s.io/descheduler/pkg/version.version=$(version descheduler sigs.k8s.io/descheduler)" \
    "$tmp/descheduler" sigs.k8s.io/descheduler/cmd/descheduler
  mv "$tmp/descheduler" "$cache/bin/descheduler"
fi

echo "$cache"
