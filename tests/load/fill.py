#!/usr/bin/env python3
"""Fills an API server with nodes and running pods, or replaces some of the pods.

    fill.py KUBECONFIG fill NODES PODS
    fill.py KUBECONFIG churn PODS COUNT SECONDS

A ReplicaSet owns every twenty pods. A pod has about 8.7 kB as JSON: three containers with environment, probes and
volumes, as pods of real clusters have. No controller may run, because statuses are written here.
"""

import base64
import concurrent.futures
import http.client
import json
import re
import ssl
import sys
import tempfile
import time

PODS_PER_SET = 20
WORKERS = 6


class Server:
    """One kept-alive connection to the API server of a testbed's kubeconfig."""

    def __init__(self, kubeconfig):
        text = open(kubeconfig).read()
        field = lambda name: re.search(name + r': "?([^"\s,}]+)', text).group(1)
        with tempfile.NamedTemporaryFile(suffix=".crt") as authority:
            authority.write(base64.b64decode(field("certificate-authority-data")))
            authority.flush()
            self.tls = ssl.create_default_context(cafile=authority.name)
        self.host = field("server").removeprefix("https://")
        self.headers = {"Authorization": "Bearer " + field("token"), "Content-Type": "application/json"}
        self.connection = None

    def send(self, method, path, body=None, accepted=(409, 404)):
        self.connection = self.connection or http.client.HTTPSConnection(self.host, context=self.tls)
        self.connection.request(method, path, body and json.dumps(body), self.headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300 and answer.status not in accepted:
            raise SystemExit(f"{method} {path}: {answer.status} {text[:300].decode()}")
        return json.loads(text)


def node(i):
    name = f"n{i}"
    amounts = {"cpu": "16", "memory": "64Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    condition = lambda kind, status: {
        "type": kind, "status": status, "reason": "Kubelet" + kind, "message": "reported by the kubelet",
        "lastHeartbeatTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {
            "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
            "topology.kubernetes.io/zone": f"z{i % 3}", "node.kubernetes.io/instance-type": "m6i.4xlarge"}},
        "status": {
            "capacity": amounts, "allocatable": amounts,
            "addresses": [{"type": "InternalIP", "address": f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}"}],
            "conditions": [condition("Ready", "True"), condition("MemoryPressure", "False"),
                           condition("DiskPressure", "False"), condition("PIDPressure", "False")],
            "images": [{"names": [f"registry.example.com/team-{k}/service@sha256:{k:064x}",
                                  f"registry.example.com/team-{k}/service:v1.{k}.0"], "sizeBytes": 10 ** 8 + k}
                       for k in range(40)]}}


def namespace_of(replica_set):
    return f"team-{replica_set % 50}"


def replica_set(r):
    name = f"service-{r}-5d9f8c7b6"
    labels = {"app": f"service-{r}", "pod-template-hash": "5d9f8c7b6"}
    return {
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": name, "labels": labels, "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"service-{r}", "uid": f"deployment-{r}", "controller": True}]},
        "spec": {"replicas": PODS_PER_SET, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": "registry.example.com/app:1"}]}}}}


def container(name, r):
    probe = {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10,
             "timeoutSeconds": 1, "failureThreshold": 3, "successThreshold": 1}
    return {
        "name": name, "image": f"registry.example.com/team-{r % 50}/{name}:v1.{r % 40}.0",
        "args": ["--config=/etc/service/config.yaml", "--log-format=json", f"--shard={r}"],
        "env": [{"name": f"SETTING_{k}", "value": f"value-{k}-of-service-{r}"} for k in range(10)],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "resources": {"requests": {"cpu": "200m", "memory": "512Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}},
        "livenessProbe": probe, "readinessProbe": probe,
        "volumeMounts": [{"name": "config", "mountPath": "/etc/service"}, {"name": "tmp", "mountPath": "/tmp"},
                         {"name": "kube-api-access", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True}]}


def name_of(i, generation):
    return f"service-{i // PODS_PER_SET}-5d9f8c7b6-{i:06d}-{generation}"


def node_of(i, nodes):
    # Every other set of pods sits on the first half of the nodes, so that there is something to decide.
    r = i // PODS_PER_SET
    return f"n{(i * 7919 + r) % (nodes // 2 if r % 2 else nodes)}"


def pod(i, generation, nodes):
    r = i // PODS_PER_SET
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name_of(i, generation), "namespace": namespace_of(r),
            "labels": {"app": f"service-{r}", "pod-template-hash": "5d9f8c7b6", "team": f"team-{r % 50}", "tier": f"tier-{r % 3}"},
            "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "8080",
                            "checksum/config": f"{r:064x}"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"service-{r}-5d9f8c7b6",
                                 "uid": f"set-{r}", "controller": True, "blockOwnerDeletion": True}]},
        "spec": {
            "nodeName": node_of(i, nodes),
            "containers": [container("app", r), container("proxy", r), container("exporter", r)],
            "serviceAccountName": "default", "automountServiceAccountToken": False,
            "tolerations": [{"key": "node.kubernetes.io/" + key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
                            for key in ("not-ready", "unreachable")],
            "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 100, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname",
                                                    "labelSelector": {"matchLabels": {"app": f"service-{r}"}}}}]}},
            "volumes": [{"name": "config", "configMap": {"name": f"service-{r}"}}, {"name": "tmp", "configMap": {"name": "tmp"}},
                        {"name": "kube-api-access", "projected": {"sources": [
                            {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
                            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}]}}]}}


