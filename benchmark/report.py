"""The tables of docs/benchmark.md."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark.joint import IMPOSSIBLE, PROVEN, SECONDS
from benchmark.opponents import Targets
from benchmark.optimum import Optimum
from benchmark.play import Figures

DASH = "–"


@dataclass(frozen=True)
class Row:
    """The figures of an opponent at one setting."""

    line: str
    setting: str
    caps: str
    figures: Figures

    def total(self) -> float:
        """Node-minutes above all targets."""
        return sum(self.figures.minutes.values())


def table(rows: Sequence[Row], best: Optimum, targets: Targets) -> str:
    """The table of one cluster."""
    resources = list(targets.high)
    head = ["way", "every", "caps", "evictions", "÷ fewest"]
    head += [f"{r} node-minutes above {targets.high[r]} %" for r in resources]
    head += ["hot at the end", "helped", "moved again", "90 % relieved after", "landed as foreseen"]
    body = [_cells(row, best, resources) for row in rows]
    return _markdown(head, body)


def _cells(row: Row, best: Optimum, resources: list[str]) -> list[str]:
    figures = row.figures
    price = figures.evictions / best.fewest if best.fewest and figures.evictions else None
    hot = [f"{figures.hot_at_end.get(r, 0)}" for r in resources]
    return [
        row.line,
        row.setting,
        row.caps,
        f"{figures.evictions:,}",
        DASH if price is None else f"{price:.2f}",
        *(f"{figures.minutes.get(r, 0):,.0f}" for r in resources),
        " + ".join(hot),
        f"{figures.helped:,}" if row.line.startswith("evenkeel") else DASH,
        f"{figures.again:,}",
        "not" if figures.relieved is None else f"{figures.relieved:.0f} min",
        DASH if figures.foreseen is None else f"{100 * figures.foreseen:.0f} %",
    ]


def bound(best: Optimum, targets: Targets) -> str:
    """The optimum of a cluster in a sentence."""
    left = ", ".join(f"{best.unavoidable[r]:,.0f} {r}" for r in targets.high)
    return (
        "Fewest evictions that keep every node below its targets all day: "
        f"**{best.fewest:,}**; {_proof(best)}. Node-minutes that no eviction can avoid: {left}."
    )


def _proof(best: Optimum) -> str:
    if not best.unplaced:
        return "a place for each keeps every node below its targets, which proves the optimum"
    if best.joint is None:
        return f"a lower bound, because the search found no place for {best.unplaced} of them"
    if best.joint.outcome == PROVEN:
        return "the joint program proves the optimum"
    if best.joint.outcome == IMPOSSIBLE:
        return "a lower bound: the joint program proves that no placement keeps all nodes below"
    return f"a lower bound, because the joint program found no place for all in {SECONDS} s"


def _markdown(head: list[str], body: Iterable[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cells) + " |" for cells in body]
    return "\n".join(lines)


def replace(page: Path, block: str, content: str) -> None:
    """Replaces the text between `<!-- begin BLOCK -->` and `<!-- end BLOCK -->`."""
    text = page.read_text(encoding="utf-8")
    begin, end = (re.escape(f"<!-- {word} {block} -->") for word in ("begin", "end"))
    before = re.search(rf"(?<={begin}\n).*?(?={end})", text, re.DOTALL)
    if not before:
        raise ValueError(f"{page}: no block {block}")
    text = f"{text[: before.start()]}\n{content}\n\n{text[before.end() :]}"
    page.write_text(text, encoding="utf-8")
