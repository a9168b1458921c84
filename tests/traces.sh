#!/usr/bin/env bash
# traces.sh FILE...: balances a cluster with recorded usage for a day and prints, for each file and way, the node-minutes
# above the target and the evictions.
#
# Each line of a file is one machine: its cpu usage in percent every five minutes, separated by commas. The table in
# docs/arena.md is from the PlanetLab traces of 2011 that CloudSim distributes, one file for each day, with the first
# thousand machines. The cluster has 50 nodes of 8 cores and 50 Deployments of 20 pods. A pod requests 250m and uses its
# row's percentage of 1.6 cores. With KEEP=FOLDER, the folder gets the JSON of each run.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --locked --quiet
evenkeel=$PWD/target/release/evenkeel
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

policy() {
  printf 'apiVersion: evenkeel/v1alpha1\nkind: Policy\n%s\nstrategies:\n' "$2"
  printf -- '- lowNodeUtilization: {thresholds: {cpu: 30%%}, targetThresholds: {cpu: 60%%}}\n'
} > "$work/$1.yaml"
policy nothing 'dryRun: true'
policy stock ''
policy steering 'steering: {taintHot: true}'
policy average 'usage: {smoothing: {halfLife: 10m}}'
policy average-steering $'steering: {taintHot: true}\nusage: {smoothing: {halfLife: 10m}}'
policy learning $'steering: {taintHot: true}\nusage: {ahead: 2h}'

scenario() {
  local rows=$1
  printf 'name: traces\nabout: Recorded usage\nduration: 24h\npolicy: stock.yaml\n'
  printf 'nodes: [{name: n, count: 50, cpu: 8, memory: 32Gi}]\nworkloads:\n'
  for i in $(seq 0 49); do
    printf -- '- {name: w%s, replicas: 20, requests: {cpu: 250m, memory: 256Mi}, usage: {memory: 256Mi, ' "$i"
    printf 'cpu: {trace: {file: day.csv, row: %s, step: 5m, unit: 16m}}}}\n' $((i * 20 % rows))
  done
}

# run WAY POLICY [FLAG...]: prints a row for the last 24 hours of a run.
run() {
  local way=$1 policy=$2
  shift 2
  "$evenkeel" simulate "$work/traces.yaml" --policy "$work/$policy.yaml" -o json "$@" |
    tee "${KEEP:-$work}/$(basename "$file" .csv)-$policy${1:+-${1#--}}.json" | python3 -c 'import json, sys
run = json.load(sys.stdin)
seconds = run["summary"]["above_target"]["cpu"]["by_hour"][-24:]
first = "2026-01-06" if run["end"] > "2026-01-06T00:00:00Z" else ""
evictions = [e for e in run["evictions"] if e["at"] >= first]
print("|", " | ".join([*sys.argv[1:], str(round(sum(seconds) / 60)), str(len(evictions))]), "|")' \
      "$(basename "$file")" "$way"
}

printf '| file | way | node-minutes above target | evictions |\n|---|---|---|---|\n'
for file in "$@"; do
  head -n 1000 "$file" > "$work/day.csv"
  scenario "$(wc -l < "$work/day.csv")" > "$work/traces.yaml"
  run nothing nothing
  run 'evenkeel, stock scheduler' stock
  run 'evenkeel, stock scheduler, `smoothing: {halfLife: 10m}`' average
  run 'evenkeel with steering' steering
  run 'evenkeel with steering, `smoothing: {halfLife: 10m}`' average-steering
  run 'evenkeel with steering, second equal day with `usage.ahead: 2h`' learning --duration 48h
  run "descheduler's choice" stock --exact
done
