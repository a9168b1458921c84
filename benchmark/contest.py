"""The scheduling contest of 2018, data set B: `alibaba-2018-b.zip`.

3,000 machines of 32 cores and 64 GB and 3,000 of 92 and 288, 68,224 instances of
9,338 apps, each with 98 points of cpu and memory, one every 15 minutes, their disk, and the
placement at the start. The data has no licence: measure with it, do not ship it.
"""

import csv
import io
import random
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmark.clusters import HASH, App, Cluster, Node, Pod, Series

ARCHIVE = "alibaba-2018-b.zip"
STEP = 15 * 60
"""Seconds from one of the 98 points to the next. A day has 96 of them."""
MIB_PER_GB = 1024
OFF = (0.4, 1.6)
"""The range of the factor between usage and requests where requests are off."""


@dataclass(frozen=True)
class Row:
    """An app of the contest: cores and GB at each point, and GB of disk."""

    cpu: tuple[float, ...]
    memory: tuple[float, ...]
    disk: int


@dataclass(frozen=True)
class Contest:
    """The files of the archive. Instances without a machine are left out."""

    machines: dict[str, Node]
    apps: dict[str, Row]
    instances: list[tuple[str, str, str]]
    apart: set[tuple[str, str]]


@cache
def read(folder: Path) -> Contest:
    """Reads the archive."""
    tables = _tables(folder / ARCHIVE)
    rows = {
        name: Row(_floats(cpu), _floats(memory), round(float(disk)))
        for name, cpu, memory, disk, *_ in tables["app_resources"]
    }
    machines = {
        name: Node(
            name=name.replace("_", "-"),
            cpu=int(cpu) * 1000,
            memory=int(memory) * MIB_PER_GB,
            extended={"ephemeral-storage": f"{disk}Gi"},
        )
        for name, cpu, memory, disk, *_ in tables["machine_resources"]
    }
    deployed = [(i, app, machine) for i, app, machine in tables["instance_deploy"] if machine]
    # The number is how many of the second app may join the first one on a machine.
    apart = {(a, b) for a, b, k in tables["app_interference"] if int(k) == 0}
    return Contest(machines, rows, deployed, apart)


def cut(contest: Contest, nodes: int, seed: str, *, off: bool) -> Cluster:
    """Machines chosen by chance, with their instances; `off` makes requests differ from usage."""
    chance = random.Random(f"nodes {seed}")
    every = sorted(contest.machines)
    chosen = set(every if nodes >= len(every) else chance.sample(every, nodes))
    placed = [i for i in contest.instances if i[2] in chosen]
    names = sorted({app for _, app, _ in placed})
    factors = random.Random(f"requests {seed}")
    apps = {}
    for name in names:
        cpu, memory = (factors.uniform(*OFF) if off else 1.0 for _ in range(2))
        app = _app(name, contest.apps[name], cpu, memory)
        apps[app.name] = app
    for first, second in contest.apart:
        if _name(first) in apps and _name(second) in apps:
            apps[_name(first)].apart.add(_name(second))
    return Cluster(
        name=f"contest-{nodes}-{'off' if off else 'mean'}-{seed}",
        step=STEP,
        nodes=[contest.machines[name] for name in every if name in chosen],
        apps=apps,
        pods=[_pod(contest, *instance) for instance in sorted(placed)],
    )


def _app(name: str, row: Row, cpu: float, memory: float) -> App:
    series = Series(
        tuple(round(cores * 1000) for cores in row.cpu),
        tuple(round(gb * MIB_PER_GB) for gb in row.memory),
    )
    millicores = max(1, round(cpu * sum(series.cpu) / len(series.cpu)))
    mebibytes = max(1, round(memory * sum(series.memory) / len(series.memory)))
    requests = {
        "cpu": f"{millicores}m",
        "memory": f"{mebibytes}Mi",
        "ephemeral-storage": f"{row.disk}Gi",
    }
    return App(_name(name), requests, series)


def _pod(contest: Contest, instance: str, app: str, machine: str) -> Pod:
    number = instance.removeprefix("inst_")
    return Pod(f"{_name(app)}-{HASH}-{number:0>5}", _name(app), contest.machines[machine].name)


def _name(app: str) -> str:
    return app.replace("_", "-")


def _floats(text: str) -> tuple[float, ...]:
    return tuple(float(value) for value in text.split("|"))


def _tables(archive: Path) -> dict[str, list[list[str]]]:
    """The rows of each file, by the middle of its name."""
    tables = {}
    with zipfile.ZipFile(archive) as files:
        for name in files.namelist():
            key = name.removeprefix("scheduling_preliminary_b_").rsplit("_", 1)[0]
            with files.open(name) as file:
                tables[key] = list(csv.reader(io.TextIOWrapper(file, "utf-8")))
    return tables
