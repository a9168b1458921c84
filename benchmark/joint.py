"""The joint optimum: which pods leave and where each lands, as one mixed-integer program.

The sum of the fewest pods of each node is a lower bound. Where the greedy placement finds
no place for some of these pods, others could leave instead, or pods of other nodes could
make room. The program knows all of that. Most of its constraints never bind, so it begins
without them and adds those that a solution violates (constraint generation): a solution
that violates none is the optimum, and until then the number of its moves is a lower bound.
"""

from dataclasses import dataclass, field

import highspy
import numpy as np

from benchmark.model import World

SECONDS = 600
"""The most time for all programs of a cluster."""
MOST_NODES = 50
"""The largest cluster for which the program is solved."""
TOLERANCE = 1e-6
EVERY = 6
"""The program begins with the constraints of every sixth step."""
FILL, GAP = 0.4, 0.02
"""The most that the choice of full nodes counts, and the gap at which a program is solved."""
PROVEN, IMPOSSIBLE, OPEN = "proven", "impossible", "open"


@dataclass(frozen=True)
class Joint:
    """The result of the program."""

    moves: int
    """The fewest evictions if the optimum is proven, and a lower bound otherwise."""
    outcome: str
    """`PROVEN`, `IMPOSSIBLE` if no placement keeps every node below its targets, or `OPEN`."""


