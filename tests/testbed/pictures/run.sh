#!/usr/bin/env bash
# run.sh DIR PORT EVENKEEL: makes docs/dashboard.png and docs/status-page.png again. Starts a testbed in DIR with the loop
# late-nodes and a Prometheus, lets the program EVENKEEL balance the nodes, and takes the pictures when it plans nothing for
# 90 s. Takes about 6 minutes. Needs chromium, prometheus and python3, and DIR must be new. Everything stops at the end;
# the logs and the data stay in DIR.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

[ $# = 3 ] || { echo "usage: run.sh DIR PORT EVENKEEL" >&2; exit 2; }
mkdir "$1"
dir=$(cd "$1" && pwd -P) port=$2 evenkeel=$(realpath "$3") docs=$here/../../../docs
prometheus=http://127.0.0.1:$((port + 5)) metrics=127.0.0.1:$((port + 6)) status=127.0.0.1:$((port + 7))
started=()
trap 'kill "${started[@]}" 2> /dev/null || true; wait; "$here/../down.sh" "$dir"' EXIT

"$here/../up.sh" "$dir" "$port"
"$here/../loops/late-nodes.sh" "$dir/admin.kubeconfig"

cat > "$dir/prometheus.yml" << YAML
global: {scrape_interval: 5s}
scrape_configs:
- job_name: evenkeel
  static_configs: [{targets: ["$metrics"], labels: {instance: evenkeel-0}}]
- job_name: apiserver
  scheme: https
  tls_config: {ca_file: $dir/pki/ca.crt}
  authorization: {credentials: admin-token}
  metric_relabel_configs: [{source_labels: [__name__], regex: apiserver_request_total, action: keep}]
  static_configs: [{targets: ["127.0.0.1:$((port + 1))"]}]
YAML
cat > "$dir/policy.yaml" << YAML
apiVersion: evenkeel/v1alpha1
kind: Policy
interval: 20s
usage: {prometheus: {url: "$prometheus"}}
steering: {taintHot: true}
guards:
- name: api-server-errors
  query: '(sum(rate(apiserver_request_total{code=~"5.."}[1m])) or vector(0)) / sum(rate(apiserver_request_total[1m]))'
  above: 0.05
strategies:
- lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 50%}}
YAML
prometheus --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/prometheus" \
  --web.listen-address="${prometheus#http://}" > "$dir/prometheus.log" 2>&1 &
started+=($!)
"$evenkeel" run --policy "$dir/policy.yaml" --kubeconfig "$dir/admin.kubeconfig" --listen "$metrics" --status-listen "$status" \
  --instance evenkeel-0 --record "$dir/record.jsonl" > "$dir/evenkeel.log" 2>&1 &
started+=($!)

# The program has planned moves, and has planned nothing for 90 s.
planned='max_over_time(max(evenkeel_planned_moves)'
over="$planned[15m:5s]) > 0 and $planned[90s:5s]) == 0"
since=$SECONDS
until curl -sG "$prometheus/api/v1/query" --data-urlencode "query=$over" | grep -q '"value"'; do
  kill -0 "${started[@]}" || { echo "run.sh: prometheus or evenkeel ended: see their logs in $dir" >&2; exit 1; }
  ((SECONDS - since < 900)) || { echo "run.sh: no balance after 15 minutes: see $dir/evenkeel.log" >&2; exit 1; }
  sleep 2
done

# picture FILE WIDTH HEIGHT URL
picture() {
  chromium --headless --no-sandbox --hide-scrollbars --window-size="$2,$3" --screenshot="$docs/$1" "$4" 2> "$dir/chromium.log"
}
height=$("$here/dashboard.py" "$prometheus" "$dir/dashboard.html" --seconds $((SECONDS - since + 5)) --rows 2)
picture dashboard.png 1600 "$height" "file://$dir/dashboard.html"
picture status-page.png 1280 1500 "http://$status/"
