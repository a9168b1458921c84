#!/usr/bin/env bash
# component.sh DIR start|stop|restart|status|check NAME...: one or more parts of the testbed in DIR, each with the command line
# that up.sh wrote to DIR/cmd.NAME. The names: etcd apiserver kcm scheduler kwok metrics-server.
# start returns when the part answers, or prints the end of its log and fails; stop returns when the process is gone;
# check fails, with the end of the log, if one that was started and not stopped has ended by itself.
set -euo pipefail

[ $# -ge 3 ] || { echo "usage: component.sh DIR start|stop|restart|status|check NAME..." >&2; exit 2; }
dir=$(cd "$1" && pwd -P) action=$2
shift 2
cd "$dir" # parts inherit this working directory, by which `alive` recognises them
port=$(cat port)

pid() { cat "pid.$1" 2> /dev/null || echo none; }
# a zombie has no working directory, and another process with a recycled id has a different one
alive() { [ "$(readlink "/proc/$(pid "$1")/cwd" 2> /dev/null)" = "$dir" ]; }

listens() { (: < "/dev/tcp/127.0.0.1/$1") 2> /dev/null; }
answers() {
  case $1 in
    etcd) listens "$port" ;;
    apiserver) kubectl --kubeconfig admin.kubeconfig get --raw /readyz > /dev/null 2>&1 ;;
    kwok) listens $((port + 3)) ;;
    metrics-server) listens $((port + 4)) ;;
    *) ;; # kcm and scheduler have no port
  esac
}

complain() {
  echo "component.sh: $1 $2; the end of $dir/$1.log:" >&2
  tail -n 20 "$1.log" >&2
}
check() {
  [ ! -e "pid.$1" ] || alive "$1" || { complain "$1" "has ended"; return 1; }
}

start() {
  alive "$1" && return
  # its own session outlives the caller's; inherited descriptors would keep the caller's pipes and locks open
  setsid bash -c 'for fd in /proc/$$/fd/*; do fd=${fd##*/}; if ((fd > 2)); then eval "exec $fd>&-"; fi; done; eval "exec $1"' \
    - "$(cat "cmd.$1")" < /dev/null >> "$1.log" 2>&1 &
  echo $! > "pid.$1"
  cat pid.* > pids
  # on a machine with little to spare, a dozen API servers at once take minutes
  local until=$((SECONDS + 300))
  until answers "$1" && alive "$1"; do
    alive "$1" || { rm "pid.$1"; complain "$1" "did not start"; return 1; }
    ((SECONDS < until)) || { complain "$1" "does not answer"; return 1; }
    sleep 0.1
  done
}

stop() {
  local name signal until left
  for signal in TERM KILL; do
    for name; do alive "$name" && kill "-$signal" "$(pid "$name")" 2> /dev/null || true; done
    until=$((SECONDS + 10))
    while ((SECONDS <= until)); do
      left=
      for name; do alive "$name" && left=$name; done
      if [ -z "$left" ]; then
        for name; do rm -f "pid.$name"; done
        cat pid.* > pids 2> /dev/null || true
        return
      fi
      sleep 0.05
    done
  done
  echo "component.sh: $left does not stop" >&2
  return 1
}

case $action in
  start) for name; do start "$name"; done ;;
  stop) stop "$@" ;;
  restart) for name; do stop "$name"; start "$name"; done ;;
  status) for name; do alive "$name" && echo "$name $(pid "$name")" || echo "$name stopped"; done ;;
  check) for name; do check "$name"; done ;;
  *) echo "component.sh: unknown action $action" >&2; exit 2 ;;
esac
