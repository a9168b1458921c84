"""RemoveDuplicates and HighNodeUtilization on the requests of a GPU cluster."""

from benchmark.clusters import Cluster
from benchmark.openb import GPU
from benchmark.play import Player

HEAD = """\
apiVersion: evenkeel/v1alpha1
kind: Policy
interval: 300s
basis: requests
strategies:
"""
DUPLICATES = HEAD + "- removeDuplicates\n"
PACKING = HEAD + f"- highNodeUtilization: {{thresholds: {{cpu: 30%, memory: 30%, {GPU}: 50%}}}}\n"
STEERED = PACKING.replace("strategies:", "steering: {taintEmptying: true}\nstrategies:")


def run(cluster: Cluster, player: Player) -> str:
    """The table of a cluster."""
    path = player.write(cluster)
    ways = [
        ("RemoveDuplicates, evenkeel", DUPLICATES, False),
        ("RemoveDuplicates, descheduler", DUPLICATES, True),
        ("HighNodeUtilization, evenkeel", PACKING, False),
        ("HighNodeUtilization, evenkeel with steering", STEERED, False),
        ("HighNodeUtilization, descheduler", PACKING, True),
    ]
    rows = []
    for way, policy, exact in ways:
        found = player.run(path, policy, exact=exact)
        rows.append(
            f"| {way} | {found.evictions:,} | {found.again:,} | {found.empty} | {found.pending} |"
        )
    used = len({pod.node for pod in cluster.pods})
    count = len(cluster.nodes)
    about = (
        f"**{count} nodes**, {len(cluster.pods):,} pods, {count - used} empty nodes at the start."
    )
    head = "| way | evictions | moved again | empty nodes at the end | without a node |"
    return "\n".join([about, "", head, "|---|---|---|---|---|", *rows])
