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


FULL = tuple(all_opponents())
SHORT = tuple(o for o in FULL if o.cadence != CADENCES[0] or o == nothing())
"""Without the cadence of a minute, for large cuts and repeated seeds."""
ONE = tuple(o for o in FULL if o.cadence == CADENCES[-1] or o == nothing())
"""Every five minutes only."""
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
    sizes = [
        (90, "A", FULL), (300, "A", FULL), (300, "B", SHORT), (300, "C", SHORT), (1000, "A", ONE)
    ]  # fmt: skip
    for off in (True, False):
        section = "contest-off" if off else "contest-mean"
        for nodes, seed, opponents in sizes if off else sizes[1:2]:
            make = lambda n=nodes, s=seed, off=off: contest.cut(contest.read(data), n, s, off=off)  # noqa: E731
            yield Case(section, f"{nodes} nodes, cut {seed}", make, BOTH, opponents, seed)
