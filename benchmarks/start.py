"""How cheap a start is: CPU time of whole processes, as a multiple of `python -c pass` in the same run.

    python benchmarks/start.py [--rounds N]

Each round runs all commands in turn; of each the cheapest run counts, which other programs disturbed least. Compiled
modules are kept, as an installation keeps them, whatever this machine's environment says. The last row is importing
torch: a check of answers handed in as text, with values remembered, is meant to stay below it.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LABGRADE = [sys.executable, "-m", "labgrade.cli"]
BARE = "python -c pass"
COMMANDS = {
    BARE: [sys.executable, "-c", "pass"],
    "labgrade --version": [*LABGRADE, "--version"],
    "labgrade --help": [*LABGRADE, "--help"],
    "labgrade list tasks": [*LABGRADE, "list", "tasks"],
    "labgrade validate specs": [*LABGRADE, "validate", "specs"],
    "labgrade check, nothing changed": [*LABGRADE, "check", "submissions/outputs-only"],
    "python -c 'import torch'": [sys.executable, "-c", "import torch"],
}
SLOW = list(COMMANDS)[-2:]
_ENVIRONMENT = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def cpu_seconds(command: list[str]) -> float:
    """CPU time of one process and of those that it started and waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.DEVNULL, env=_ENVIRONMENT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(rounds: int) -> dict[str, float]:
    """The least CPU time of each command, after one run that is not measured."""
    for command in COMMANDS.values():
        cpu_seconds(command)
    return {
        name: min(cpu_seconds(command) for _ in range(2 if name in SLOW else rounds))
        for name, command in COMMANDS.items()
    }


def main() -> None:
    """Print a row a command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    found = measure(parser.parse_args().rounds)
    bare = found[BARE]
    print(f"{'':36}{'CPU s':>8}{'over bare':>12}{'x bare':>9}")
    for name, seconds in found.items():
        print(f"{name:36}{seconds:8.3f}{seconds - bare:12.3f}{seconds / bare:9.1f}")


if __name__ == "__main__":
    main()
