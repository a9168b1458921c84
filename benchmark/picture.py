"""The picture: evictions against node-minutes above target, a line for each opponent."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 900, 520
LEFT, RIGHT, TOP, BOTTOM = 70, 300, 60, 60
COLOURS = ("#0b6e4f", "#1f9d73", "#b3261e", "#e07a5f", "#8c564b", "#7b5ea7", "#b39ddb", "#444444")


@dataclass(frozen=True)
class Point:
    """One setting of an opponent."""

    evictions: int
    minutes: float
    label: str


def write(path: Path, title: str, lines: Mapping[str, Sequence[Point]], bound: int) -> None:
    """Writes an SVG with logarithmic axes. Equal figures give an equal file."""
    points = [p for line in lines.values() for p in line]
    xs = _ticks([p.evictions for p in points] + [bound])
    ys = _ticks([p.minutes for p in points])
    plot = _Plot((xs[0], xs[-1]), (ys[0], ys[-1]))
    parts = [_text(LEFT, 22, title, size=15), *plot.grid(xs, ys)]
    at = plot.x(bound)
    parts.append(_line(at, TOP, at, HEIGHT - BOTTOM, "#888"))
    parts.append(_text(at + 4, TOP + 12, f"fewest possible: {bound}", size=11))
    radii = _radii(lines)
    for i, (name, line) in enumerate(lines.items()):
        parts += plot.line(line, radii, COLOURS[i % len(COLOURS)])
        parts += _legend(i, name, 4, COLOURS[i % len(COLOURS)])
    for i, (label, radius) in enumerate(radii.items(), len(lines) + 1):
        parts += _legend(i, f"a cycle every {label}", radius, "#888")
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    back = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>'
    path.write_text("\n".join([head, back, *parts, "</svg>"]) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class _Plot:
    across: tuple[float, float]
    up: tuple[float, float]

    def x(self, value: float) -> float:
        return round(LEFT + _share(value, self.across) * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        return round(HEIGHT - BOTTOM - _share(value, self.up) * (HEIGHT - TOP - BOTTOM), 1)

    def grid(self, xs: list[float], ys: list[float]) -> list[str]:
        parts = []
        for value in xs:
            at = self.x(value)
            parts.append(_line(at, TOP, at, HEIGHT - BOTTOM))
            parts.append(_text(at, HEIGHT - BOTTOM + 18, _number(value), anchor="middle"))
        for value in ys:
            at = self.y(value)
            parts.append(_line(LEFT, at, WIDTH - RIGHT, at))
            parts.append(_text(LEFT - 6, at + 4, _number(value), anchor="end"))
        parts.append(
            _text((WIDTH - RIGHT + LEFT) / 2, HEIGHT - 18, "evictions in a day", anchor="middle")
        )
        parts.append(_text(LEFT - 50, TOP - 10, "node-minutes above target, cpu and memory"))
        return parts

    def line(self, line: Sequence[Point], radii: dict[str, int], colour: str) -> list[str]:
        at = [(self.x(p.evictions), self.y(p.minutes)) for p in line]
        path = " ".join(f"{x},{y}" for x, y in at)
        parts = [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>']
        for (x, y), point in zip(at, line, strict=True):
            parts.append(_circle(x, y, radii[point.label], colour))
        return parts


def _radii(lines: Mapping[str, Sequence[Point]]) -> dict[str, int]:
    """A size of circle for each setting, so that no text is near the points."""
    labels = dict.fromkeys(point.label for line in lines.values() for point in line)
    return {label: 3 + 2 * i for i, label in enumerate(labels)}


def _share(value: float, span: tuple[float, float]) -> float:
    low, high = (math.log10(v) for v in span)
    return (math.log10(max(value, span[0])) - low) / (high - low)


def _ticks(values: Sequence[float]) -> list[float]:
    """One, two and five times the powers of ten around the values."""
    low, high = max(1, min(values)), max(1, max(values))
    steps = [m * 10**e for e in range(9) for m in (1, 2, 5)]
    first = max(i for i, s in enumerate(steps) if s <= low)
    last = min(i for i, s in enumerate(steps) if s >= high)
    return steps[first : max(last, first + 1) + 1]


def _number(value: float) -> str:
    return f"{value:,.0f}"


def _line(x1: float, y1: float, x2: float, y2: float, colour: str = "#ddd") -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}"/>'


def _text(x: float, y: float, text: str, *, size: int = 12, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}">{escape(text)}</text>'


def _circle(x: float, y: float, radius: int, colour: str) -> str:
    return f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{colour}"/>'


def _legend(position: int, name: str, radius: int, colour: str) -> list[str]:
    x, y = WIDTH - RIGHT + 20, TOP + 10 + 22 * position
    return [_circle(x, y, radius, colour), _text(x + 12, y + 4, name)]
