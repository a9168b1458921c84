"""The programs and their settings, each a policy that `evenkeel simulate` plays."""

from collections.abc import Iterator
from dataclasses import dataclass

CADENCES = (60, 120, 300)
"""Seconds between cycles. The chart of descheduler has 120 (CronJob) and 300 (Deployment)."""
CAREFUL = ("20 or 1%", 5)
"""Evictions in a cycle, and from one node in a cycle: the defaults of evenkeel."""


@dataclass(frozen=True)
class Targets:
    """A node is underused below all of `low` and hot above one of `high`, in percent."""

    low: dict[str, int]
    high: dict[str, int]


@dataclass(frozen=True)
class Opponent:
    """A program with one setting. Those of one `line` are a line of the picture."""

    line: str
    cadence: int
    caps: tuple[str, int] | None = CAREFUL
    exact: bool = False
    steered: bool = False
    dry: bool = False
    source: str = "metricsApi"
    poll: int | None = None
    """Seconds between polls of usage, if not those of the default policy."""
    replicas: int = 2
    """The fewest replicas of a workload whose pods may leave."""

    @property
    def setting(self) -> str:
        """The setting in words."""
        short = self.cadence < 120
        every = f"every {self.cadence} s" if short else f"every {self.cadence // 60} min"
        return f"{every}, polled every {self.poll} s" if self.poll else every

    @property
    def caps_in_words(self) -> str:
        """The caps in words."""
        if self.caps is None:
            return "none"
        cycle, node = self.caps
        return f"{cycle.replace('%', ' %')} a cycle, {node} a node"

    def policy(self, targets: Targets) -> str:
        """The policy file."""
        lines = [
            "apiVersion: evenkeel/v1alpha1",
            "kind: Policy",
            f"interval: {self.cadence}s",
            f"evictable: {{minReplicas: {self.replicas}}}",
            self._limits(),
        ]
        if self.dry:
            lines.append("dryRun: true")
        if self.steered:
            lines.append("steering: {taintHot: true}")
        usage = [f"poll: {self.poll}s"] if self.poll else []
        if self.source == "prometheus":
            usage.append("source: prometheus, prometheus: {url: 'http://prometheus:9090'}")
        if usage:
            lines.append(f"usage: {{{', '.join(usage)}}}")
        low, high = (_flow(t) for t in (targets.low, targets.high))
        lines.append("strategies:")
        lines.append(f"- lowNodeUtilization: {{thresholds: {low}, targetThresholds: {high}}}")
        return "\n".join(lines) + "\n"

    def _limits(self) -> str:
        cycle, node = self.caps or ("none", "none")
        # With Prometheus descheduler knows no usage of pods and moves one pod of a node in a cycle.
        node = 1 if self.source == "prometheus" else node
        return f"limits: {{perCycle: {cycle}, perNode: {node}}}"


def _flow(thresholds: dict[str, int]) -> str:
    return "{" + ", ".join(f"{name}: {value}%" for name, value in thresholds.items()) + "}"


def nothing() -> Opponent:
    """Evicts nothing."""
    return Opponent("nothing", 60, None, dry=True)


def all_opponents() -> Iterator[Opponent]:
    """Every program at every setting, with equal protections; then descheduler with its own."""
    yield nothing()
    for line, steered in (("evenkeel, stock scheduler", False), ("evenkeel with steering", True)):
        for cadence in CADENCES:
            yield Opponent(line, cadence, steered=steered)
    for line, caps in (("descheduler, no caps", None), ("descheduler, careful caps", CAREFUL)):
        for cadence in CADENCES:
            yield Opponent(line, cadence, caps, exact=True)
    for cadence in CADENCES:
        yield Opponent("descheduler, its own protections", cadence, None, exact=True, replicas=1)


def from_prometheus() -> Iterator[Opponent]:
    """Descheduler with the present value of Prometheus, which knows one resource."""
    for cadence in CADENCES:
        yield Opponent("descheduler, Prometheus", cadence, None, exact=True, source="prometheus")
