"""Says where the evictions beyond the fewest come from, for a cut of the contest.

    evenkeel simulate --from cut.json … -o json > run.json
    python3 -m benchmark.gap --data FOLDER 300 A run.json …

prints a row for each run: the fewest evictions, and those that were made from nodes that need
some, as fewer and more than the fewest of each such node; then those from nodes that need none
and became hot because replacements landed there.
"""

import argparse
import json
from collections import Counter
from pathlib import Path

from benchmark import cases, contest
from benchmark.model import World
from benchmark.optimum import fewest_of_nodes


def row(name: str, fewest: dict[str, int], evictions: list[dict]) -> list[str]:
    """The figures of one run."""
    made = Counter(eviction["from"] for eviction in evictions)
    over = [made[node] - few for node, few in fewest.items() if few]
    by_landings = sum(made[node] for node, few in fewest.items() if not few)
    figures = [
        sum(fewest.values()),
        -sum(more for more in over if more < 0),
        sum(more for more in over if more > 0),
        by_landings,
        len(evictions),
    ]
    return [name, *map(str, figures)]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="python3 -m benchmark.gap")
    parser.add_argument("--data", type=Path, required=True, help="folder with the public data")
    parser.add_argument("nodes", type=int, help="nodes of the cut")
    parser.add_argument("cut", help="letter of the cut")
    parser.add_argument("runs", type=Path, nargs="+", help="output of evenkeel simulate")
    args = parser.parse_args()
    cluster = contest.cut(contest.read(args.data), args.nodes, args.cut, off=True)
    needs = fewest_of_nodes(World(cluster, cases.BOTH, args.cut))
    names = (node.name for node in cluster.nodes)
    fewest = {name: len(pods) for name, (pods, _) in zip(names, needs, strict=True)}
    print("| run | fewest | less | more | from nodes that replacements made hot | made |")
    print("|---|---|---|---|---|---|")
    for path in args.runs:
        evictions = json.loads(path.read_text(encoding="utf-8"))["evictions"]
        print("|", " | ".join(row(path.stem, fewest, evictions)), "|")


if __name__ == "__main__":
    main()
