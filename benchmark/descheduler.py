"""The rule of descheduler's LowNodeUtilization, only to compare the model with the simulator."""

from dataclasses import dataclass

import numpy as np

from benchmark.model import World

EARLIER = 0.9
"""The weight of the earlier average; a value is read every five seconds."""
EVERY = 5


@dataclass
class LowNodeUtilization:
    """The rule, with pods of equal priority in the order of their positions."""

    low: np.ndarray
    replicas: int = 2
    average: np.ndarray | None = None
    at: int = 0

    def __call__(self, world: World) -> None:
        """One cycle."""
        usage = world.usage(world.now)
        nodes = self._read(world, world.by_node(usage)).copy()
        ceiling = world.high * world.size
        cold = (nodes <= self.low * world.size).all(axis=1)
        hot = (nodes > ceiling).any(axis=1) & ~cold
        room = (ceiling - nodes)[cold].sum(axis=0)
        for node in sorted(np.flatnonzero(hot), key=lambda n: -nodes[n][1]):
            for pod in np.flatnonzero(world.node == node):
                if not ((nodes[node] > ceiling[node]).any() and (room > 0).all()):
                    break
                if world.replicas[world.app[pod]] >= self.replicas and world.evict(int(pod)):
                    nodes[node] -= usage[pod]
                    room -= usage[pod]

    def _read(self, world: World, nodes: np.ndarray) -> np.ndarray:
        if self.average is None:
            self.average = nodes
        kept = EARLIER ** ((world.now - self.at) // EVERY)
        self.average, self.at = self.average * kept + nodes * (1 - kept), world.now
        return self.average
