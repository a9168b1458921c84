#!/usr/bin/env bash
# up.sh DIR PORT: starts a control plane with its state in DIR, on 127.0.0.1 and the ports PORT to PORT+4 (PORT+5 to PORT+9
# stay free for the program under test). Returns when it is ready. A DIR that down.sh stopped continues with its state.
#   PORT etcd, +1 API server, +2 etcd's peers, +3 kwok (the nodes' metrics), +4 metrics-server
# Writes DIR/admin.kubeconfig, DIR/audit.log (what ServiceAccounts did), DIR/pids; and for each part NAME DIR/cmd.NAME,
# DIR/pid.NAME, DIR/NAME.log. Needs kubectl and openssl, and the binaries of build.sh, which it builds if they are missing.
# $TESTBED_SCHEDULER holds more flags for kube-scheduler. $TESTBED_SCHEDULER_BINARY names another kube-scheduler than
# the one of build.sh: see scheduler.sh.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

[ $# = 2 ] || { echo "usage: up.sh DIR PORT" >&2; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd -P) port=$2
cache=$("$here/build.sh" | tail -n 1)
bin=$cache/bin
cd "$dir"
parts=(metrics-server kwok scheduler kcm apiserver etcd)
component() { "$here/component.sh" "$dir" "$@"; }

if [ -e port ] && [ -n "$(component status "${parts[@]}" | grep -v ' stopped$')" ]; then
  echo "up.sh: a testbed runs in $dir: stop it with down.sh" >&2
  exit 1
fi
for p in $(seq "$port" $((port + 4))); do
  if (: < "/dev/tcp/127.0.0.1/$p") 2> /dev/null; then echo "up.sh: port $p is taken" >&2; exit 1; fi
done
echo "$port" > port
rm -rf kubectl-cache
export KUBECONFIG=$dir/admin.kubeconfig KUBECACHEDIR=$dir/kubectl-cache

# ---- identities ----

# key NAME; cert NAME SUBJECT OPENSSL-REQ-ARG...
key() { openssl ecparam -name prime256v1 -genkey -noout -out "pki/$1.key"; }
cert() { openssl req -x509 -new -key "pki/$1.key" -subj "/CN=$2" -days 3650 -out "pki/$1.crt" "${@:3}"; }
if [ ! -e pki/done ]; then
  mkdir -p pki
  # the API server's certificate has its own CA, so that clients verify it as usual
  key ca && cert ca testbed-ca
  key apiserver && cert apiserver apiserver -CA pki/ca.crt -CAkey pki/ca.key -addext basicConstraints=critical,CA:FALSE \
    -addext "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc"
  # the aggregator's identity when it calls metrics-server
  key front-proxy && cert front-proxy front-proxy
  # signs ServiceAccount tokens
  key sa && openssl ec -in pki/sa.key -pubout -out pki/sa.pub 2> /dev/null
  touch pki/done
fi

# one static token per identity, all of them administrators; the program under test uses a ServiceAccount's token
: > tokens.csv
for who in admin kcm:system:kube-controller-manager scheduler:system:kube-scheduler kwok metrics-server; do
  name=${who%%:*} user=${who#*:}
  echo "$name-token,$user,$name,system:masters" >> tokens.csv
  cat > "$name.kubeconfig" << YAML
apiVersion: v1
kind: Config
clusters: [{name: testbed, cluster: {server: "https://127.0.0.1:$((port + 1))", certificate-authority-data: $(base64 -w0 pki/ca.crt)}}]
users: [{name: $name, user: {token: $name-token}}]
contexts: [{name: testbed, context: {cluster: testbed, user: $name}}]
current-context: testbed
YAML
done

# ---- command lines ----

cat > audit-policy.yaml << 'YAML'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, userGroups: ["system:serviceaccounts"]}
- {level: None}
YAML
cat > scheduler.yaml << YAML
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: $dir/scheduler.kubeconfig, qps: 500, burst: 1000}
YAML

# command_line NAME ARG...: writes the command that component.sh starts
command_line() { printf '%q ' "${@:2}" > "cmd.$1"; }

etcd=(
  --data-dir="$dir/etcd" --listen-client-urls="http://127.0.0.1:$port" --advertise-client-urls="http://127.0.0.1:$port"
  --listen-peer-urls="http://127.0.0.1:$((port + 2))"
  # no data has to survive a power cut
  --unsafe-no-fsync
  # the default 2 GiB is too little for 150,000 pods
  --quota-backend-bytes=8589934592
)
command_line etcd "$bin/etcd" "${etcd[@]}"

