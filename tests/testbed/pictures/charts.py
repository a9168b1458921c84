"""Panels in which x is time, as SVG."""

import datetime
import html
import math
from collections.abc import Callable
from typing import Any

from display import (
    BLUE_TO_RED,
    PALETTE,
    Json,
    Period,
    Points,
    Series,
    blend,
    colour,
    mapped,
    natural,
    shown,
)

GRID = "#eceef1"
# The width of a letter of the labels, in pixels.
LETTER = 6.2
Size = tuple[float, float]


class Chart:
    """An image with a grid line for each time that has a label."""

    def __init__(self, period: Period, size: Size, left: float, right: float = 14) -> None:
        self.period, (self.width, self.height) = period, size
        self.left, self.right, self.bottom = left, self.width - right, self.height - 22
        self.parts: list[str] = []
        steps = (30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400)
        span = period.end - period.start
        step = next((s for s in steps if span / s * 75 < self.right - left), steps[-1])
        for time in range(math.ceil(period.start / step) * step, int(period.end) + 1, step):
            label = datetime.datetime.fromtimestamp(time, datetime.UTC).strftime("%H:%M:%S")
            self.path(f"M{self.x(time):.1f} 4V{self.bottom}", GRID)
            # A label at the edge would be cut.
            x = min(max(self.x(time), LETTER * 4.5), self.width - LETTER * 4.5)
            self.text(x, self.height - 6, label, "middle")

    def x(self, time: float) -> float:
        share = (time - self.period.start) / (self.period.end - self.period.start)
        return self.left + share * (self.right - self.left)

    def path(self, path: str, stroke: str, width: float = 1, dash: str = "") -> None:
        self.parts.append(f'<path d="{path}" stroke="{stroke}" stroke-width="{width}" stroke-dasharray="{dash}"/>')

    def text(self, x: float, y: float, text: str, anchor: str = "start", style: str = "") -> None:
        place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" style="{style}"'
        self.parts.append(f"<text {place}>{html.escape(text)}</text>")

    def rect(self, x: float, y: float, width: float, height: float, fill: str, opacity: float = 1) -> None:
        box = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}"'
        self.parts.append(f'<rect {box} fill="{fill}" fill-opacity="{opacity}"/>')

    def svg(self) -> str:
        size = f'width="{self.width:.0f}" height="{self.height:.0f}"'
        return f'<svg {size} fill="none">{"".join(self.parts)}</svg>'


def legend(entries: list[tuple[str, str, bool]], size: Size) -> tuple[str, int]:
    """Returns a legend of names, colours and dashes in at most half of a panel, with its height."""
    items, lines, used = "", 1, 0.0
    for place, (name, stroke, dashed) in enumerate(entries):
        needed = 37 + LETTER * len(name)
        if used + needed > size[0] - 100 and 19 * (lines + 1) > size[1] / 2:
            items += f"<span>{len(entries) - place} more</span>"
            break
        lines, used = (lines + 1, needed) if used + needed > size[0] - 20 else (lines, used + needed)
        border = f"border-top: 3px {'dotted' if dashed else 'solid'} {stroke}"
        items += f'<span><i style="{border}"></i>{html.escape(name)}</span>'
    return f'<div class="legend">{items}</div>', 19 * lines + 6


class Axis:
    """The values of the series on one side of a chart, from the lowest to the highest."""

    def __init__(self, series: list[Series]) -> None:
        self.settings = series[0].settings
        values = [value for each in series for _, value in each.known()] or [0.0]
        low = min([*values, *(s.settings["min"] for s in series if "min" in s.settings)])
        high = max([*values, *(s.settings.get("custom.axisSoftMax", low) for s in series)])
        high = high if high > low else low + 1
        size = 10 ** math.floor(math.log10((high - low) / 4))
        step = next(size * m for m in (1, 2, 2.5, 5, 10) if size * m >= (high - low) / 5)
        if self.settings.get("decimals") == 0:
            step = max(1, math.ceil(step))
        self.low, self.high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
        self.values = [self.low + i * step for i in range(round((self.high - self.low) / step) + 1)]
        self.labels = [shown(value, self.settings) for value in self.values]
        self.width = 14 + LETTER * max(len(label) for label in self.labels)

    def scale(self, chart: Chart) -> Callable[[float], float]:
        return lambda value: chart.bottom - (value - self.low) / (self.high - self.low) * (chart.bottom - 8)


