"""Compares the relief that moves achieved with what was predicted of them.

    evenkeel simulate … -o json > run.json
    python3 -m benchmark.relief run.json …

prints a row for each file. Cycles of which less than a node-minute was predicted are in the sums
only.
"""

import json
import sys
from pathlib import Path

CLOSE = 0.2
TOGETHER = 20


def is_close(cycles: list[dict]) -> bool:
    """Whether the relief of these cycles together is within 20 % of the predicted one."""
    predicted = sum(cycle["predicted"] for cycle in cycles)
    achieved = sum(cycle["achieved"] for cycle in cycles)
    return abs(achieved / predicted - 1) <= CLOSE


def share(groups: list[list[dict]]) -> str:
    """The share of the groups that are close."""
    if not groups:
        return ""
    return f"{sum(map(is_close, groups)) / len(groups):.0%}".replace("%", " %")


def row(name: str, cycles: list[dict]) -> list[str]:
    """The figures of one run."""
    compared = [cycle for cycle in cycles if cycle["predicted"] >= 1]
    groups = range(0, len(compared) - TOGETHER + 1, TOGETHER)
    sums = [sum(cycle[part] for cycle in cycles) for part in ("predicted", "achieved")]
    return [
        name,
        str(len(compared)),
        *(f"{value:,.0f}" for value in sums),
        f"{sums[1] / max(sums[0], 1):.2f}",
        share([[cycle] for cycle in compared]),
        share([compared[first : first + TOGETHER] for first in groups]),
    ]


def main() -> None:
    """Prints the table."""
    print("| run | cycles | predicted | achieved | ratio | within 20 % | 20 cycles within 20 % |")
    print("|---|---|---|---|---|---|---|")
    for path in map(Path, sys.argv[1:]):
        cycles = json.loads(path.read_text(encoding="utf-8"))["reliefs"]
        print("|", " | ".join(row(path.stem, cycles)), "|")


if __name__ == "__main__":
    main()
