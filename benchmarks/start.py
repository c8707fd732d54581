"""How cheap a start is: a second `labgrade check` on answers handed in as text, against importing torch.

    python benchmarks/start.py [--rounds N]

Both are timed in turn in the same run, as whole processes; the figure that counts is the ratio of the two.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHECK = [sys.executable, "-m", "labgrade.cli", "check", "submissions/outputs-only", "--json", "-"]
TORCH = [sys.executable, "-c", "import torch"]


def seconds(command: list[str]) -> float:
    """Wall time of one process."""
    start = time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def measure(rounds: int) -> tuple[float, float]:
    """The median time of a warm check and of importing torch, taken in turn after one unmeasured run of each."""
    seconds(CHECK)
    seconds(TORCH)
    pairs = [(seconds(CHECK), seconds(TORCH)) for _ in range(rounds)]
    return statistics.median(check for check, _ in pairs), statistics.median(torch for _, torch in pairs)


def main() -> None:
    """Print the two times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    check, torch = measure(parser.parse_args().rounds)
    print(f"labgrade check, values remembered  {check:6.2f} s")
    print(f"python -c 'import torch'           {torch:6.2f} s")
    print(f"ratio                              {check / torch:6.2f}  (below 1: cheaper than importing torch)")


if __name__ == "__main__":
    main()
