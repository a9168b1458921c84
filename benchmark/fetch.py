"""Fetches the public data that may be fetched without an account."""

import urllib.request
from pathlib import Path

CLUSTERDATA = "https://raw.githubusercontent.com/alibaba/clusterdata/master"
OPENB = f"{CLUSTERDATA}/cluster-trace-gpu-v2023/csv"
GENTD26 = f"{CLUSTERDATA}/cluster-trace-v2026-GenAI"
ADDRESSES = {
    "openb/openb_node_list_all_node.csv": f"{OPENB}/openb_node_list_all_node.csv",
    "openb/openb_pod_list_default.csv": f"{OPENB}/openb_pod_list_default.csv",
    "gentd26/pod_memory_util_anon.tar.gz": f"{GENTD26}/pod_memory_util_anon.tar.gz",
}
SECONDS = 60
"""The most time for one file."""


def missing(folder: Path) -> None:
    """Fetches each file that the folder lacks. Without a network the data set is left out."""
    for name, address in ADDRESSES.items():
        target = folder / name
        if target.exists():
            continue
        try:
            with urllib.request.urlopen(address, timeout=SECONDS) as answer:
                content = answer.read()
        except OSError as error:
            print(f"{name}: not fetched: {error}")
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