def stack(series: list[Series]) -> list[dict[float, float] | None]:
    """Raises stacked series and returns, for each series, the values on which it stands, by time."""
    below: list[dict[float, float] | None] = []
    heights: dict[tuple[str, float], float] = {}
    for each in series:
        stacking = each.settings.get("custom.stacking", {})
        if stacking.get("mode") != "normal":
            below.append(None)
            continue
        below.append(floor := {time: heights.get((stacking["group"], time), 0.0) for time, _ in each.points})
        each.points = [(time, value + floor[time]) for time, value in each.points]
        heights |= {(stacking["group"], time): value for time, value in each.points}
    return below


def time_series(panel: Json, series: list[Series], size: Size, page: Any) -> str:
    strokes, free = [], 0
    for each in series:
        fixed = each.settings.get("color", {}).get("fixedColor")
        strokes.append(colour(fixed) if fixed else PALETTE[free % len(PALETTE)])
        free += not fixed
    named = [
        (s.name, stroke, "custom.lineStyle" in s.settings)
        for s, stroke in zip(series, strokes)
        if not s.settings.get("custom.hideFrom", {}).get("legend")
    ]
    text, used = legend(named, size)
    below = stack(series)
    on_right = [each.settings.get("custom.axisPlacement") == "right" for each in series]
    axes = {side: Axis(on) for side in (False, True) if (on := [s for s, r in zip(series, on_right) if r == side])}
    left, right = (axes[side].width if side in axes else 14 for side in (False, True))
    chart = Chart(page.period, (size[0], size[1] - used), left, right)
    for side, axis in axes.items():
        for value, label in zip(axis.values, axis.labels):
            y = axis.scale(chart)(value)
            chart.path(f"M{chart.left:.1f} {y:.1f}H{chart.right:.1f}", GRID)
            chart.text(chart.right + 6 if side else chart.left - 6, y + 4, label, "start" if side else "end")
    for start, end in page.evictions if panel["id"] in page.annotated else []:
        wide = max(chart.x(end) - chart.x(start), 3)
        chart.rect(chart.x(start), 4, wide, chart.bottom - 4, colour("purple"), 0.09)
        chart.rect(chart.x(start), chart.bottom, wide, 3, colour("purple"), 0.8)
    for each, stroke, floor, side in zip(series, strokes, below, on_right):
        draw(chart, each, stroke, axes[side].scale(chart), floor)
    return chart.svg() + text


def draw(
    chart: Chart, series: Series, stroke: str, y: Callable[[float], float], floor: dict[float, float] | None
) -> None:
    """Draws a series as bars, or as lines and dots with gaps where it has no points."""
    get = series.settings.get
    opacity = get("custom.fillOpacity", 0) / 100
    base = {time: y(floor[time]) if floor is not None else chart.bottom for time, _ in series.points}
    if get("custom.drawStyle") == "bars":
        wide = (chart.x(series.step) - chart.x(0)) * 0.8
        for time, value in series.known():
            chart.rect(chart.x(time) - wide / 2, y(value), wide, base[time] - y(value), stroke, opacity)
        return
    runs: list[Points] = []
    for time, value in series.known():
        if not runs or time - runs[-1][-1][0] > 1.5 * series.step:
            runs.append([])
        runs[-1].append((time, value))
    dash = " ".join(str(each / 1.5) for each in get("custom.lineStyle", {}).get("dash", []))
    for run in runs:
        top = [(chart.x(time), y(value)) for time, value in run]
        under = [(chart.x(time), base[time]) for time, _ in run]
        if get("custom.lineInterpolation") == "stepAfter" or len(run) == 1:
            top, under = steps(top), steps(under)
        if opacity:
            area = f"M{joined(top)}L{joined(under[::-1])}Z"
            chart.parts.append(f'<path d="{area}" fill="{stroke}" fill-opacity="{opacity}"/>')
        if get("custom.lineWidth"):
            chart.path("M" + joined(top), stroke, get("custom.lineWidth"), dash)
        if get("custom.showPoints") == "always":
            chart.parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.3" fill="{stroke}"/>' for x, y in top]


