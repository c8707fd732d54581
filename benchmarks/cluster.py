"""What a cluster costs beside grading: this machine's time a submission, and its memory, for many tiny ones.

    python benchmarks/cluster.py [--size 10000] [--workers 2]

The submissions are one small answers.yaml each, of a course of the same run whose checks take neither torch nor a
student's code. So what is measured is taking in, sending, and recording, on the machine that keeps the ledger; workers
are processes beside it, whose time does not count. One part in ten is graded first: memory that grows between the two
would grow with a class. Exits with 1 where a submission costs more than 5 ms of CPU, or memory grows by half.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from helpers import classroom

from labgrade.cluster import connect
from labgrade.cluster.workers import ClusterMachines
from labgrade.run import class_run
from labgrade.run.plan import RunRequest
from labgrade.spec.load import chosen

MOST_SECONDS, GROWTH = 0.005, 1.5


def graded(
    room: classroom.Classroom, results: Path, workers: int, names: tuple[str, ...] = ()
) -> tuple[float, float, float]:
    """CPU and wall seconds of grading, without the cluster's start, and the highest memory so far in MiB."""
    with connect.connected(f"local:{workers}") as client:
        machines = ClusterMachines(client)
        cpu, wall = time.process_time(), time.monotonic()
        wanted = RunRequest(source=room.submissions, results=results, root=room.folder, names=names)
        for _ in class_run.grade(wanted, lambda found: chosen(found, None, []), machines):
            pass
        spent = time.process_time() - cpu, time.monotonic() - wall
        machines.close()
    return *spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="labgrade-bench-") as folder:
        room = classroom.Classroom(Path(folder), options.size)
        few = max(1, options.size // 10)
        names = tuple(sorted(each.name for each in room.submissions.iterdir())[:few])
        sizes = {few: names, options.size: ()}
        rows = {size: graded(room, Path(folder) / f"r{size}", options.workers, own) for size, own in sizes.items()}
    print("submissions  CPU s  ms each  wall s  MiB")
    for size, (cpu, wall, memory) in rows.items():
        print(f"{size:11,}  {cpu:5.1f}  {1000 * cpu / size:7.1f}  {wall:6.1f}  {memory:4.0f}")
    (few_cpu, _, small), (cpu, _, large) = rows.values()
    each = (cpu - few_cpu) / (options.size - few)
    print(
        f"a further submission costs {1000 * each:.1f} ms here; 100,000 would take {100_000 * each / 60:.0f} min of CPU"
    )
    return int(each > MOST_SECONDS or large > small * GROWTH)


if __name__ == "__main__":
    sys.exit(main())
