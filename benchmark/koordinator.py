"""The rule of Koordinator's LowNodeLoad, as a model of it.

From pkg/descheduler/framework/plugins/loadaware and controllers/migration (main, July
2026): the mean of five minutes, more than five looks above the target, nodes by usage,
pods by how well their usage covers the excess of the resources above target, each of
which must fit on a node below its thresholds with its usage, and at most two pods of a
node and one workload within its limits at a time. koord-scheduler with its reservations
and its load-aware scores is not modelled: `by_usage` sends each pod to a fitting node
that stays below its targets, which is kinder than it.
"""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from benchmark.model import World

LOOKS = 5
"""A node counts after more looks in a row than this (`consecutiveAbnormalities`)."""
MEAN_OF = 300
"""Seconds over which NodeMetric is a mean."""
REPORT = 60
"""Seconds from one NodeMetric to the next."""
PER_NODE = 2
"""Pods of a node that may be under way at a time (`maxMigratingPerNode`)."""


@dataclass
class LowNodeLoad:
    """The rule. `replicas` is the fewest replicas of a workload whose pods may leave."""

    low: np.ndarray
    replicas: int = 2
    by_usage: bool = False
    looks: dict[int, int] = field(default_factory=dict)

    def __call__(self, world: World) -> None:
        """One cycle."""
        usage = self._mean(world)
        nodes = world.by_node(usage)
        high, ceiling = (nodes > world.high * world.size).any(axis=1), world.high * world.size
        cold = (nodes <= self.low * world.size).all(axis=1)
        sources = [int(n) for n in np.flatnonzero(high) if self._look(int(n))]
        for position in np.flatnonzero(cold):
            self.looks.pop(int(position), None)
        if not sources or not cold.any() or cold.all():
            return
        room = (ceiling - nodes)[cold].sum(axis=0)
        sources.sort(key=lambda n: -float((nodes[n] / world.size[n]).sum()))
        for node in sources:
            self._relieve(world, node, (usage, nodes, cold), room)

    def _mean(self, world: World) -> np.ndarray:
        times = [t for t in range(world.now - MEAN_OF, world.now, REPORT) if t >= 0]
        return np.mean([world.usage(t) for t in times or [world.now]], axis=0)

    def _look(self, node: int) -> bool:
        self.looks[node] = self.looks.get(node, 0) + 1
        return self.looks[node] > LOOKS

    def _relieve(self, world: World, node: int, state: tuple, room: np.ndarray) -> None:
        usage, nodes, cold = state
        ceiling = world.high * world.size
        pods = [
            int(p) for p in np.flatnonzero(world.node == node) if self._may_leave(world, int(p))
        ]
        excess = nodes[node] - ceiling[node]
        queue = deque(sorted(pods, key=lambda p: -_cover(usage[p], excess)))
        gone: dict[int, int] = {}
        while queue and (nodes[node] > ceiling[node]).any() and (room > 0).all():
            pod = queue.popleft()
            app = int(world.app[pod])
            if sum(gone.values()) >= PER_NODE or gone.get(app, 0) >= _away(world.replicas[app]):
                continue
            place = self._place(world, pod, usage[pod], nodes, cold)
            if place is None or not self._move(world, pod, place):
                continue
            gone[app] = gone.get(app, 0) + 1
            nodes[node] -= usage[pod]
            room -= usage[pod]
        if not (nodes[node] > ceiling[node]).any():
            self.looks.pop(node, None)

    def _may_leave(self, world: World, pod: int) -> bool:
        replicas = int(world.replicas[world.app[pod]])
        return replicas >= self.replicas and replicas > _away(replicas)

    def _place(
        self, world: World, pod: int, used: np.ndarray, nodes: np.ndarray, cold: np.ndarray
    ) -> int | None:
        """A fitting node below its low thresholds that stays below its targets with the pod."""
        fits = world.feasible(pod) & cold
        fits &= (nodes + used <= world.high * world.size).all(axis=1)
        found = np.flatnonzero(fits)
        if not len(found):
            return None
        place = int(found[np.argmin((nodes / world.size)[found].max(axis=1))])
        nodes[place] += used
        return place

    def _move(self, world: World, pod: int, place: int) -> bool:
        return world.evict(pod, place if self.by_usage else None)


def _cover(used: np.ndarray, excess: np.ndarray) -> float:
    """How well a pod covers the excess: best just above it (`mostRequestedScorePod`)."""
    scores = []
    for own, over in zip(used, excess, strict=True):
        if over > 0:
            ratio = own / over
            scores.append(1 / ratio + 1 if ratio >= 1 else ratio)
    return sum(scores) / len(scores) if scores else 0.0


def _away(replicas: int) -> int:
    """Pods of a workload that may be away: the default of `maxUnavailablePerWorkload`."""
    if replicas > 10:
        return replicas // 10
    return 2 if replicas >= 4 else 1
