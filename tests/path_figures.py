#!/usr/bin/env python3
"""path_figures.py [DIR [PORT]]: counts the code that a pod passes from the watch to its eviction.

It builds the program with counters in its code, and runs it twice on a control plane: beside four
nodes without pods, and beside the same nodes with six pods of a Deployment on one of them, until
evictions have been made. A pod passes the functions that run in the second case only. Lines are
those of the functions, and of their files before the tests.

Needs python3, kubectl, openssl and the rustup component llvm-tools. DIR keeps the control plane's
files and the counters (default: a temporary folder); it takes ten ports from PORT (default 27500).
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from source_figures import ROOT, TESTS, folder

TESTBED = ROOT / "tests/testbed"
TARGET = ROOT / "target/path"
PROGRAM = TARGET / "debug/evenkeel"
POLICY = """
apiVersion: evenkeel/v1alpha1
kind: Policy
interval: 10s
usage: {poll: 5s, window: 40s, minSamples: 2}
evictable: {minPodAge: 0s}
strategies:
- lowNodeUtilization: {thresholds: {cpu: 30%}, targetThresholds: {cpu: 50%}, sustainedFor: 10s}
"""
# The cluster of each case, with the functions of tests/testbed/loops/common.sh.
NODES = '"$testbed/nodes.sh" 4 | kubectl apply -f -; kubectl wait --for=condition=Ready node --all'
PODS = """
fresh 4
kubectl cordon n{2..4}
deployment hot 6 1000m
kubectl uncordon n{2..4}
settle
"""


def build() -> None:
    """Builds the program with counters."""
    flags = {"RUSTFLAGS": "-Cinstrument-coverage"}
    command = ["cargo", "build", "--locked", "--quiet", "--bin", "evenkeel", "--target-dir", TARGET]
    subprocess.run(command, cwd=ROOT, env=os.environ | flags, check=True)


def tool(name: str, *arguments: object) -> str:
    """The output of one of the LLVM tools of this toolchain."""
    sysroot = Path(_output("rustc", "--print", "sysroot").strip())
    found = list(sysroot.glob(f"lib/rustlib/*/bin/{name}"))
    if not found:
        sys.exit(f"{name} is missing: rustup component add llvm-tools")
    return _output(found[0], *arguments)


def _output(*command: object) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def shell(work: Path, script: str) -> None:
    """Runs a script with the functions of the loops."""
    common = TESTBED / "loops/common.sh"
    script = f'. "{common}" "$0"\n{script}'
    command = ["bash", "-c", script, work / "admin.kubeconfig"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def run(work: Path, port: int, name: str, sign: str, times: int) -> Path:
    """Runs the program until its log has `sign` this many times. Returns the counters."""
    policy, log = work / "policy.yaml", work / f"{name}.log"
    policy.write_text(POLICY)
    command = [PROGRAM, "run", "--kubeconfig", work / "admin.kubeconfig", "--policy", policy]
    command += ["--namespace", "kube-system", "--ledger", f"ledger-{name}", "--log-format", "json"]
    command += ["--listen", f"127.0.0.1:{port + 5}", "--status-listen", f"127.0.0.1:{port + 6}"]
    counters = work / f"{name}.profraw"
    environment = os.environ | {"LLVM_PROFILE_FILE": str(counters)}
    with log.open("w") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
        deadline = time.monotonic() + 180
        while log.read_text().count(sign) < times:
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                sys.exit(f"the program did not log {sign} in time: see {log}")
            time.sleep(0.2)
        process.terminate()
        process.wait(60)
    return counters


def functions(counters: Path) -> set[tuple[str, int, int]]:
    """The file, first and last line of each function of the project that ran."""
    merged = counters.with_suffix(".profdata")
    tool("llvm-profdata", "merge", "-sparse", counters, "-o", merged)
    text = tool("llvm-cov", "export", "-skip-expansions", f"-instr-profile={merged}", PROGRAM)
    ran = set()
    for function in json.loads(text)["data"][0]["functions"]:
        path = Path(function["filenames"][0])
        if function["count"] and path.is_relative_to(ROOT) and not path.is_relative_to(TARGET):
            lines = [line for region in function["regions"] for line in (region[0], region[2])]
            ran.add((str(path.relative_to(ROOT)), min(lines), max(lines)))
    return ran


def report(passed: set[tuple[str, int, int]]) -> None:
    """Prints the figures of each folder."""
    lines = defaultdict(set)
    for path, first, last in passed:
        lines[path].update(range(first, last + 1))
    files, ran, whole = defaultdict(int), defaultdict(int), defaultdict(int)
    for path, numbers in lines.items():
        for name in (folder(path), "all"):
            files[name] += 1
            ran[name] += len(numbers)
            whole[name] += TESTS.split((ROOT / path).read_text())[0].count("\n")
    print("| folder | files | lines of functions | lines of files |\n|---|---|---|---|")
    for name in [*sorted(files.keys() - {"all"}), "all"]:
        print(f"| {name} | {files[name]} | {ran[name]:,} | {whole[name]:,} |")


def main(arguments: list[str]) -> None:
    """Makes both runs and prints the table."""
    work = Path(arguments[0] if arguments else tempfile.mkdtemp())
    port = int(arguments[1]) if len(arguments) > 1 else 27500
    build()
    subprocess.run([TESTBED / "up.sh", work, str(port)], check=True, stdout=subprocess.DEVNULL)
    try:
        shell(work, NODES)
        before = functions(run(work, port, "nodes", '"outcome":', 3))
        shell(work, PODS)
        after = functions(run(work, port, "pods", '"outcome":"acted"', 1))
    finally:
        subprocess.run([TESTBED / "down.sh", work], check=False, stdout=subprocess.DEVNULL)
    report(after - before)


if __name__ == "__main__":
    main(sys.argv[1:])
