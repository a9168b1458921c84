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

"$root/tests/testbed/up.sh" "$dir" "$port" > "$work/up.log"
export KUBECONFIG=$dir/admin.kubeconfig
# No controller may change what fill.py writes.
"$root/tests/testbed/component.sh" "$dir" stop kwok kcm scheduler > /dev/null
if [ ! -e "$dir/filled-$nodes-$pods" ]; then
  python3 "$here/fill.py" "$KUBECONFIG" fill "$nodes" "$pods"
  touch "$dir/filled-$nodes-$pods"
fi

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
