#!/usr/bin/env bash
# helm.sh: builds helm from the pinned wrapper module, once a machine, and prints its path. Needs go and flock. About a minute
# on 2 cores after build.sh, with which it shares the Go modules of Kubernetes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/helm"

root=${EVENKEEL_TESTBED_CACHE:-$HOME/.cache/evenkeel-testbed}
helm=$root/helm-$(cat go.mod go.sum ../helm.sh | sha256sum | cut -c1-16)
if [ ! -x "$helm" ]; then
  mkdir -p "$root"
  exec 9> "$root/lock-helm"
  flock 9
fi
if [ ! -x "$helm" ]; then
  start=$SECONDS
  echo "helm.sh: building helm" >&2
  # Without a stamped version, templates are rendered for Kubernetes 1.20.
  minor=$(awk '$1 == "k8s.io/client-go" {split($2, part, "."); print part[2]}' go.mod)
  stamp="-X helm.sh/helm/v3/pkg/lint/rules.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor=$minor"
  stamp="$stamp -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=$minor"
  CGO_ENABLED=0 GOWORK=off GOFLAGS="-mod=readonly -buildvcs=false -trimpath" \
    go build -ldflags "-s -w $stamp" -o "$helm.tmp" helm.sh/helm/v3/cmd/helm >&2 9>&-
  mv "$helm.tmp" "$helm"
  echo "helm.sh: helm took $((SECONDS - start)) s" >&2
fi
echo "$helm"
