#!/usr/bin/env bash
# late-nodes.sh KUBECONFIG: 20 heavy pods start on three nodes; seven nodes come late, then 60 light pods everywhere.
# Eleven moves of heavy pods bring every node to 50 % of its CPU or less; moves of light pods change nothing.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
fresh 10
kubectl cordon n{4..10} > /dev/null
deployment hot 20 1000m
kubectl uncordon n{4..10} > /dev/null
deployment cold 60 50m
settle
kubectl top nodes
