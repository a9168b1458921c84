#!/usr/bin/env python3
"""source_figures.py [REVISION...]: measures the source code of some revisions, one column each.

Without a revision, it measures the files of the working tree. Lines are all lines, with comments
and tests. A function is as long as its body in the formatted code, with its signature.

source_figures.py --builds also measures a clean debug build of the working tree, and the builds
after a change in a page, in a strategy and in the watch, in seconds.
"""

import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATES = ["core/src", "src"]
SMALL = 60
FUNCTION = re.compile(r"^(\s*)(?:pub(?:\([^)]*\))? )?(?:const )?(?:async )?(?:unsafe )?fn \w+")
TESTS = re.compile(r"^#\[cfg\(test\)\]$", re.MULTILINE)
EXACT = re.compile(r"^\s*(?:\} else )?if\b[^{\n]*\bexact\b", re.MULTILINE)
TUPLE_PARAMETER = re.compile(r"^\s*(?:pub.*)?fn [^{;]*[(,]\s*\([\w\s,&]+\): ", re.MULTILINE)
CHANGED = {
    "a page": "src/view/status/page.rs",
    "a strategy": "core/src/decide/strategy/pod_life_time.rs",
    "the watch": "src/cluster/watch.rs",
}


def sources(revision: str | None) -> dict[str, str]:
    """The text of each source file by its path."""
    if revision is None:
        paths = sorted(path for crate in CRATES for path in (ROOT / crate).rglob("*.rs"))
        return {str(path.relative_to(ROOT)): path.read_text() for path in paths}
    names = _git("ls-tree", "-r", "--name-only", revision, *CRATES).split()
    return {name: _git("show", f"{revision}:{name}") for name in names if name.endswith(".rs")}


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def folder(path: str) -> str:
    """The folder of a crate to which a file belongs; `decide.rs` belongs to `decide`."""
    return path.removeprefix("core/").split("/")[1].removesuffix(".rs")


def functions(text: str) -> list[int]:
    """The lengths of the functions before the tests of a file."""
    lengths, begun = [], None
    for number, line in enumerate(TESTS.split(text)[0].splitlines()):
        if begun is None:
            if (found := FUNCTION.match(line)) and not line.rstrip().endswith(";"):
                begun = (number, found[1])
        elif line in (f"{begun[1]}}}", f"{begun[1]}) {{}}"):
            lengths.append(number - begun[0] + 1)
            begun = None
        if begun and begun[0] == number and line.rstrip().endswith("}"):
            lengths.append(1)
            begun = None
    return lengths


def measure(files: dict[str, str]) -> dict[str, int]:
    """All figures of one revision."""
    lines = Counter()
    for path, text in files.items():
        lines[f"lines of {folder(path)}"] += text.count("\n")
    code = [text for path, text in files.items() if "tests" not in path]
    lengths = sorted(length for text in code for length in functions(text))
    tenths = statistics.quantiles(lengths, n=10)
    core = [text for path, text in files.items() if folder(path) == "decide"]
    return {
        "lines": sum(lines.values()),
        **dict(sorted(lines.items())),
        "files": len(files),
        f"files under {SMALL} lines": sum(text.count("\n") < SMALL for text in files.values()),
        "functions": len(lengths),
        "half of them are at most": round(tenths[4]),
        "nine of ten are at most": round(tenths[8]),
        "the longest has": lengths[-1],
        "branches on exact in decide": sum(len(EXACT.findall(text)) for text in core),
        "parameters that are tuples": sum(len(TUPLE_PARAMETER.findall(t)) for t in files.values()),
    }


def builds() -> dict[str, float]:
    """The seconds of a clean build and of those after a change."""
    with tempfile.TemporaryDirectory() as target:
        seconds = {"a clean build": _build(target)}
        for name, path in CHANGED.items():
            (ROOT / path).touch()
            seconds[f"after a change in {name}"] = _build(target)
    return seconds


def _build(target: str) -> float:
    began = time.monotonic()
    command = ["cargo", "build", "--locked", "--quiet", "--target-dir", target]
    subprocess.run(command, cwd=ROOT, check=True)
    return time.monotonic() - began


def main(arguments: list[str]) -> None:
    """Prints the tables."""
    revisions = [one for one in arguments if one != "--builds"]
    columns = [measure(sources(one)) for one in revisions or [None]]
    print("| figure | " + " | ".join(revisions or ["working tree"]) + " |")
    print("|---|" + "---|" * len(columns))
    names = dict.fromkeys(name for column in columns for name in column)
    for name in names:
        cells = [f"{column[name]:,}" if name in column else "" for column in columns]
        print(f"| {name} | " + " | ".join(cells) + " |")
    if "--builds" in arguments:
        for name, seconds in builds().items():
            print(f"{name}: {seconds:.1f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
