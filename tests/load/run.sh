#!/usr/bin/env bash
# run.sh [NODES [PODS [MINUTES]]]: fills an API server with NODES nodes and PODS pods (default 500 and 12000) and prints, for
# evenkeel and, if `tests/testbed/build.sh peer` has built it, descheduler: the time of one dry cycle from start to exit, peak
# memory, bytes read and requests made, three runs each, alternating. Then evenkeel runs for MINUTES (default 10) while 1 % of the
# pods are replaced per minute; memory and cpu are printed each minute.
# Needs python3, kubectl and openssl. $EVENKEEL is the binary, by default a release build. $LOAD_DIR keeps the filled API server, so
# that a second run starts at once. $LOAD_PORT is the first of five ports.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../..
nodes=${1:-500} pods=${2:-12000} minutes=${3:-10} port=${LOAD_PORT:-27300}
dir=${LOAD_DIR:-$(mktemp -d)}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd -P)
work=$(mktemp -d)
stop() {
  [ -z "${program:-}" ] || kill "$program" 2> /dev/null || true
  [ -z "${churn:-}" ] || kill "$churn" 2> /dev/null || true
  [ -z "${server:-}" ] || kill "$server" 2> /dev/null || true
  "$root/tests/testbed/down.sh" "$dir" > /dev/null || true
  [ -n "${LOAD_DIR:-}" ] || rm -rf "$dir"
  rm -rf "$work"
}
trap stop EXIT

if [ -z "${EVENKEEL:-}" ]; then
  (cd "$root" && cargo build --locked --release --quiet)
  EVENKEEL=$root/target/release/evenkeel
fi
peer=$("$root/tests/testbed/build.sh" | tail -n 1)/bin/descheduler

if [ ! -e "$dir/filled-$nodes-$pods" ]; then
  "$root/tests/testbed/up.sh" "$dir" "$port" > "$work/up.log"
  # No controller may change what fill.py writes.
  "$root/tests/testbed/component.sh" "$dir" stop kwok kcm scheduler metrics-server > /dev/null
  python3 "$here/fill.py" "$dir/admin.kubeconfig" fill "$nodes" "$pods"
  touch "$dir/filled-$nodes-$pods"
else
  "$root/tests/testbed/component.sh" "$dir" start etcd apiserver > /dev/null
fi
export KUBECONFIG=$dir/admin.kubeconfig

cat > "$work/policy.yaml" << 'YAML'
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: default
  pluginConfig:
  - {name: DefaultEvictor, args: {}}
  - name: LowNodeUtilization
    args: {thresholds: {cpu: 20, memory: 20, pods: 20}, targetThresholds: {cpu: 50, memory: 50, pods: 50}}
  plugins:
    balance: {enabled: [LowNodeUtilization]}
YAML

# counter NAME: the sum of a metric of the API server over LIST and WATCH
counter() { kubectl get --raw /metrics | awk -v name="$1" 'index($0, name "{") == 1 && /verb="(LIST|WATCH)"/ { sum += $NF } END { printf "%.0f", sum }'; }
now() { date +%s%N; }
# field PID NAME: kB
field() { awk -v name="$2:" '$1 == name { print $2 }' "/proc/$1/status" 2> /dev/null || true; }

# once NAME COMMAND...: one dry cycle from start to exit
once() {
  local name=$1 start bytes requests peak=0 current
  shift
  bytes=$(counter apiserver_response_sizes_sum) requests=$(counter apiserver_request_total)
  start=$(now)
  "$@" > "$work/$name.log" 2>&1 &
  program=$!
  while current=$(field "$program" VmHWM) && [ -n "$current" ]; do
    peak=$current
    sleep 0.05
  done
  wait "$program" || { tail -n 5 "$work/$name.log" >&2; echo "run.sh: $name failed" >&2; exit 1; }
  program=
  printf '%-12s %6.1f s   peak %5d MB   read %6.1f MB in lists   %4d requests\n' "$name" \
    "$(awk -v ns=$(($(now) - start)) 'BEGIN { print ns / 1e9 }')" $((peak / 1024)) \
    "$(awk -v b=$(($(counter apiserver_response_sizes_sum) - bytes)) 'BEGIN { print b / 1e6 }')" \
    $(($(counter apiserver_request_total) - requests))
}

