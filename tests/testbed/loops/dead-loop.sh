#!/usr/bin/env bash
# dead-loop.sh KUBECONFIG: seven heavy pods that prefer n1, the hot node: an evicted one comes back to n1.
# No eviction helps.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
fresh 10
deployment hot 7 1000m '{nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [
  {weight: 100, preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}}]}}'
settle
kubectl top nodes
