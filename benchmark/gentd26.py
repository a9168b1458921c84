"""The memory of 208 containers of a Kubernetes cluster every 57 seconds for a day (2026).

The trace has shares of unknown sizes and no workloads: here each container may use
8 GiB, and four that follow each other in the file are the replicas of a Deployment.
"""

import csv
import io
import random
import tarfile
from pathlib import Path

from benchmark.clusters import HASH, App, Cluster, Node, Pod, Series

ARCHIVE = "gentd26/pod_memory_util_anon.tar.gz"
STEP = 57
NODES, PODS_PER_NODE, REPLICAS = 23, 9, 4
MEBIBYTES = 8 * 1024
MILLICORES = 100


def memory(folder: Path, seed: str) -> Cluster:
    """Nine containers on each of 23 nodes of 64 GiB; the seed chooses the node of each."""
    rows = _rows(folder / ARCHIVE)
    nodes = [Node(f"n{i:02}", 8000, 64 * 1024) for i in range(NODES)]
    places = [node.name for node in nodes for _ in range(PODS_PER_NODE)]
    random.Random(f"places {seed}").shuffle(places)
    requests = {"cpu": f"{MILLICORES}m", "memory": f"{MEBIBYTES // 2}Mi"}
    count = len(places) // REPLICAS + 1
    apps = {f"c{i}": App(f"c{i}", requests, None) for i in range(count)}
    pods = [
        Pod(f"c{i // REPLICAS}-{HASH}-{i:05}", f"c{i // REPLICAS}", place, series)
        for i, (place, series) in enumerate(zip(places, rows, strict=False))
    ]
    return Cluster(f"gentd26-memory-{seed}", STEP, nodes, apps, pods)


def _rows(archive: Path) -> list[Series]:
    """The memory of each container, sorted by its name. A missing value is that before."""
    with tarfile.open(archive) as files:
        member = next(m for m in files.getmembers() if m.name.endswith(".csv"))
        data = files.extractfile(member)
        if data is None:
            raise ValueError(f"{archive}: {member.name} is no file")
        table = list(csv.DictReader(io.TextIOWrapper(data, "utf-8")))
    times = sorted({float(row["timestamp_anon"]) for row in table})
    values: dict[str, dict[float, float]] = {}
    for row in table:
        at = float(row["timestamp_anon"])
        values.setdefault(row["container_ip"], {})[at] = float(row["value"])
    return [_series(values[name], times) for name in sorted(values)]


def _series(known: dict[float, float], times: list[float]) -> Series:
    share, mebibytes = 0.0, []
    for at in times:
        share = known.get(at, share)
        mebibytes.append(max(0, round(share * MEBIBYTES)))
    return Series((MILLICORES,) * len(times), tuple(mebibytes))