arguments=(--kubeconfig "$KUBECONFIG" --policy-config-file "$work/policy.yaml" --dry-run)
echo "$nodes nodes, $pods pods: one dry cycle"
for _ in 1 2 3; do
  once evenkeel "$EVENKEEL" run "${arguments[@]}" --descheduling-interval 0
  [ ! -x "$peer" ] || once descheduler "$peer" "${arguments[@]}" --descheduling-interval 0
done

# serve PORT ARGUMENT...: starts a server of servers.py and waits until it listens
serve() {
  local port=$1
  shift
  python3 "$here/servers.py" "$@" &
  server=$!
  until (echo > "/dev/tcp/127.0.0.1/$port") 2> /dev/null; do sleep 0.1; done
}
end_server() {
  kill "$server"
  wait "$server" 2> /dev/null || true
  server=
}

through=(--kubeconfig "$KUBECONFIG.proxy" --policy-config-file "$work/policy.yaml" --dry-run)
for refused in 0 5 0 5 0 5; do
  serve $((port + 5)) proxy "$KUBECONFIG" $((port + 5)) $refused
  once "$refused% refused" "$EVENKEEL" run "${through[@]}" --descheduling-interval 0
  end_server
done

cat > "$work/actual.yaml" << YAML
apiVersion: evenkeel/v1alpha1
kind: Policy
interval: 15s
dryRun: true
usage:
  source: prometheus
  poll: 15s
  window: 5m30s
  smoothing: {percentile: 90}
  prometheus:
    url: http://127.0.0.1:$((port + 6))
    scrapeInterval: 15s
    timeout: 30s
    queries: {nodeCpu: node_cpu, nodeMemory: node_memory, nodeTime: none, podCpu: pod_cpu, podMemory: pod_memory, podTime: none}
strategies:
- lowNodeUtilization: {thresholds: {cpu: 20%}, targetThresholds: {cpu: 50%}}
YAML
memory() { printf '%-40s memory %5d MB   peak %5d MB\n' "$1" $(($(field "$program" VmRSS) / 1024)) $(($(field "$program" VmHWM) / 1024)); }
cycles() { grep -c 'cycle: ' "$work/actual.log" || true; }
# more_cycles COUNT: waits until this many more cycles have ended
more_cycles() {
  local until=$(($(cycles) + $1))
  while [ "$(cycles)" -lt "$until" ]; do sleep 0.5; done
}
serve $((port + 6)) prometheus $((port + 6)) "$nodes" "$pods"
usage=$server
serve $((port + 5)) proxy "$KUBECONFIG" $((port + 5))
"$EVENKEEL" run --kubeconfig "$KUBECONFIG.proxy" --policy "$work/actual.yaml" > "$work/actual.log" 2>&1 &
program=$!
more_cycles 3
memory "by actual usage, 22 samples of each pod"
for _ in 1 2 3 4 5; do
  kill -USR1 "$server"
  more_cycles 3
done
memory "after five lists of everything"
kill "$program" "$usage"
end_server

echo "evenkeel while 1 % of the pods are replaced per minute, a decision every 30 s"
"$EVENKEEL" run "${arguments[@]}" --descheduling-interval 30s > "$work/steady.log" 2>&1 &
program=$!
python3 "$here/fill.py" "$KUBECONFIG" churn "$nodes" "$pods" $((pods * minutes / 100)) $((minutes * 60)) &
churn=$!
ticks() { awk '{ print $14 + $15 }' "/proc/$program/stat"; }
before=$(ticks)
for minute in $(seq "$minutes"); do
  sleep 60
  after=$(ticks)
  printf 'minute %2d   memory %5d MB   cpu %5.1f %% of a core\n' "$minute" $(($(field "$program" VmRSS) / 1024)) \
    "$(awk -v t=$((after - before)) -v hz="$(getconf CLK_TCK)" 'BEGIN { print 100 * t / hz / 60 }')"
  before=$after
done
