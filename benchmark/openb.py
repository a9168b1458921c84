"""A GPU cluster of 2023 (openb, CC BY 4.0): 1,523 nodes and 8,152 pods with GPU counts and types.

Half of the pods per node that the trace has are placed by chance on nodes with room.
Pods of equal size are the replicas of a Deployment. Usage is not recorded: the
strategies weigh requests.
"""

import csv
import random
from dataclasses import dataclass
from pathlib import Path

from benchmark.clusters import HASH, App, Cluster, Node, Pod, Series

NODES = "openb/openb_node_list_all_node.csv"
PODS = "openb/openb_pod_list_default.csv"
GPU = "nvidia.com/gpu"
STEP = 3600
MILLI_PER_GPU = 1000


@dataclass
class Free:
    """The room on a node: millicores, mebibytes and GPUs."""

    name: str
    model: str
    cpu: int
    memory: int
    gpu: int

    def take(self, row: dict[str, str]) -> bool:
        """Takes a pod if it fits and the GPUs are of a type that it names."""
        models = set(filter(None, row["gpu_spec"].split("|")))
        cpu, memory, gpu = (int(row[k]) for k in ("cpu_milli", "memory_mib", "num_gpu"))
        if gpu and models and self.model not in models:
            return False
        if cpu > self.cpu or memory > self.memory or gpu > self.gpu:
            return False
        self.cpu, self.memory, self.gpu = self.cpu - cpu, self.memory - memory, self.gpu - gpu
        return True


def snapshot(folder: Path, nodes: int, seed: str) -> Cluster:
    """As many nodes, chosen by chance, with the pods that fit on them."""
    chance = random.Random(f"openb {seed}")
    with (folder / NODES).open(encoding="utf-8") as file:
        every = list(csv.DictReader(file))
    with (folder / PODS).open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    chosen = sorted(chance.sample(every, nodes), key=lambda row: row["sn"])
    free = [_free(row) for row in chosen]
    apps: dict[str, App] = {}
    pods: list[Pod] = []
    for row in chance.sample(rows, len(rows) * nodes // len(every) // 2):
        place = next((node for node in chance.sample(free, len(free)) if node.take(row)), None)
        if place:
            app = apps.setdefault(_app(row).name, _app(row))
            pods.append(Pod(f"{app.name}-{HASH}-{len(pods):05}", app.name, place.name))
    return Cluster(f"openb-{nodes}-{seed}", STEP, [_node(r) for r in chosen], apps, pods)


def _free(row: dict[str, str]) -> Free:
    return Free(row["sn"], row["model"], *(int(row[k]) for k in ("cpu_milli", "memory_mib", "gpu")))


def _node(row: dict[str, str]) -> Node:
    extended = {GPU: row["gpu"]} if int(row["gpu"]) else {}
    return Node(row["sn"], int(row["cpu_milli"]), int(row["memory_mib"]), extended=extended)


def _app(row: dict[str, str]) -> App:
    cpu, memory, gpu = (int(row[key]) for key in ("cpu_milli", "memory_mib", "num_gpu"))
    requests = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"} | ({GPU: str(gpu)} if gpu else {})
    steps = 24 * 3600 // STEP
    return App(f"p-{cpu}-{memory}-{gpu}", requests, Series((cpu,) * steps, (memory,) * steps))