apiserver=(
  --etcd-servers="http://127.0.0.1:$port" --bind-address=127.0.0.1 --secure-port=$((port + 1))
  --tls-cert-file="$dir/pki/apiserver.crt" --tls-private-key-file="$dir/pki/apiserver.key"
  # the Endpoints of Service kubernetes may not be a loopback address, and nothing here needs them
  --advertise-address=127.0.0.1 --endpoint-reconciler-type=none --service-cluster-ip-range=10.96.0.0/16
  # authentication and authorization
  --token-auth-file="$dir/tokens.csv" --client-ca-file="$dir/pki/ca.crt" --authorization-mode=RBAC
  --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$dir/pki/sa.pub"
  --service-account-signing-key-file="$dir/pki/sa.key"
  # pods that name no ServiceAccount must not wait for the default one
  --disable-admission-plugins=ServiceAccount
  # the aggregator in front of metrics-server, which waits for both client CAs in extension-apiserver-authentication;
  # no --enable-aggregator-routing: it refuses a Service of type ExternalName
  --requestheader-client-ca-file="$dir/pki/front-proxy.crt" --requestheader-allowed-names=front-proxy
  --requestheader-extra-headers-prefix=X-Remote-Extra- --requestheader-group-headers=X-Remote-Group
  --requestheader-username-headers=X-Remote-User
  --proxy-client-cert-file="$dir/pki/front-proxy.crt" --proxy-client-key-file="$dir/pki/front-proxy.key"
  # records the verbs that a ServiceAccount used; never rotated during a test
  --audit-policy-file="$dir/audit-policy.yaml" --audit-log-path="$dir/audit.log" --audit-log-maxsize=4096
  # when stopping, end watches at once instead of after 60 s
  --shutdown-watch-termination-grace-period=2s
  # thousands of pods at once; no profiles
  --max-requests-inflight=3000 --max-mutating-requests-inflight=1000 --profiling=false
)
command_line apiserver "$bin/kube-apiserver" "${apiserver[@]}"

kcm=(
  --kubeconfig="$dir/kcm.kubeconfig" --service-account-private-key-file="$dir/pki/sa.key" --root-ca-file="$dir/pki/ca.crt"
  --use-service-account-credentials=false
  # the only instance: no election, no port
  --leader-elect=false --secure-port=0
  --kube-api-qps=500 --kube-api-burst=1000
  # there is no cloud and no pod network
  --controllers='*,-nodeipam,-cloud-node-lifecycle,-service-lb-controller,-route'
)
command_line kcm "$bin/kube-controller-manager" "${kcm[@]}"

scheduler=("${TESTBED_SCHEDULER_BINARY:-$bin/kube-scheduler}" --config="$dir/scheduler.yaml" --secure-port=0)
# 1.37 places no pod before it has listed resources of resource.k8s.io/v1 that an API server of 1.36 does not have
if [ -n "${TESTBED_SCHEDULER_BINARY:-}" ] && [[ $("$TESTBED_SCHEDULER_BINARY" --version) == *" v1.37."* ]]; then
  scheduler+=(--feature-gates=DRADeviceTaintRules=false)
fi
# shellcheck disable=SC2086 # several flags, separated by spaces
command_line scheduler "${scheduler[@]}" ${TESTBED_SCHEDULER:-}

kwok=(
  --kubeconfig="$dir/kwok.kubeconfig" --config="$cache/kwok/stages.yaml" --manage-all-nodes
  # the address at which metrics-server scrapes the nodes
  --node-ip=127.0.0.1 --node-port=$((port + 3)) --server-address="127.0.0.1:$((port + 3))"
  --enable-crds=Metric,ClusterResourceUsage
  # renews the nodes' leases; without it every node and pod is not ready after 50 s
  --node-lease-duration-seconds=40
)
command_line kwok "$bin/kwok" "${kwok[@]}"

metrics_server=(
  --kubeconfig="$dir/metrics-server.kubeconfig" --authentication-kubeconfig="$dir/metrics-server.kubeconfig"
  --authorization-kubeconfig="$dir/metrics-server.kubeconfig"
  --bind-address=127.0.0.1 --secure-port=$((port + 4)) --cert-dir="$dir/metrics-server-certs"
  # every node is kwok's one port, which serves plain HTTP
  --kubelet-insecure-tls --kubelet-use-node-status-port --kubelet-preferred-address-types=InternalIP
  # usage as soon as possible: 10 s is the minimum, and it must exceed the timeout
  --metric-resolution=10s --kubelet-request-timeout=8s
)
command_line metrics-server "$bin/metrics-server" "${metrics_server[@]}"

# ---- start ----

trap 'component check "${parts[@]}" || true; component stop "${parts[@]}"' EXIT # unless everything succeeds
# eventually SECONDS COMMAND...: fails with COMMAND's last output, and as soon as a part ends by itself
eventually() {
  local until=$((SECONDS + $1)) said
  shift
  until said=$("$@" 2>&1); do
    component check "${parts[@]}" || return 1
    ((SECONDS < until)) || { echo "up.sh: no success within the time limit: $*: $said" >&2; return 1; }
    sleep 0.1
  done
}

component start etcd apiserver
component start kcm scheduler metrics-server
kubectl apply --validate=false -f "$cache/kwok/crds.yaml" -f - > /dev/null << YAML
apiVersion: v1
kind: Service
metadata: {name: metrics-server, namespace: kube-system}
spec: {type: ExternalName, externalName: localhost, ports: [{port: $((port + 4))}]}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec:
  {group: metrics.k8s.io, version: v1beta1, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true,
   service: {name: metrics-server, namespace: kube-system, port: $((port + 4))}}
YAML
eventually 300 kubectl wait --for=condition=Established --timeout=1s -f "$cache/kwok/crds.yaml"
component start kwok # needs its CRDs
eventually 300 kubectl apply --validate=false -f "$cache/kwok/metrics.yaml"
eventually 300 kubectl wait --for=condition=Available --timeout=1s apiservice/v1beta1.metrics.k8s.io
# the sign that the controller manager works
eventually 300 kubectl get serviceaccount default
component check "${parts[@]}"
trap - EXIT
echo "up.sh: ready: KUBECONFIG=$KUBECONFIG" >&2
