"""What a student's loop costs: CPU time of whole commands with their servers, as ratios to `benchmarks/yardstick.py`.

    python benchmarks/student.py [--rounds N] [--only WORD] [--saves N]

Each command runs in a hand-in of its own with an empty memory, first, then again unchanged, and once more after one
file changed. The least of the rounds counts: other programs only add. Servers are children that are waited for, so that
their time is in it. As after an installation, labgrade's modules are compiled.

`--saves`: seconds of the clock from a save to the printed verdict on GoogLeNet by `labgrade check --watch`, after two
saves that warm it. Read that on an idle machine.
"""

from __future__ import annotations

import argparse
import compileall
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
LABGRADE = [sys.executable, "-m", "labgrade.cli"]
CHECKS = {"2-1-1": ["--task", "2-1-1"], "2-1-4": ["--task", "2-1-4"], "2-1": ["--task", "2-1"], "all tasks": []}
MACS = [*LABGRADE, "compute", "macs", "--model", "torchvision/googlenet", "--input", "1,3,224,224"]
MOST = {"check 2-1-1, first": 1.5, "check 2-1-4, first": 3, "compute macs, first": 1.1, "compute macs, again": 0.15}
UNCHANGED = 0.1


def cpu_seconds(command: list[str], folder: Path, cache: Path) -> float:
    """CPU time of a command and of all that it started and waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "LABGRADE_CACHE": str(cache), "PYTHONPATH": str(ROOT)}
    subprocess.run(
        command, cwd=folder, env=environment, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def one_round(only: str) -> dict[str, float]:
    """Every command once, each with a memory of its own."""
    found = {"yardstick": cpu_seconds([sys.executable, str(ROOT / "benchmarks/yardstick.py")], ROOT, ROOT)}
    found["python -c pass"] = cpu_seconds([sys.executable, "-c", "pass"], ROOT, ROOT)
    found["--help"] = cpu_seconds([*LABGRADE, "--help"], ROOT, ROOT)
    for name, options in CHECKS.items():
        if only in name:
            with tempfile.TemporaryDirectory(prefix="labgrade-student-") as temporary:
                place, cache = Path(temporary) / "work", Path(temporary) / "cache"
                shutil.copytree(ROOT / "submissions" / "student42", place)
                command = [*LABGRADE, "check", *options]
                found[f"check {name}, first"] = cpu_seconds(command, place, cache)
                found[f"check {name}, again"] = cpu_seconds(command, place, cache)
                with (place / "hw2_1.py").open("a") as file:
                    file.write("# changed\n")
                found[f"check {name}, changed"] = cpu_seconds(command, place, cache)
    if only in "compute macs":
        with tempfile.TemporaryDirectory(prefix="labgrade-student-") as temporary:
            found["compute macs, first"] = cpu_seconds(MACS, Path(temporary), Path(temporary))
            found["compute macs, again"] = cpu_seconds(MACS, Path(temporary), Path(temporary))
    return found


def save_to_verdict(saves: int) -> list[float]:
    """Seconds from each save of a function to the line that says what became of its check."""
    with tempfile.TemporaryDirectory(prefix="labgrade-student-") as temporary:
        place = Path(temporary) / "work"
        shutil.copytree(ROOT / "submissions" / "student42", place)
        environment = {**os.environ, "LABGRADE_CACHE": f"{temporary}/cache", "PYTHONPATH": str(ROOT)}
        environment["PYTHONUNBUFFERED"] = "1"
        command = [*LABGRADE, "check", "--watch", "--task", "2-1-1"]
        told = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
        with subprocess.Popen(command, cwd=place, env=environment, **told) as running:
            lines = iter(running.stdout.readline, "")
            next(line for line in lines if line.startswith("checks again"))
            right = (place / "hw2_1.py").read_text()
            found = []
            for number in range(saves + 2):
                wrong = f"{right}\n\ndef total_parameters(model):\n    return {number}\n"
                for text in (wrong, right) if number % 2 else (wrong,):
                    begun = time.perf_counter()
                    (place / "hw2_1.py").write_text(text)
                    next(line for line in lines if line.startswith("2-1-1"))
                    found.append(time.perf_counter() - begun)
                    next(line for line in lines if line.rstrip().endswith("points") and "->" not in line)
            running.send_signal(signal.SIGINT)
        return found[2 : saves + 2]


def main() -> None:
    """Print a row a command, with what it may cost at most where something is promised."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", default="", metavar="WORD", help="only commands that hold it")
    parser.add_argument("--saves", type=int, default=0, metavar="N", help="only the time from a save to its verdict")
    options = parser.parse_args()
    for folder in ("labgrade", "reference", "checkers", "models"):
        compileall.compile_dir(ROOT / folder, quiet=1)
    if options.saves:
        found = sorted(save_to_verdict(options.saves))
        print(
            f"save to verdict, {len(found)} saves: median {statistics.median(found):.2f} s, longest {found[-1]:.2f} s"
        )
        return
    rounds = [one_round(options.only) for _ in range(options.rounds)]
    found = {name: min(each[name] for each in rounds) for name in rounds[0]}
    unit, bare = found["yardstick"], found["python -c pass"]
    print(f"{'':28}{'CPU s':>8}{'x yardstick':>13}{'at most':>9}")
    for name, seconds in found.items():
        most = MOST.get(name) or (UNCHANGED if name.startswith("check") and name.endswith("again") else None)
        print(f"{name:28}{seconds:8.2f}{seconds / unit:13.2f}{most or '':>9}")
    print(f"--help over a bare interpreter: {1000 * (found['--help'] - bare):.0f} ms (at most 40)")


if __name__ == "__main__":
    main()
