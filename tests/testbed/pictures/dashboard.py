#!/usr/bin/env python3
"""Draws the Grafana dashboard as one HTML page, from the answers of a Prometheus and without Grafana.

    dashboard.py PROMETHEUS PAGE [--seconds 480] [--end SECONDS] [--rows N] [--scrape 5]

The page has the panels of dashboards/evenkeel.json at their places, with their queries, units, colours and
thresholds. Every variable has its default. A panel says so if its queries return nothing. Prints the height of the
page in pixels.
"""

import argparse
import datetime
import html
import json
import math
import pathlib
import re
import urllib.error
import urllib.parse
import urllib.request

from charts import Size, heat_map, state_timeline, time_series
from display import (
    Json,
    Period,
    Points,
    Series,
    blend,
    colour,
    mapped,
    settings_of,
    shown,
    threshold_colour,
)

HERE = pathlib.Path(__file__).parent
DASHBOARD = HERE.parents[2] / "dashboards" / "evenkeel.json"
# Sizes in pixels; a dashboard has 24 columns.
MARGIN, HEADER, LINE = 10, 56, 38
COLUMN = (1600 - 2 * MARGIN) / 24


class Prometheus:
    """Answers the queries of the dashboard, with its variables replaced."""

    def __init__(self, url: str, dashboard: Json, period: Period) -> None:
        self.url, self.period = url.rstrip("/"), period
        listed = dashboard["templating"]["list"]
        self.variables = {v["name"]: v.get("allValue") or v["current"].get("value", "") for v in listed}
        self.variables["__range"] = f"{round(period.end - period.start)}s"
        self.variables["__rate_interval"] = f"{round(4 * period.step)}s"

    def fill(self, text: str) -> str:
        return re.sub(r"\$(\w+)", lambda found: str(self.variables.get(found[1], found[0])), text)

    def ask(self, query: str, instant: bool, step: float) -> list[tuple[dict[str, str], Points]]:
        fields: dict[str, str | float] = {"query": self.fill(query)}
        times = {"time": self.period.end}
        if not instant:
            times = {"start": self.period.start, "end": self.period.end, "step": step}
        path = f"{self.url}/api/v1/query{'' if instant else '_range'}?{urllib.parse.urlencode(fields | times)}"
        try:
            with urllib.request.urlopen(path) as answer:
                found = json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{fields['query']}: {error.code} {error.read().decode()}") from error
        except urllib.error.URLError as error:
            raise SystemExit(f"no answer from {self.url}: {error.reason}") from error
        return [(s["metric"], [(t, float(v)) for t, v in s.get("values") or [s["value"]]]) for s in found]

    def series(self, panel: Json) -> list[Series]:
        longest = (self.period.end - self.period.start) / panel.get("maxDataPoints", math.inf)
        step = max(1, math.ceil(longest / self.period.step)) * self.period.step
        answers = []
        for target in panel["targets"]:
            for labels, points in self.ask(target["expr"], target.get("instant", False), step):
                name = re.sub(r"{{(\w+)}}", lambda found, labels=labels: labels.get(found[1], ""), target["legendFormat"])
                ref = target["refId"]
                answers.append(Series(name, ref, labels, points, settings_of(panel, name, ref), step))
        return answers


def stat(panel: Json, series: list[Series], size: Size, page: "Page") -> str:
    items, area = "", ""
    for each in series:
        last = each.points[-1][1]
        fill = "#808080" if math.isnan(last) else threshold_colour(each.settings, last)
        name = f"<br>{html.escape(each.name.replace('_', ' '))}" if each.name else ""
        items += f'<div><b style="color: {fill}">{shown(last, each.settings)}</b>{name}</div>'
        known = each.known()
        if panel["options"]["graphMode"] == "area" and len(known) > 1:
            per_second = size[0] / (page.period.end - page.period.start)
            high = max(max(value for _, value in known), 1e-9)
            line = [((t - page.period.start) * per_second, 44 - value / high * 40) for t, value in known]
            path = "L".join(f"{x:.1f} {y:.1f}" for x, y in [(line[0][0], 44), *line, (line[-1][0], 44)])
            area = f'<svg class="spark" width="{size[0]:.0f}" height="44"><path d="M{path}Z" fill="{fill}"/></svg>'
    return f'{area}<div class="stats" style="height: {size[1] - 6:.0f}px">{items}</div>'


