"""A model of a cluster in which a rule written in Python evicts pods.

It has the parts that decide here: recorded usage, kube-scheduler 1.36 with its default
scores for clusters without labels and taints (LeastAllocated, balanced allocation, soft
spreading by host, the sample of nodes above a hundred), and pods that are replaced at
once. `evenkeel simulate` plays evenkeel and descheduler; this model plays the rules of
programs that it cannot. A rule of descheduler's kind gives nearly the same figures in
both (docs/benchmark.md).
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from benchmark.clusters import Cluster
from benchmark.opponents import Targets
from benchmark.play import Figures

DAY = 24 * 3600
RESOURCES = ("cpu", "memory")
RELIEVED = 0.1
"""The share of the excess that remains when a cluster counts as relieved."""
HELPED_AFTER = 300
"""Seconds after which an eviction has helped if its node is below its targets."""


@dataclass
class World:
    """A cluster as arrays. Nodes and pods keep their positions; moved pods change `node`."""

    cluster: Cluster
    targets: Targets
    seed: str
    size: np.ndarray = field(init=False)
    """Millicores and MiB of each node."""
    now: int = 0
    evictions: int = 0
    again: int = 0

    def __post_init__(self) -> None:
        """Reads the cluster."""
        cluster = self.cluster
        self.chance = random.Random(f"model {self.seed}")
        self.size = np.array([[n.cpu, n.memory] for n in cluster.nodes], dtype=float)
        position = {n.name: i for i, n in enumerate(cluster.nodes)}
        names = {name: i for i, name in enumerate(cluster.apps)}
        self.app = np.array([names[p.app] for p in cluster.pods])
        self.node = np.array([position[p.node] for p in cluster.pods])
        self.created = np.full(len(cluster.pods), -DAY)
        self.replicas = np.bincount(self.app, minlength=len(names))
        self._read_usage()
        self._read_requests(names)
        self.high = np.array([self.targets.high.get(r, 100) / 100 for r in RESOURCES])
        self.next_start = 0

    def _read_usage(self) -> None:
        series = [self.cluster.usage(pod) for pod in self.cluster.pods]
        rows = {id(s): s for s in series if s}
        where = {key: i for i, key in enumerate(rows)}
        self.row = np.array([where[id(s)] for s in series])
        self.curves = np.array([[s.cpu, s.memory] for s in rows.values()], dtype=float)

    def _read_requests(self, names: dict[str, int]) -> None:
        kinds = ("cpu", "memory", "ephemeral-storage", "nvidia.com/gpu")
        apps = self.cluster.apps.values()
        self.requests = np.array([[_amount(a.requests.get(k, "0")) for k in kinds] for a in apps])
        room = [
            [n.cpu, n.memory, *(_amount(n.extended.get(k, "0")) for k in kinds[2:])]
            for n in self.cluster.nodes
        ]
        self.room = np.array(room, dtype=float)
        self.pods_room = np.array([n.pods for n in self.cluster.nodes])
        apart = [[names[b] for b in sorted(a.apart) if b in names] for a in apps]
        self.apart: list[set[int]] = [set(b) for b in apart]
        for first, others in enumerate(apart):
            for second in others:
                self.apart[second].add(first)
        self.taken = np.zeros_like(self.room)
        np.add.at(self.taken, self.node, self.requests[self.app])
        self.count = np.bincount(self.node, minlength=len(self.room))

    def usage(self, at: int) -> np.ndarray:
        """Millicores and MiB of each pod, linear between two values."""
        length = self.curves.shape[2]
        steps = at / self.cluster.step
        before = math.floor(steps)
        share = steps - before
        first = self.curves[:, :, before % length]
        second = self.curves[:, :, (before + 1) % length]
        return (first * (1 - share) + second * share)[self.row]

    def by_node(self, of_pods: np.ndarray) -> np.ndarray:
        """The sum over the pods of each node."""
        sums = np.zeros_like(self.size)
        np.add.at(sums, self.node, of_pods)
        return sums

    def evict(self, pod: int, place: int | None = None) -> bool:
        """Moves a pod to a node, or to the one that the scheduler chooses. False without one."""
        home = self.node[pod]
        self._count(pod, home, -1)
        place = self.choose(pod) if place is None else place
        if place is None:
            self._count(pod, home, 1)
            return False
        self._count(pod, place, 1)
        self.evictions += 1
        self.again += int(self.created[pod] >= 0)
        self.created[pod] = self.now
        self.node[pod] = place
        return True

    def _count(self, pod: int, node: int, by: int) -> None:
        self.taken[node] += by * self.requests[self.app[pod]]
        self.count[node] += by

    def feasible(self, pod: int) -> np.ndarray:
        """Whether each node can take the pod by requests and anti-affinity."""
        app = self.app[pod]
        fits = (self.taken + self.requests[app] <= self.room).all(axis=1)
        fits &= self.count < self.pods_room
        others = np.isin(self.app, sorted(self.apart[app]))
        others[pod] = False
        fits[self.node[others]] = False
        return fits

    def choose(self, pod: int) -> int | None:
        """The node with the best score, of as many as the scheduler looks at."""
        count = len(self.room)
        order = (np.arange(count) + self.next_start) % count
        found = order[self.feasible(pod)[order]]
        quota = count if count < 100 else max(100, count * (50 - count // 125) // 100)
        found = found[:quota]
        if not len(found):
            return None
        if len(found) == quota:
            self.next_start = (int(found[-1]) + 1) % count
        scores = self._scores(pod, found)
        return int(self.chance.choice(found[scores == scores.max()].tolist()))

    def _scores(self, pod: int, nodes: np.ndarray) -> np.ndarray:
        request = self.requests[self.app[pod]][:2]
        room, before = self.room[nodes, :2], self.taken[nodes, :2]
        after = before + request
        least = np.floor((room - after).clip(0) * 100 / room).sum(axis=1) // 2
        even = 50 + (50 + _evenness(after, room) - _evenness(before, room)) // 2
        return least + even + 2 * self._spread(pod, nodes)

    def _spread(self, pod: int, nodes: np.ndarray) -> np.ndarray:
        """PodTopologySpread with the system default for hosts, a skew of three."""
        same = self.app == self.app[pod]
        same[pod] = False
        own = np.bincount(self.node[same], minlength=len(self.room))[nodes]
        sums = np.round(own * math.log(len(nodes) + 2) + 2)
        most, least = sums.max(), sums.min()
        return np.full(len(nodes), 100) if most == 0 else 100 * (most + least - sums) // most


def _evenness(taken: np.ndarray, room: np.ndarray) -> np.ndarray:
    shares = (taken / room).clip(max=1)
    return np.floor((1 - abs(shares[:, 0] - shares[:, 1]) / 2) * 100)


def _amount(text: str) -> float:
    for unit in ("Gi", "Mi", "m"):
        if text.endswith(unit):
            return float(text.removesuffix(unit))
    return float(text)


Rule = Callable[[World], None]
"""Evicts what it likes of the present cluster. It is called once a cycle."""


def play(world: World, rule: Rule, cadence: int, tick: int = 60) -> Figures:
    """A day of the cluster under a rule."""
    minutes = dict.fromkeys(RESOURCES, 0.0)
    first, relieved, hot = None, None, np.zeros((1, 2), dtype=bool)
    for now in range(0, DAY, tick):
        world.now = now
        ratios = world.by_node(world.usage(now)) / world.size
        hot = ratios > world.high
        excess = float((ratios - world.high)[hot].sum())
        first = excess if first is None else first
        if relieved is None and excess <= first * RELIEVED:
            relieved = now / 60
        for resource, nodes in zip(RESOURCES, hot.sum(axis=0), strict=True):
            minutes[resource] += nodes * tick / 60
        if now % cadence == 0:
            rule(world)
    targeted = [r for r in RESOURCES if r in world.targets.high]
    at_end = dict(zip(RESOURCES, hot.sum(axis=0).tolist(), strict=True))
    return Figures(
        evictions=world.evictions,
        minutes={r: minutes[r] for r in targeted},
        hot_at_end={r: at_end[r] for r in targeted},
        helped=None,
        again=world.again,
        relieved=relieved,
        foreseen=None,
        pending=0,
        empty=int((world.count == 0).sum()),
    )
