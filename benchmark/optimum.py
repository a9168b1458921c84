"""The fewest moves with full knowledge of the day and a free choice of destinations.

For each node, a mixed-integer program chooses the fewest movable pods whose leaving
keeps it below its targets at every step: the sum is a lower bound for any program. If
the chosen pods fit on other nodes without a node above its targets at any step, the
bound is reached, and so the optimum is proven.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import highspy
import numpy as np

from benchmark.joint import Joint, joint
from benchmark.model import DAY, World

SECONDS = 60
"""The most time for one program."""


@dataclass(frozen=True)
class Optimum:
    """The result for a day."""

    moves: int
    """The fewest evictions, if every pod landed where it does no harm."""
    unplaced: int
    """Of these, the pods for which no place was found. Zero proves the optimum."""
    unavoidable: dict[str, float]
    """Node-minutes above target even if all movable pods left at the start."""
    joint: Joint | None
    """The answer of the joint program, if the placement left it open and it was solved."""

    @classmethod
    def read(cls, kept: dict) -> "Optimum":
        """The optimum from its fields."""
        solved = kept["joint"]
        return cls(**kept | {"joint": solved and Joint(**solved)})

    @property
    def fewest(self) -> int:
        """The most that is known of the fewest evictions: the optimum or a lower bound."""
        return max(self.moves, self.joint.moves) if self.joint else self.moves


def optimum(world: World, replicas: int = 2) -> Optimum:
    """The fewest moves of pods of workloads with at least as many replicas."""
    curves, movable = _curves(world), world.replicas[world.app] >= replicas
    leaving: list[int] = []
    needed = np.ones((len(world.size), *curves.shape[1:]), dtype=bool)
    minutes = dict.fromkeys(("cpu", "memory"), 0.0)
    for node, (pods, stays) in enumerate(fewest_of_nodes(world, replicas)):
        for resource, steps in zip(minutes, stays.sum(axis=1), strict=True):
            minutes[resource] += float(steps) * world.cluster.step / 60
        needed[node] = ~stays
        leaving += pods
    unplaced = _place(world, curves, leaving)
    answer = joint(world, movable, needed, len(leaving)) if unplaced else None
    return Optimum(len(leaving), unplaced, minutes, answer)


def fewest_of_nodes(world: World, replicas: int = 2) -> Iterator[tuple[list[int], np.ndarray]]:
    """The fewest pods that must leave each node, and when it stays hot without any of its pods."""
    curves, movable = _curves(world), world.replicas[world.app] >= replicas
    ceiling = world.high * world.size
    for node in range(len(world.size)):
        pods = np.flatnonzero(world.node == node)
        need = curves[pods].sum(axis=0) - ceiling[node][:, None]
        own = pods[movable[pods]]
        stays = need - curves[own].sum(axis=0) > 0
        rows = (need > 0) & ~stays
        yield _fewest(own, curves[own][:, rows], need[rows]), stays


def _curves(world: World) -> np.ndarray:
    return world.curves[world.row][:, :, : DAY // world.cluster.step + 1]


def _fewest(pods: np.ndarray, used: np.ndarray, need: np.ndarray) -> list[int]:
    """The fewest pods whose usage covers each need, and of these the least usage."""
    if not len(need):
        return []
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("time_limit", float(SECONDS))
    solver.setOptionValue("random_seed", 1)
    # A thousandth in all breaks ties, so that light pods leave.
    weight = used.sum(axis=1) / max(used.sum(), 1) / 1000
    chosen = [solver.addBinary(obj=1 + float(w)) for w in weight]
    for row, least in zip(used.T, need, strict=True):
        terms = [float(u) * x for u, x in zip(row, chosen, strict=True) if u]
        solver.addConstr(sum(terms[1:], terms[0]) >= float(least))
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise RuntimeError(f"no optimum within {SECONDS} s: {solver.getModelStatus()}")
    values = solver.getSolution().col_value
    return [int(pod) for pod, value in zip(pods, values, strict=False) if value > 0.5]


def _place(world: World, curves: np.ndarray, leaving: list[int]) -> int:
    """Places the pods, large ones first, where the fullest step stays emptiest.

    Returns how many find no place.
    """
    ceiling = (world.high * world.size)[:, :, None]
    load = np.zeros((len(world.size), *curves.shape[1:]))
    np.add.at(load, world.node, curves)
    homes = world.node.copy()
    for pod in leaving:
        load[homes[pod]] -= curves[pod]
        world.taken[homes[pod]] -= world.requests[world.app[pod]]
        world.count[homes[pod]] -= 1
    # A pod that has left keeps no other pod away.
    world.node[leaving] = homes[leaving]
    unplaced = 0
    share = lambda pod: -float((curves[pod] / ceiling.mean(axis=0)).max())  # noqa: E731
    for pod in sorted(leaving, key=share):
        peaks = ((load + curves[pod]) / ceiling).max(axis=(1, 2))
        peaks[~world.feasible(pod) | (np.arange(len(peaks)) == homes[pod])] = np.inf
        place = int(np.argmin(peaks))
        if peaks[place] > 1:
            unplaced += 1
            continue
        load[place] += curves[pod]
        world.taken[place] += world.requests[world.app[pod]]
        world.count[place] += 1
        world.node[pod] = place
    world.node[:] = homes
    return unplaced