@dataclass
class Program:
    """The program so far. Pods are those that may leave; `homes` are their nodes."""

    world: World
    curves: np.ndarray
    movable: np.ndarray
    ceiling: np.ndarray
    solver: highspy.Highs = field(init=False)
    added: set[tuple] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Adds a variable for each pod and each node where it may land."""
        self.pods = np.flatnonzero(self.movable)
        self.homes = self.world.node[self.pods]
        self.load = np.zeros((len(self.world.size), *self.curves.shape[1:]))
        np.add.at(self.load, self.world.node, self.curves)
        self.solver = highspy.Highs()
        options = {"output_flag": False, "random_seed": 1, "time_limit": float(SECONDS)}
        # A solution this near to the bound has the fewest moves, because their number is whole.
        options |= {"mip_abs_gap": GAP, "mip_rel_gap": 0.0}
        for option, value in options.items():
            self.solver.setOptionValue(option, value)
        admits = self._admits()
        nodes = np.flatnonzero(admits.any(axis=0))
        full = (self.load / self.ceiling[:, :, None]).max(axis=(1, 2)).clip(0, 1)
        # Emptier nodes first, so that few constraints are violated. All together count less than
        # one move.
        weight = full * FILL / max(len(self.pods), 1)
        self.goes = {
            (int(position), int(node)): self.solver.addBinary(obj=1 + float(weight[node]))
            for position, node in np.argwhere(admits)
        }
        self.of_pod: list[list] = [[] for _ in self.pods]
        self.to_node: dict[int, list[tuple[int, object]]] = {int(n): [] for n in nodes}
        for (position, node), variable in self.goes.items():
            self.of_pod[position].append(variable)
            self.to_node[node].append((position, variable))
        for variables in filter(None, self.of_pod):
            self.solver.addConstr(sum(variables[1:], variables[0]) <= 1)
        self.from_node: dict[int, list[int]] = {}
        for position, home in enumerate(self.homes):
            self.from_node.setdefault(int(home), []).append(position)

    def _admits(self) -> np.ndarray:
        """Whether each pod could land on each node if all movable pods had left it.

        A node that stays above its targets even then takes no pod.
        """
        world, own = self.world, self.curves[self.pods]
        stays = ~np.isin(np.arange(len(world.node)), self.pods)
        load = np.zeros_like(self.load)
        np.add.at(load, world.node[stays], self.curves[stays])
        taken = np.zeros_like(world.taken)
        np.add.at(taken, world.node[stays], world.requests[world.app[stays]])
        admits = np.zeros((len(self.pods), len(world.size)), dtype=bool)
        for position, pod in enumerate(self.pods):
            app = world.app[pod]
            fits = (load + own[position] <= self.ceiling[:, :, None]).all(axis=(1, 2))
            fits &= (taken + world.requests[app] <= world.room).all(axis=1)
            fits[world.node[stays & np.isin(world.app, sorted(world.apart[app]))]] = False
            fits[self.homes[position]] = False
            admits[position] = fits
        return admits

    def begin(self, own: np.ndarray, needed: np.ndarray, least: int) -> None:
        """Adds a lower bound, and what must leave each node even if nothing came."""
        every = list(self.goes.values())
        self.solver.addConstr(sum(every[1:], every[0]) >= least)
        for mover, node in self.goes:
            apart = self.world.apart[self.world.app[self.pods[mover]]]
            for other in self.from_node.get(node, []):
                if int(self.world.app[self.pods[other]]) in apart:
                    self.keep_apart(mover, int(self.pods[other]), node)
        need = self.load - self.ceiling[:, :, None]
        for node, resource, step in np.argwhere((need > 0) & needed):
            terms = [
                float(own[position, resource, step]) * leaves
                for position in self.from_node.get(int(node), [])
                for leaves in self.of_pod[position]
                if own[position, resource, step]
            ]
            if terms:
                least_used = float(need[node, resource, step])
                self.solver.addConstr(sum(terms[1:], terms[0]) >= least_used)

    def solve(self) -> np.ndarray | None:
        """The node of each pod in the best solution so far; `None` without one in this time."""
        self.solver.run()
        if self.solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        values = self.solver.getSolution().col_value
        places = self.homes.copy()
        for (position, node), variable in self.goes.items():
            if values[variable.index] > 0.5:
                places[position] = node
        return places

    def bound(self) -> int:
        """The fewest moves that the solver has not excluded."""
        return int(np.ceil(self.solver.getInfo().mip_dual_bound - FILL - TOLERANCE))

    def limit(self, node: int, amounts: np.ndarray, spare: float, key: tuple) -> bool:
        """Requires that what comes to a node, less what leaves it, is at most what is spare."""
        if key in self.added:
            return False
        self.added.add(key)
        terms = [float(amounts[p]) * v for p, v in self.to_node.get(node, []) if amounts[p]]
        for position in self.from_node.get(node, []):
            terms += [-float(amounts[position]) * v for v in self.of_pod[position]]
        if terms:
            self.solver.addConstr(sum(terms[1:], terms[0]) <= spare)
        return True

    def keep_apart(self, mover: int, other: int, node: int) -> bool:
        """Requires that a pod does not land on a node where another one is or lands."""
        key = ("apart", mover, other, node)
        if key in self.added:
            return False
        self.added.add(key)
        lands, position = self.goes[mover, node], int(np.searchsorted(self.pods, other))
        if self.homes[position] == node:
            leaves = self.of_pod[position]
            self.solver.addConstr(lands - sum(leaves) <= 0)
        else:
            self.solver.addConstr(lands + self.goes[position, node] <= 1)
        return True


def joint(world: World, movable: np.ndarray, needed: np.ndarray, least: int) -> Joint | None:
    """The optimum; `None` if a cluster is too large.

    `needed` are the steps of each node that moves can help, and `least` is a lower bound.
    """
    if len(world.size) > MOST_NODES:
        return None
    curves = world.curves[world.row][:, :, : needed.shape[2]]
    program = Program(world, curves, movable, world.high * world.size)
    own = curves[program.pods]
    program.begin(own, needed, least)
    some = np.zeros_like(needed)
    some[:, :, ::EVERY] = True
    for node in range(len(world.size)):
        _limit_steps(program, own, node, np.argwhere(some[node] & needed[node]))
    while program.solver.getRunTime() < SECONDS:
        places = program.solve()
        if program.solver.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
            return Joint(least, IMPOSSIBLE)
        if places is None:
            return Joint(max(least, program.bound()), OPEN)
        least = int((places != program.homes).sum())
        if not _tighten(program, places, own, needed):
            return Joint(least, PROVEN)
    return Joint(least, OPEN)


def _limit_steps(program: Program, own: np.ndarray, node: int, steps: np.ndarray) -> bool:
    added = False
    for resource, step in steps:
        spare = program.ceiling[node, resource] - program.load[node, resource, step]
        key = (node, int(resource), int(step))
        added |= program.limit(node, own[:, resource, step], float(spare), key)
    return added


def _tighten(program: Program, places: np.ndarray, own: np.ndarray, needed: np.ndarray) -> bool:
    """Adds the constraints that a solution violates. False if it violates none."""
    world, moved = program.world, np.flatnonzero(places != program.homes)
    load = program.load.copy()
    np.subtract.at(load, program.homes[moved], own[moved])
    np.add.at(load, places[moved], own[moved])
    ceiling = program.ceiling[:, :, None]
    above = (load > ceiling * (1 + TOLERANCE)) & needed
    added = False
    for node in np.flatnonzero(above.any(axis=(1, 2))):
        added |= _limit_steps(program, own, int(node), np.argwhere(above[node]))
    return added | _fit(program, places, moved) | _separate(world, program, places, moved)


def _fit(program: Program, places: np.ndarray, moved: np.ndarray) -> bool:
    """Adds the requests of the nodes that a solution fills."""
    world, added = program.world, False
    requests = world.requests[world.app[program.pods]]
    taken, count = world.taken.copy(), world.count.copy()
    np.subtract.at(taken, program.homes[moved], requests[moved])
    np.add.at(taken, places[moved], requests[moved])
    np.subtract.at(count, program.homes[moved], 1)
    np.add.at(count, places[moved], 1)
    full = taken > world.room + TOLERANCE
    for node, resource in np.argwhere(full & np.isin(np.arange(len(full)), places[moved])[:, None]):
        spare = float(world.room[node, resource] - world.taken[node, resource])
        key = ("requests", int(node), int(resource))
        added |= program.limit(int(node), requests[:, resource], spare, key)
    for node in np.flatnonzero(count > world.pods_room):
        spare = float(world.pods_room[node] - world.count[node])
        added |= program.limit(int(node), np.ones(len(requests)), spare, ("pods", int(node)))
    return added


def _separate(world: World, program: Program, places: np.ndarray, moved: np.ndarray) -> bool:
    """Keeps apart the pods that a solution puts together against their anti-affinity."""
    at, added = world.node.copy(), False
    at[program.pods] = places
    for mover in moved:
        apart = sorted(world.apart[world.app[program.pods[mover]]])
        others = np.flatnonzero((at == places[mover]) & np.isin(world.app, apart))
        for other in others[others != program.pods[mover]]:
            added |= program.keep_apart(int(mover), int(other), int(places[mover]))
    return added