def table(panel: Json, series: list[Series], size: Size, page: "Page") -> str:
    organize = next(t["options"] for t in panel["transformations"] if t["id"] == "organize")
    rows: dict[tuple[tuple[str, str], ...], Json] = {}
    for each in series:
        row = rows.setdefault(tuple(sorted(each.labels.items())), dict(each.labels))
        row[f"Value #{each.ref}" if len(panel["targets"]) > 1 else "Value"] = each.points[-1][1]
    columns = sorted(organize["indexByName"], key=organize["indexByName"].get)
    columns = [column for column in columns if not organize["excludeByName"].get(column)]
    titles = {column: organize["renameByName"].get(column, column) for column in columns}
    ordered = list(rows.values())
    for order in panel["options"]["sortBy"]:
        by = next(column for column in columns if titles[column] == order["displayName"])
        ordered.sort(key=lambda row: (by in row, row.get(by, 0)), reverse=order["desc"])
    room = int(size[1] // 27) - 1
    kept = ordered if len(ordered) <= room else ordered[: room - 1]
    lines = ["".join(f"<th>{html.escape(titles[column])}</th>" for column in columns)]
    lines += ["".join(cell(row.get(c), settings_of(panel, titles[c])) for c in columns) for row in kept]
    if len(kept) < len(ordered):
        lines.append(f'<td colspan="{len(columns)}">{len(ordered) - len(kept)} more</td>')
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def cell(value: str | float | None, settings: Json) -> str:
    style = settings.get("custom.cellOptions", {}).get("type")
    if not isinstance(value, float):
        fill = mapped(value, settings).get("color") or settings.get("color", {}).get("fixedColor", "text")
        fill = colour(fill) if style == "color-text" else "inherit"
        return f'<td style="color: {fill}">{html.escape(value or shown(None, settings))}</td>'
    bar = ""
    if style == "gauge":
        share = min(max((value - settings["min"]) / (settings["max"] - settings["min"]), 0), 1)
        fill = blend(["#2f6fc4", "#f2cc0c", "#d43f3a"], share)
        bar = f'<u style="width: {160 * share:.0f}px; background: {fill}"></u>'
    return f"<td>{bar}{shown(value, settings)}</td>"


DRAWERS = {
    "timeseries": time_series,
    "heatmap": heat_map,
    "state-timeline": state_timeline,
    "stat": stat,
    "table": table,
}


class Page:
    """The panels at their places, and the times at which pods were evicted."""

    def __init__(self, dashboard: Json, prometheus: Prometheus) -> None:
        self.dashboard, self.prometheus, self.period = dashboard, prometheus, prometheus.period
        [annotation] = dashboard["annotations"]["list"]
        self.annotated: list[int] = annotation["filter"]["ids"]
        step = float(annotation["step"].removesuffix("s"))
        answers = prometheus.ask(annotation["expr"], False, step)
        self.evictions: list[list[float]] = []
        for time in sorted({time for _, points in answers for time, _ in points}):
            if not self.evictions or time - self.evictions[-1][1] > step:
                self.evictions.append([time, time])
            self.evictions[-1][1] = time

    def panel(self, panel: Json) -> str:
        grid, title = panel["gridPos"], html.escape(self.prometheus.fill(panel["title"]))
        place = f"left: {MARGIN + grid['x'] * COLUMN:.0f}px; top: {HEADER + grid['y'] * LINE}px"
        if panel["type"] == "row":
            return f'<h2 style="{place}">{title}</h2>'
        width, height = grid["w"] * COLUMN - 8, grid["h"] * LINE - 8
        series = self.prometheus.series(panel)
        body = DRAWERS[panel["type"]](panel, series, (width - 2, height - 34), self) if series else ""
        if all(each.only_a_base_line() for each in series):
            empty = panel["fieldConfig"]["defaults"].get("noValue", "–").replace("–", "no data")
            body += f'<div class="none">{html.escape(empty)}</div>'
        style = f"{place}; width: {width:.0f}px; height: {height}px"
        return f'<section style="{style}"><h3>{title}</h3>{body}</section>'

    def html(self, rows: int | None) -> tuple[str, int]:
        """Returns the page and its height in pixels, with all rows of the dashboard or the first ones."""
        panels = self.dashboard["panels"]
        ends = [panel["gridPos"]["y"] for panel in panels if panel["type"] == "row"]
        ends.append(max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels))
        end = ends[-1 if rows is None else rows]
        body = "".join(self.panel(panel) for panel in panels if panel["gridPos"]["y"] < end)
        zone = datetime.UTC
        times = [datetime.datetime.fromtimestamp(t, zone) for t in (self.period.start, self.period.end)]
        span = f"{times[0]:%Y-%m-%d %H:%M:%S} to {times[1]:%H:%M:%S} UTC"
        header = f"<header><b>{html.escape(self.dashboard['title'])}</b>{span}</header>"
        height = HEADER + end * LINE + 4
        style = (HERE / "page.css").read_text()
        head = f'<!doctype html><meta charset="utf-8"><style>{style}</style>'
        return f'{head}<main style="height: {height}px">{header}{body}</main>', height


def main() -> None:
    parser = argparse.ArgumentParser(description="Draws the Grafana dashboard as one HTML page, without Grafana.")
    parser.add_argument("prometheus", help="URL of Prometheus")
    parser.add_argument("page", type=pathlib.Path, help="HTML file to write")
    parser.add_argument("--seconds", type=float, default=480, help="length of the period [default: 480]")
    parser.add_argument("--end", type=float, help="end of the period, in Unix seconds [default: now]")
    parser.add_argument("--rows", type=int, help="draw only this many rows of the dashboard [default: all]")
    parser.add_argument("--scrape", type=float, default=5, help="scrape interval in seconds [default: 5]")
    options = parser.parse_args()
    dashboard = json.loads(DASHBOARD.read_text())
    end = (options.end or datetime.datetime.now().timestamp()) // options.scrape * options.scrape
    period = Period(end - options.seconds, end, options.scrape)
    page, height = Page(dashboard, Prometheus(options.prometheus, dashboard, period)).html(options.rows)
    options.page.write_text(page)
    print(height)


main()
