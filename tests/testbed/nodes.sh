#!/usr/bin/env bash
# nodes.sh COUNT [cpu] [memory] [prefix]: COUNT nodes for kwok, PREFIX1 to PREFIXn, as YAML
set -euo pipefail
count=$1 cpu=${2:-8} memory=${3:-32Gi} prefix=${4:-n}

# metrics-server scrapes a node only if its InternalIP and the path in the annotation are there from the start
for ((i = 1; i <= count; i++)); do
  name=$prefix$i
  cat << YAML
---
apiVersion: v1
kind: Node
metadata:
  name: $name
  labels: {kubernetes.io/hostname: $name, kubernetes.io/os: linux, topology.kubernetes.io/zone: z$((i % 3))}
  annotations: {metrics.k8s.io/resource-metrics-path: /metrics/nodes/$name/metrics/resource, kwok.x-k8s.io/node: fake}
status:
  addresses: [{type: InternalIP, address: 127.0.0.1}, {type: Hostname, address: $name}]
  allocatable: {cpu: "$cpu", memory: $memory, pods: "110"}
  capacity: {cpu: "$cpu", memory: $memory, pods: "110"}
YAML
done
