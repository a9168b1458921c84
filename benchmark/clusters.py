"""Recorded clusters, as `evenkeel simulate --from` reads them.

A cluster is a file of Kubernetes objects, one JSON document a line, and a
`PodUsageHistory` or `NodeUsageHistory` for each pod and node (docs/replay.md).
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

START = "2026-01-05T00:00:00Z"
"""The time of the first value of every recording: a Monday."""
BEFORE = "2026-01-04T00:00:00Z"
"""The creation of all objects. No pod is young when the recording begins."""
NAMESPACE = "bench"
HASH = "5d8c7b9f64"
"""The hash in the names of ReplicaSets. No recording has a rollout."""


@dataclass(frozen=True)
class Series:
    """The usage of a pod: millicores and mebibytes at each step of the recording."""

    cpu: tuple[int, ...]
    memory: tuple[int, ...]


@dataclass(frozen=True)
class Node:
    """A node: millicores, mebibytes and pods that it can hold, and other resources."""

    name: str
    cpu: int
    memory: int
    pods: int = 250
    extended: dict[str, str] = field(default_factory=dict)


@dataclass
class App:
    """A Deployment. Its pods are never on a node with those of `apart`, perhaps its own."""

    name: str
    requests: dict[str, str]
    series: Series | None
    apart: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Pod:
    """A pod of a Deployment on a node. Its usage is its own or that of the Deployment."""

    name: str
    app: str
    node: str
    series: Series | None = None


@dataclass
class Cluster:
    """Nodes, Deployments and placed pods; `step` is the seconds between two values of usage."""

    name: str
    step: int
    nodes: list[Node]
    apps: dict[str, App]
    pods: list[Pod]

    def usage(self, pod: Pod) -> Series | None:
        """The usage of a pod."""
        return pod.series or self.apps[pod.app].series

    def replicas(self) -> dict[str, int]:
        """The number of pods of each Deployment."""
        count: dict[str, int] = {}
        for pod in self.pods:
            count[pod.app] = count.get(pod.app, 0) + 1
        return count

    def write(self, path: Path) -> None:
        """Writes the file. Equal clusters give equal files."""
        with path.open("w", encoding="utf-8") as file:
            for document in self.documents():
                file.write(json.dumps(document, separators=(",", ":")) + "\n")

    def documents(self) -> Iterator[dict]:
        """All objects of the file."""
        yield _object("v1", "Namespace", NAMESPACE, namespaced=False)
        steps = max((len(s.cpu) for pod in self.pods if (s := self.usage(pod))), default=0)
        for node in self.nodes:
            yield _node(node)
            if steps:
                idle = Series((0,) * steps, (0,) * steps)
                yield self._history("NodeUsageHistory", {"name": node.name}, idle)
        replicas = self.replicas()
        for app in self.apps.values():
            if app.name in replicas:
                yield _replica_set(app, replicas[app.name])
        for pod in self.pods:
            yield _pod(pod, self.apps[pod.app])
            if series := self.usage(pod):
                name = {"namespace": NAMESPACE, "name": pod.name}
                yield self._history("PodUsageHistory", name, series) | {"node": pod.node}

    def _history(self, kind: str, name: dict, series: Series) -> dict:
        return {
            "apiVersion": "evenkeel/v1alpha1",
            "kind": kind,
            "metadata": name,
            "start": START,
            "step": f"{self.step}s",
            "cpu": series.cpu,
            "memory": series.memory,
        }


def _object(version: str, kind: str, name: str, *, namespaced: bool = True) -> dict:
    metadata = {"name": name, "uid": f"{kind}/{name}", "creationTimestamp": BEFORE}
    if namespaced:
        metadata["namespace"] = NAMESPACE
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


def _node(node: Node) -> dict:
    document = _object("v1", "Node", node.name, namespaced=False)
    document["metadata"]["labels"] = {"kubernetes.io/hostname": node.name}
    room = {"cpu": f"{node.cpu}m", "memory": f"{node.memory}Mi", "pods": str(node.pods)}
    document["status"] = {
        "allocatable": room | node.extended,
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return document


def _replica_set(app: App, replicas: int) -> dict:
    document = _object("apps/v1", "ReplicaSet", f"{app.name}-{HASH}")
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": app.name, "controller": True}
    document["metadata"]["ownerReferences"] = [owner]
    labels = {"app": app.name, "pod-template-hash": HASH}
    document["spec"] = {"replicas": replicas, "selector": {"matchLabels": labels}}
    document["status"] = {"replicas": replicas, "readyReplicas": replicas}
    return document


def _pod(pod: Pod, app: App) -> dict:
    document = _object("v1", "Pod", pod.name)
    name = f"{app.name}-{HASH}"
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "controller": True}
    document["metadata"] |= {
        "labels": {"app": app.name, "pod-template-hash": HASH},
        "ownerReferences": [owner],
    }
    spec: dict = {
        "nodeName": pod.node,
        "containers": [{"name": "main", "resources": {"requests": app.requests}}],
        "priority": 0,
    }
    if app.apart:
        spec["affinity"] = {"podAntiAffinity": _apart(app)}
    document["spec"] = spec
    document["status"] = {
        "phase": "Running",
        "startTime": BEFORE,
        "qosClass": "Burstable" if app.requests else "BestEffort",
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return document


def _apart(app: App) -> dict:
    expression = {"key": "app", "operator": "In", "values": sorted(app.apart)}
    term = {
        "labelSelector": {"matchExpressions": [expression]},
        "topologyKey": "kubernetes.io/hostname",
    }
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
