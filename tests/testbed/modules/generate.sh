#!/usr/bin/env bash
# generate.sh: rewrites go.mod, go.sum and tools.go of each wrapper module. Run it by hand to move to other versions, then
# commit the result. build.sh never runs it: it builds from the committed files.
#
# Why wrappers: `go install pkg@version` refuses a module whose go.mod has replaces. A wrapper requires the program's
# module, repeats its replaces, and blank-imports its main packages, so that `go mod tidy` pins everything they need.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

KUBERNETES=v1.36.3
STAGING=v0.36.3 # the published version of the modules that k8s.io/kubernetes replaces by ./staging/...
ETCD=v3.6.5
KWOK=v0.8.0
METRICS_SERVER=v0.9.0
DESCHEDULER=v0.36.0

# the go.mod of a published module
upstream() { cat "$(go mod download -json "$1@$2" | sed -n 's/^\t"GoMod": "\(.*\)",\?$/\1/p')"; }

# wrap NAME MODULE VERSION PACKAGE...
wrap() {
  local name=$1 module=$2 version=$3
  shift 3
  mkdir -p "$name"
  {
    printf 'module testbed/%s\n\ngo 1.26.0\n\nrequire %s %s\n\n' "$name" "$module" "$version"
    # `replace a => ./staging/a`, on one line or in a block: to the published module; other local replaces cannot be kept
    upstream "$module" "$version" | awk -v staging="$STAGING" '
      /^replace *\(/ {block = 1; next}
      /^\)/ {block = 0}
      /^replace / {sub(/^replace /, ""); line = 1}
      (block || line) && /=>/ {
        sub(/^[ \t]+/, "")
        if (/=> \.\/staging\//) print "replace " $1 " => " $1 " " staging
        else if (!/=> \.\.?\//) print "replace " $0
      }
      {line = 0}'
  } > "$name/go.mod"
  {
    printf '//go:build tools\n\n// Package tools names the programs that build.sh builds from this module.\npackage tools\n\nimport (\n'
    printf '\t_ "%s"\n' "$@"
    printf ')\n'
  } > "$name/tools.go"
  rm -f "$name/go.sum"
  (cd "$name" && GOFLAGS=-mod=mod go mod tidy)
}

wrap etcd go.etcd.io/etcd/server/v3 "$ETCD" go.etcd.io/etcd/server/v3
wrap kwok sigs.k8s.io/kwok "$KWOK" sigs.k8s.io/kwok/cmd/kwok
wrap metrics-server sigs.k8s.io/metrics-server "$METRICS_SERVER" sigs.k8s.io/metrics-server/cmd/metrics-server
wrap kubernetes k8s.io/kubernetes "$KUBERNETES" k8s.io/kubernetes/cmd/kube-{apiserver,controller-manager,scheduler}
wrap descheduler sigs.k8s.io/descheduler "$DESCHEDULER" sigs.k8s.io/descheduler/cmd/descheduler
