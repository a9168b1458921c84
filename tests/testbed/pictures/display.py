"""How a panel of the dashboard shows its values: settings, units, colours."""

import math
import re
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
Points = list[tuple[float, float]]

PALETTE = [
    "#4c78a8", "#f0a030", "#54a24b", "#d9534f", "#72b7b2", "#b279a2", "#9d755d", "#e45798", "#8a8f98", "#b5a300",
]
NAMED_COLOURS = {
    "green": "#2e9e4f", "red": "#d43f3a", "orange": "#e8820c", "yellow": "#c79a00", "blue": "#2f6fc4",
    "purple": "#8e4ec6", "text": "#24292e", "panel-bg": "#f1f2f4", "dark-red": "#8f1d19", "light-blue": "#8ab8ee",
    "light-green": "#8fd3a0", "semi-dark-green": "#1f7a3a",
}
BLUE_TO_RED = ["#313695", "#74add1", "#e0f3f8", "#ffffbf", "#fdae61", "#f46d43", "#a50026"]


@dataclass
class Period:
    """The seconds that the page shows, and the seconds from one point to the next."""

    start: float
    end: float
    step: float


@dataclass
class Series:
    """One answer to a query of a panel, with the display settings that apply to it."""

    name: str
    ref: str
    labels: dict[str, str]
    points: Points
    settings: Json
    step: float

    def known(self) -> Points:
        return [(time, value) for time, value in self.points if not math.isnan(value)]

    def only_a_base_line(self) -> bool:
        """Returns whether the series only shows that evenkeel was running."""
        return bool(self.settings.get("custom.hideFrom", {}).get("legend")) and not any(v for _, v in self.known())


def settings_of(panel: Json, name: str, ref: str = "") -> Json:
    """Returns the defaults of a panel with the overrides for one series or column."""
    settings = dict(panel["fieldConfig"]["defaults"])
    settings |= {f"custom.{key}": value for key, value in settings.pop("custom", {}).items()}
    for override in panel["fieldConfig"]["overrides"]:
        kind, wanted = override["matcher"]["id"], override["matcher"]["options"]
        applies = {"byName": name == wanted, "byFrameRefID": ref == wanted}.get(kind)
        if applies or (kind == "byRegexp" and re.search(wanted.strip("/"), name)):
            settings |= {each["id"]: each["value"] for each in override["properties"]}
    return settings


def colour(name: str) -> str:
    return NAMED_COLOURS.get(name, name)


def blend(colours: list[str], share: float) -> str:
    """Returns the colour at a share, from 0 to 1, of the way through a list of colours."""
    place = min(max(share, 0.0), 1.0) * (len(colours) - 1)
    low = min(int(place), len(colours) - 2)
    channels = [[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in colours[low : low + 2]]
    return "#" + "".join(f"{round(a + (b - a) * (place - low)):02x}" for a, b in zip(*channels))


def threshold_colour(settings: Json, value: float) -> str:
    steps = settings["thresholds"]["steps"]
    return colour([s["color"] for s in steps if s["value"] is None or value >= s["value"]][-1])


def shown(value: float | None, settings: Json) -> str:
    """Returns a value in the unit of its panel, or the text for no value if it is not a number."""
    if value is None or math.isnan(value):
        return str(settings.get("noValue", "–"))
    unit, decimals = settings.get("unit", "short"), settings.get("decimals")
    scale, suffix = {"percentunit": (100.0, "%"), "s": (1.0, " s"), "reqps": (1.0, " req/s")}.get(unit, (1.0, ""))
    if unit == "bytes":
        power = min(int(math.log(max(abs(value), 1), 1024)), 4)
        scale, suffix = 1 / 1024**power, " " + ["B", "KiB", "MiB", "GiB", "TiB"][power]
    if unit == "s" and 0 < abs(value) < 1:
        scale, suffix = 1000.0, " ms"
    value *= scale
    if decimals is not None:
        return f"{value:.{decimals}f}{suffix}"
    return (f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}") + suffix


def mapped(value: Any, settings: Json) -> Json:
    """Returns the text and colour that the mappings of a panel give to a value."""
    for mapping in settings.get("mappings", []):
        if mapping["type"] == "value" and str(value) in mapping["options"]:
            return dict(mapping["options"][str(value)])
    return {}


def natural(series: Series) -> list[tuple[int, str]]:
    """Returns a sort key that puts n10 after n9."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", series.name)]
