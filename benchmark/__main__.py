"""Plays public data under evenkeel and its peers, and writes docs/benchmark.md.

python3 -m benchmark --data FOLDER
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np

from benchmark import cases, fetch, packing, picture, report
from benchmark.cases import Case
from benchmark.clusters import Cluster
from benchmark.koordinator import LowNodeLoad
from benchmark.model import RESOURCES, World, play
from benchmark.opponents import CADENCES, Opponent
from benchmark.optimum import Optimum, optimum
from benchmark.play import Figures, Player
from benchmark.report import Row
from benchmark.results import Results, digest, program

ROOT = Path(__file__).parent.parent
PICTURED = "contest, requests off: 300 nodes, cut A"


def main() -> None:
    """Runs the benchmark."""
    args = _arguments()
    args.work.mkdir(parents=True, exist_ok=True)
    fetch.missing(args.data)
    player = Player(args.evenkeel, Results(args.work))
    for case in cases.every(args.data):
        if not args.only or args.only in case.block:
            text, rows, best = _run(case, player, args.jobs)
            _write(args.page, case, text)
            if case.block == PICTURED:
                _draw(args.page.parent / "benchmark.svg", case, rows, best)
    for case in cases.packing(args.data):
        if not args.only or args.only in case.block:
            _write(args.page, case, packing.run(case.make(), player))


def _write(page: Path, case: Case, text: str) -> None:
    print(f"## {case.block}\n\n{text}\n", flush=True)
    if page.exists():
        report.replace(page, case.block, text)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python3 -m benchmark", description=__doc__.splitlines()[0]
    )
    add = parser.add_argument
    add(
        "--data",
        type=Path,
        default=ROOT / "target/benchmark/data",
        help="the folder with the data sets",
    )
    add("--evenkeel", type=Path, default=ROOT / "target/release/evenkeel", help="the binary")
    add(
        "--work",
        type=Path,
        default=ROOT / "target/benchmark/work",
        help="the folder for inputs and results",
    )
    add(
        "--page",
        type=Path,
        default=ROOT / "docs/benchmark.md",
        help="the page whose tables are written",
    )
    add("--jobs", type=int, default=2, help="simulations at a time")
    add("--only", help="only the cases whose name contains this; the rest of the page stays")
    args = parser.parse_args()
    if not args.evenkeel.exists():
        sys.exit(f"{args.evenkeel}: not found; cargo build --release, or --evenkeel FILE")
    return args


def _run(case: Case, player: Player, jobs: int) -> tuple[str, list[Row], Optimum]:
    cluster = case.make()
    path = player.write(cluster)
    kept = (program(), digest(path), case.targets, case.seed)
    with ThreadPoolExecutor(jobs) as pool:
        played = [
            (_row(o), pool.submit(player.play, path, o, case.targets)) for o in case.opponents
        ]
        if case.modelled:
            played += [
                (row, pool.submit(_model, case, cluster, rule, cadence, player.results, kept))
                for row, rule, cadence in _koordinator(case)
            ]
        rows = [row(figures.result()) for row, figures in played]
    solve = lambda: asdict(optimum(World(cluster, case.targets, case.seed)))  # noqa: E731
    best = Optimum.read(player.results.of(("optimum", *kept), solve))
    sizes = f"{len(cluster.nodes):,} nodes, {len(cluster.pods):,} pods"
    about = f"**{case.name}** ({sizes} of {len(cluster.replicas()):,} workloads). "
    text = f"{about}{report.bound(best, case.targets)}\n\n{report.table(rows, best, case.targets)}"
    return text, rows, best


def _row(opponent: Opponent) -> Callable[[Figures], Row]:
    return partial(Row, opponent.line, opponent.setting, opponent.caps_in_words)


def _koordinator(case: Case) -> Iterator[tuple[Callable[[Figures], Row], LowNodeLoad, int]]:
    """The rule of Koordinator in the model, at the cadences that the others play."""
    low = np.array([case.targets.low.get(r, 100) / 100 for r in RESOURCES])
    cadences = sorted({o.cadence for o in case.opponents if not o.dry})
    for line, by_usage in (
        ("Koordinator's rule (model)", False),
        ("Koordinator's rule, placed by usage (model)", True),
    ):
        for cadence in cadences or CADENCES:
            setting = Opponent(line, cadence).setting
            yield (
                partial(Row, line, setting, "2 a node"),
                LowNodeLoad(low, by_usage=by_usage),
                cadence,
            )


def _model(
    case: Case, cluster: Cluster, rule: LowNodeLoad, cadence: int, results: Results, kept: tuple
) -> Figures:
    world = lambda: World(cluster, case.targets, case.seed)  # noqa: E731
    inputs = ("model", *kept, rule.by_usage, cadence)
    return Figures(**results.of(inputs, lambda: asdict(play(world(), rule, cadence))))


def _draw(path: Path, case: Case, rows: list[Row], best: Optimum) -> None:
    lines: dict[str, list[picture.Point]] = {}
    for row in rows:
        if row.figures.evictions:
            label = row.setting.removeprefix("every ")
            lines.setdefault(row.line, []).append(
                picture.Point(row.figures.evictions, row.total(), label)
            )
    picture.write(path, f"A day of the contest, {case.name}", lines, best.fewest)


if __name__ == "__main__":
    main()