def status(i):
    at = "2026-01-01T00:00:00Z"
    names = ("app", "proxy", "exporter")
    return {
        "phase": "Running", "startTime": at, "podIP": f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}", "qosClass": "Burstable",
        "conditions": [{"type": kind, "status": "True", "lastTransitionTime": at}
                       for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")],
        "containerStatuses": [
            {"name": name, "ready": True, "started": True, "restartCount": 0, "image": f"registry.example.com/{name}:v1",
             "imageID": f"registry.example.com/{name}@sha256:{i:064x}", "containerID": f"containerd://{i:064x}",
             "state": {"running": {"startedAt": at}}} for name in names]}


def create_pod(server, i, generation, nodes):
    body = pod(i, generation, nodes)
    path = f"/api/v1/namespaces/{body['metadata']['namespace']}/pods"
    created = server.send("POST", path, body)
    if "spec" in created:
        created["status"] = status(i)
        server.send("PUT", f"{path}/{body['metadata']['name']}/status", created)


def fill_part(kubeconfig, nodes, pods, worker):
    server = Server(kubeconfig)
    for i in range(worker, nodes, WORKERS):
        server.send("POST", "/api/v1/nodes", node(i))
    for r in range(worker, -(-pods // PODS_PER_SET), WORKERS):
        server.send("POST", f"/apis/apps/v1/namespaces/{namespace_of(r)}/replicasets", replica_set(r))
    for i in range(worker, pods, WORKERS):
        create_pod(server, i, 0, nodes)


def fill(kubeconfig, nodes, pods):
    server = Server(kubeconfig)
    for team in range(50):
        server.send("POST", "/api/v1/namespaces", {"metadata": {"name": f"team-{team}"}})
    with concurrent.futures.ProcessPoolExecutor(WORKERS) as pool:
        list(pool.map(fill_part, *zip(*[(kubeconfig, nodes, pods, worker) for worker in range(WORKERS)])))


def churn(kubeconfig, nodes, pods, count, seconds):
    """Replaces `count` pods, evenly over the time. Waits if it is ahead, and never catches up in a burst."""
    server = Server(kubeconfig)
    start = time.monotonic()
    for n in range(count):
        time.sleep(max(0.0, start + n * seconds / count - time.monotonic()))
        i, generation = n * 7919 % pods, n // pods
        old = pod(i, generation, nodes)["metadata"]
        server.send("DELETE", f"/api/v1/namespaces/{old['namespace']}/pods/{old['name']}", {"gracePeriodSeconds": 0})
        create_pod(server, i, generation + 1, nodes)


if __name__ == "__main__":
    kubeconfig, verb, *numbers = sys.argv[1:]
    {"fill": fill, "churn": churn}[verb](kubeconfig, *map(int, numbers))
