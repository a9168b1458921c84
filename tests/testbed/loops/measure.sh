#!/usr/bin/env bash
# measure.sh LOOP KUBECONFIG SECONDS COMMAND...: creates the cluster of a loop (late-nodes, dead-loop), runs COMMAND for SECONDS,
# then prints how many evictions succeeded (by the API server's counter), the workloads of the evicted pods, and the nodes' CPU.
[ $# -ge 4 ] || { echo "usage: measure.sh LOOP KUBECONFIG SECONDS COMMAND..." >&2; exit 2; }
loop=$1 seconds=$3
. "$(dirname "${BASH_SOURCE[0]}")/common.sh" "$2"
shift 3

evictions() {
  kubectl get --raw /metrics |
    awk '/^apiserver_request_total\{.*resource="pods".*subresource="eviction"/ && /code="201"/ {n += $NF} END {print n + 0}'
}
# each node with its CPU in percent
nodes() { kubectl top nodes --no-headers | sort -V | awk '{printf "%s %s  ", $1, $3}'; }

"$testbed/loops/$loop.sh" "$KUBECONFIG" > /dev/null
echo "before: $(nodes)"
output=$(mktemp) gone=$(mktemp)
before=$(evictions)
kubectl get pods --watch-only --output-watch-events -o custom-columns=TYPE:.type,NAME:.object.metadata.name > "$gone" &
watch=$!
trap 'kill $watch; rm "$gone"' EXIT
timeout "$seconds" "$@" > "$output" 2>&1 || true
echo "$loop: $(($(evictions) - before)) evictions in $seconds s"
settle
echo "gone:   $(awk '$1 == "DELETED" {split($2, part, "-"); n[part[1]]++} END {for (name in n) printf "%s %d  ", name, n[name]}' "$gone")"
echo "after:  $(nodes)"
echo "output: $output"
