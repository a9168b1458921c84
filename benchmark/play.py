"""Runs a cluster for a day under an opponent, and reads the figures."""

import json
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmark.clusters import Cluster
from benchmark.opponents import Opponent, Targets
from benchmark.results import Results, digest

DURATION = "24h"


@dataclass(frozen=True)
class Figures:
    """The result of a run. Times are in minutes; `None` where a figure does not exist."""

    evictions: int
    minutes: dict[str, float]
    hot_at_end: dict[str, int]
    helped: int | None
    again: int
    relieved: float | None
    foreseen: float | None
    pending: int
    empty: int


@dataclass(frozen=True)
class Player:
    """Plays with one binary."""

    binary: Path
    results: Results

    def write(self, cluster: Cluster) -> Path:
        """The file of a cluster."""
        path = self.results.folder / f"{cluster.name}.json"
        cluster.write(path)
        return path

    def play(self, cluster: Path, opponent: Opponent, targets: Targets) -> Figures:
        """The figures of a day."""
        return self.run(cluster, opponent.policy(targets), exact=opponent.exact)

    def run(self, cluster: Path, policy: str, *, exact: bool) -> Figures:
        """The figures of a day under a policy."""
        inputs = (digest(self.binary), digest(cluster), policy, exact, DURATION)
        simulate = lambda: asdict(self._simulate(cluster, policy, exact))  # noqa: E731
        return Figures(**self.results.of(inputs, simulate))

    def _simulate(self, cluster: Path, policy: str, exact: bool) -> Figures:
        command = [str(self.binary), "simulate", "--from", str(cluster), "--policy", "-"]
        command += ["--duration", DURATION, "-o", "json"]
        run = subprocess.run(
            command + (["--exact"] if exact else []),
            input=policy.encode(),
            check=True,
            capture_output=True,
        )
        return figures(json.loads(run.stdout))


def figures(trace: dict) -> Figures:
    """The figures in the output of `evenkeel simulate -o json`."""
    summary = trace["summary"]
    above = summary["above_target"]
    right, forecast = summary["foreseen"]
    relieved = summary["relieved_after"]
    return Figures(
        evictions=summary["evictions"],
        minutes={name: time["total"] / 60 for name, time in above.items()},
        hot_at_end={name: time["nodes_at_end"] for name, time in above.items()},
        helped=summary["helped"],
        again=summary["moved_again"],
        relieved=None if relieved is None else relieved / 60,
        foreseen=right / forecast if forecast else None,
        pending=summary["pending"],
        empty=summary["empty_nodes"],
    )
