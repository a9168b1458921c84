"""Results that took long, kept in a folder, so that an interrupted benchmark goes on."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Results:
    """A folder of results, one file for each."""

    folder: Path

    def of(self, inputs: tuple, compute: Callable[[], dict]) -> dict:
        """The kept result for these inputs, or a new one."""
        key = hashlib.sha256(repr(inputs).encode()).hexdigest()[:24]
        kept = self.folder / f"{key}.json"
        if not kept.exists():
            kept.write_text(json.dumps(compute()), encoding="utf-8")
        return json.loads(kept.read_text(encoding="utf-8"))


@cache
def digest(path: Path) -> str:
    """The digest of a file, which stays as it is during a run."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def program() -> str:
    """The digest of the benchmark itself."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
