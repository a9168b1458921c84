"""Days of PlanetLab, March 2011: the cpu of a thousand virtual machines every five minutes.

The same cluster as `tests/traces.sh`: 50 nodes of 8 cores and 50 Deployments of 20 pods,
each of which requests 250m and uses its row's percentage of 1.6 cores. These days
chose some constants of evenkeel.
"""

import csv
import random
from pathlib import Path

from benchmark.clusters import HASH, App, Cluster, Node, Pod, Series

DAYS = ("20110303", "20110306", "20110325")
STEP = 300
NODES, APPS, REPLICAS = 50, 50, 20
MILLICORES_PER_PERCENT = 16
MEBIBYTES = 256


def day(folder: Path, name: str, seed: str) -> Cluster:
    """A day; the seed chooses the node of each pod, 20 on each."""
    with (folder / f"planetlab-{name}.csv").open(encoding="utf-8") as file:
        rows = [[int(v) for v in row] for row in csv.reader(file)]
    requests = {"cpu": "250m", "memory": f"{MEBIBYTES}Mi"}
    apps = {f"w{i}": App(f"w{i}", requests, None) for i in range(APPS)}
    nodes = [Node(f"n{i:02}", 8000, 32 * 1024) for i in range(NODES)]
    places = [node.name for node in nodes for _ in range(REPLICAS)]
    random.Random(f"places {seed}").shuffle(places)
    pods = [_pod(i, rows[i % len(rows)], place) for i, place in enumerate(places)]
    return Cluster(f"planetlab-{name}-{seed}", STEP, nodes, apps, pods)


def _pod(position: int, row: list[int], node: str) -> Pod:
    app = f"w{position // REPLICAS}"
    cpu = tuple(MILLICORES_PER_PERCENT * percent for percent in row)
    return Pod(f"{app}-{HASH}-{position:05}", app, node, Series(cpu, (MEBIBYTES,) * len(cpu)))
