"""The clusters of the benchmark and who plays them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmark import contest, gentd26, openb, planetlab
from benchmark.clusters import Cluster
from benchmark.opponents import (
    CADENCES,
    Opponent,
    Targets,
    all_opponents,
    from_prometheus,
    nothing,
)

MODELLED = 300
"""The most nodes for which the model plays Koordinator's rule, in minutes for each cadence."""
BOTH = Targets({"cpu": 30, "memory": 40}, {"cpu": 60, "memory": 80})
CPU = Targets({"cpu": 30}, {"cpu": 60})
MEMORY = Targets({"memory": 30}, {"memory": 60})


@dataclass(frozen=True)
class Case:
    """A cluster, its targets, and the opponents that play it in the simulator."""

    section: str
    name: str
    make: Callable[[], Cluster]
    targets: Targets
    opponents: tuple[Opponent, ...]
    seed: str = "A"
    modelled: bool = True
    """Whether the model plays Koordinator's rule too. It takes long for large clusters."""

    @property
    def block(self) -> str:
        """The name of its block in the page."""
        return f"{self.section}: {self.name}"


FULL = tuple(all_opponents())
ONE = tuple(o for o in FULL if o.cadence == CADENCES[-1] or o == nothing())
"""Every five minutes only, for large cuts and repeated seeds."""
LARGE = tuple(
    o
    for o in ONE
    if o == nothing() or o.line in ("evenkeel, stock scheduler", "descheduler, no caps")
)
"""One row for each program."""
WHOLE = (Opponent("evenkeel, stock scheduler", CADENCES[0], poll=60),)
"""Polled once for each cycle, which a day of 6,000 nodes needs less time for."""
CPU_ONLY = (*FULL, *from_prometheus())


def every(data: Path) -> Iterator[Case]:
    """All cases whose data the folder has, in the order of the page."""
    if (data / contest.ARCHIVE).exists():
        yield from _contest(data)
    for day in planetlab.DAYS:
        if (data / f"planetlab-{day}.csv").exists():
            make = lambda day=day: planetlab.day(data, day, "A")  # noqa: E731
            yield Case("planetlab", day, make, CPU, CPU_ONLY)
    if (data / gentd26.ARCHIVE).exists():
        yield Case("gentd26", "memory", lambda: gentd26.memory(data, "A"), MEMORY, FULL)


def packing(data: Path) -> Iterator[Case]:
    """The clusters whose requests are balanced, not their usage."""
    if (data / openb.PODS).exists():
        yield Case("openb", "300 nodes", lambda: openb.snapshot(data, 300, "A"), BOTH, ())


def _contest(data: Path) -> Iterator[Case]:
    cuts = [
        (50, "A", ONE),
        (50, "C", ONE),
        (90, "A", FULL),
        (300, "A", FULL),
        (300, "B", ONE),
        (300, "C", ONE),
    ]
    for nodes, seed, opponents in cuts:
        yield _cut(data, nodes, seed, opponents)
    yield _cut(data, 300, "A", ONE, off=False)
    yield _cut(data, 1000, "A", LARGE)
    yield _cut(data, 6000, "A", WHOLE)


def _cut(
    data: Path, nodes: int, seed: str, opponents: tuple[Opponent, ...], *, off: bool = True
) -> Case:
    section = "contest, requests off" if off else "contest, requests equal to the mean"
    make = lambda: contest.cut(contest.read(data), nodes, seed, off=off)  # noqa: E731
    name = (
        f"{nodes:,} nodes, cut {seed}" if nodes < len(contest.read(data).machines) else "all nodes"
    )
    return Case(section, name, make, BOTH, opponents, seed, modelled=nodes <= MODELLED)
