# common.sh KUBECONFIG: functions for the loops; to be sourced. The loops need a testbed without other nodes.
set -euo pipefail
export KUBECONFIG=$1
testbed=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# fresh COUNT: creates COUNT empty nodes with their agents
fresh() {
  kubectl delete deployment --all
  kubectl delete pod --all --force --grace-period=0 2> /dev/null
  "$testbed/nodes.sh" "$1" | kubectl apply -f - -f "$testbed/agent.yaml"
  kubectl uncordon -l kubernetes.io/os=linux
  kubectl wait --for=condition=Ready node --all --timeout=60s
  kubectl -n kube-system rollout status daemonset/agent --timeout=60s
} > /dev/null

# deployment NAME REPLICAS CPU-USED [AFFINITY]: creates pods that request 100m, and waits until they run
deployment() {
  kubectl apply -f - << YAML
apiVersion: apps/v1
kind: Deployment
metadata: {name: $1}
spec:
  replicas: $2
  selector: {matchLabels: {app: $1}}
  template:
    metadata:
      labels: {app: $1}
      annotations: {kwok.x-k8s.io/usage-cpu: $3, kwok.x-k8s.io/usage-memory: 200Mi}
    spec:
      affinity: ${4:-{\}}
      containers: [{name: main, image: main, resources: {requests: {cpu: 100m, memory: 100Mi}}}]
YAML
  kubectl rollout status "deployment/$1" --timeout=60s
} > /dev/null

# settled: succeeds if metrics-server knows every running pod, and every node's CPU is the sum of its pods'
settled() {
  awk '
    FILENAME == ARGV[1] {node[$1 "/" $2] = $3; next}
    FILENAME == ARGV[2] {pod = $1 "/" $2; if (pod in node) {sum[node[pod]] += $3; known[pod]}; next}
    {used[$1] = $2 + 0}
    END {
      for (pod in node) if (!(pod in known)) exit 1
      for (n in sum) if (used[n] < sum[n] * 0.95 - 10 || used[n] > sum[n] * 1.05 + 10) exit 1
    }' \
    <(kubectl get pods -A --field-selector=status.phase=Running --no-headers \
      -o custom-columns=NS:.metadata.namespace,NAME:.metadata.name,NODE:.spec.nodeName) \
    <(kubectl top pods -A --no-headers 2> /dev/null) <(kubectl top nodes --no-headers 2> /dev/null)
}

# settle: waits for that; it takes 20 to 30 s after the last pod started or ended
settle() {
  kubectl wait --for=condition=Available deployment --all --timeout=60s > /dev/null
  local until=$((SECONDS + 120))
  until settled; do
    ((SECONDS < until)) || { echo "the usage does not settle" >&2; return 1; }
    sleep 1
  done
}