def joined(corners: Points) -> str:
    return "L".join(f"{x:.1f} {y:.1f}" for x, y in corners)


def steps(corners: Points) -> Points:
    """Returns a line that keeps each height until the next corner, and two pixels after the last one."""
    nexts = [x for x, _ in corners[1:]] + [corners[-1][0] + 2]
    return [corner for (x, y), after in zip(corners, nexts) for corner in ((x, y), (after, y))]


def heat_map(panel: Json, series: list[Series], size: Size, page: Any) -> str:
    chart = Chart(page.period, (size[0], size[1] - 26), 20 + LETTER * max(len(s.name) for s in series))
    tall, limits = (chart.bottom - 4) / len(series), panel["options"]["color"]
    down = panel["options"]["yAxis"]["reverse"]
    for row, each in enumerate(sorted(series, key=natural, reverse=not down)):
        chart.text(chart.left - 8, 8 + (row + 0.5) * tall, each.name, "end")
        for time, value in each.known():
            share = (value - limits["min"]) / (limits["max"] - limits["min"])
            left = max(chart.x(time - each.step), chart.left)
            chart.rect(left, 4 + row * tall, chart.x(time) - left - 0.6, tall - 1, blend(BLUE_TO_RED, share))
    unit = {"unit": panel["options"]["cellValues"]["unit"]}
    bar = f'<u style="background: linear-gradient(to right, {", ".join(BLUE_TO_RED)})"></u>'
    return chart.svg() + f'<div class="legend">{shown(limits["min"], unit)}{bar}{shown(limits["max"], unit)}</div>'


def state_timeline(panel: Json, series: list[Series], size: Size, page: Any) -> str:
    options = panel["options"]
    states = [mapped(f"{value:g}", each.settings) for each in series for _, value in each.known()]
    fills = {state["text"]: colour(state["color"]) for state in states if state}
    named = [(name, fill, False) for name, fill in fills.items()]
    text, used = legend(named, size) if options["legend"]["showLegend"] else ("", 0)
    left = min(20 + LETTER * max(len(s.name) for s in series), size[0] * 0.6)
    chart = Chart(page.period, (size[0], size[1] - used), left)
    tall = min((chart.bottom - 4) / len(series), 48)
    for row, each in enumerate(sorted(series, key=natural)):
        chart.text(left - 8, 8 + (row + 0.45) * tall, each.name, "end")
        runs: list[list[float]] = []
        for time, value in each.known():
            if runs and runs[-1][2] == value and time - runs[-1][1] <= 0.5 * each.step:
                runs[-1][1] = time + each.step
            else:
                runs.append([time, time + each.step, value])
        for start, end, value in runs:
            state = mapped(f"{value:g}", each.settings) or {"text": f"{value:g}", "color": "#808080"}
            x, wide = chart.x(start), min(chart.x(end), chart.right) - chart.x(start)
            chart.rect(x, 4 + row * tall, wide - 1, tall * options["rowHeight"], colour(state["color"]), 0.8)
            if options["showValue"] != "never" and wide > 12 + LETTER * len(state["text"]):
                style = "" if state["color"] == "panel-bg" else "fill: #fff"
                chart.text(x + 6, 8 + (row + 0.45) * tall, state["text"], style=style)
    return chart.svg() + text
