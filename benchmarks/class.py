"""What a class costs: students a minute, overhead over the students' own CPU time, memory, and a rerun of nothing.

    python benchmarks/class.py [--sizes 25,100,400] [--quick] [--jobs 4] [--alone 4]
    python benchmarks/class.py --loops [--tasks 2-1-4-macs]

Each size is a class of synthetic submissions of HW 2-1: right, wrong in known ways, broken; no two have the same files.
It is graded into an empty results folder and then once more, unchanged. Beside it, in the same run, `--alone` students
are graded by one pytest process each; their time for a whole class is extrapolated, which the table says.

The students' own CPU time is what the sandbox metered of their jobs, so that building the model that a function is
given counts as theirs, and so does what a process does to jail itself. Exits with 1 where memory grows with the class,
or the rerun takes over a fiftieth.

`--loops`: a class of twenty, and the same with two hand-ins whose functions never end. Exits with 1 where that takes
more than 1.3 times as long and two time limits.
"""

from __future__ import annotations

import argparse
import compileall
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labgrade.sandbox.host.child import Ending
    from labgrade.sandbox.requests import Job

ROOT = Path(__file__).parents[1]
TASKS = ("2-1-1-parameters", "2-1-2-weight-bytes", "2-1-3-layer-table", "2-1-4-macs", "2-1-5-conv-activations")
ENDLESS = ("total_macs", "macs_by_layer")
SIZES = (25, 100, 400)
QUICK = (8, 16)
RERUN = 50
LOOPS, WITH_LOOPS, LIMIT = 2, 1.3, 60.0  # hand-ins that never end, the share they may cost others, a call's seconds
GROWTH = 1.2  # how much more memory the largest class may take than the smallest
_SAMPLE_SECONDS = 0.5

# What is written below the right solution, so that the last definition of a function counts.
WRONG = {
    "right": "",
    "buffers": "def total_parameters(model):\n    return sum(each.numel() for each in model.state_dict().values())\n",
    "flops": "right_macs = total_macs\ndef total_macs(*given):\n    return 2 * right_macs(*given)\n",
    "bits": "right_bytes = weight_bytes\ndef weight_bytes(model):\n    return 8 * right_bytes(model)\n",
    "other": "def total_macs(model, input_size):\n    return 12345678 + {number}\n",
    "raises": "def total_parameters(model):\n    return model.layers[0]\n",
    "nothing": "def layer_table(model, input_size):\n    print('a table')\n",
    "no module": "import torchinfo_of_mine\n",
    "no python": "def total_parameters(model:\n",
}
KINDS = (*WRONG, "outputs-only", "paper-only")


def make(folder: Path, size: int) -> None:
    """Write a class: nine kinds of a module, a hand-in of outputs and one of a report, in turn."""
    source = (ROOT / "submissions/exemplar/hw2_1.py").read_text(encoding="utf-8")
    for number in range(size):
        kind, own = KINDS[number % len(KINDS)], folder / f"student{number:03}"
        if kind in WRONG:
            own.mkdir(parents=True)
            text = f"{source}\n\n{WRONG[kind].replace('{number}', str(number))}\n# student {number}\n"
            (own / "hw2_1.py").write_text(text, encoding="utf-8")
        else:
            shutil.copytree(ROOT / "submissions" / kind, own)
            (own / "notes.txt").write_text(f"student {number}\n", encoding="utf-8")


# ---- one run, in a process of its own --------------------------------------------------------------------------


def grade(submissions: Path, results: Path, jobs: int, tasks: tuple[str, ...]) -> None:
    """Grade, and print what it took as JSON. What the sandbox meters of each job is added up over all processes."""
    from labgrade.run import class_run
    from labgrade.run.plan import RunRequest
    from labgrade.sandbox.host.servers import READER
    from labgrade.sandbox.runner import Runner
    from labgrade.spec.load import chosen

    own, reading = multiprocessing.Value("d", 0.0), multiprocessing.Value("d", 0.0)
    run = Runner._run  # noqa: SLF001 - nobody else needs the sum

    def metered(self: Runner, job: Job) -> Ending:
        ending = run(self, job)
        spent = reading if job.server == READER else own  # reading is labgrade's own code
        with spent.get_lock():
            spent.value += ending.exit.seconds if ending.exit is not None else 0.0
        return ending

    Runner._run = metered  # type: ignore[method-assign]  # noqa: SLF001
    request = RunRequest(source=submissions, results=results, root=ROOT, tasks=tasks, jobs=jobs)
    start = time.perf_counter()
    *_, finished = class_run.grade(request, lambda found: chosen(found, None, list(tasks)))
    wall = time.perf_counter() - start
    print(json.dumps({"wall": wall, "own": own.value, "reading": reading.value, "ran": finished.ran}))


@dataclass(frozen=True, slots=True)
class Cost:
    """One run. Seconds, and bytes at the peak: of the grader's processes, and of all with servers and jobs.

    `judging`: of the grader's own processes, which take in, judge, search and record; `expected`: of those that compute
    expected values.
    """

    wall: float
    cpu: float
    own: float
    reading: float
    judging: float
    expected: float
    ran: int
    grader: int
    everything: int


def measured(submissions: Path, results: Path, jobs: int, tasks: tuple[str, ...] = TASKS) -> Cost:
    """Grade in a new process, and look at its memory meanwhile."""
    command = [sys.executable, __file__, "--grade", str(submissions), str(results), "--jobs", str(jobs)]
    command += ["--tasks", ",".join(tasks)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    peaks = [0, 0]
    cpu = [0.0]
    alone_cpu: dict[tuple[str, int], float] = {}
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(_SAMPLE_SECONDS):
            family = _below(process.pid)
            cpu[0] = max(cpu[0], sum(map(_cpu, family)))
            for pid in family:
                role = _role(pid)
                if role:
                    alone_cpu[role, pid] = _cpu(pid, itself=True)
            sizes = [(pid, _memory(pid)) for pid in family]
            peaks[0] = max(peaks[0], sum(size for pid, size in sizes if _role(pid) == "judging"))
            peaks[1] = max(peaks[1], sum(size for _, size in sizes))

    looking = threading.Thread(target=look)
    looking.start()
    said, _ = process.communicate()
    ended.set()
    looking.join()
    if process.returncode:
        sys.exit(f"the run over {submissions} failed")
    told = json.loads(said)
    by_role = {"judging": 0.0, "expected": 0.0}  # a run of nothing computes none
    for (role, _), seconds in alone_cpu.items():
        by_role[role] += seconds
    return Cost(**told, **by_role, cpu=cpu[0], grader=peaks[0], everything=peaks[1])


def _below(pid: int) -> list[int]:
    """A process and all that came of it."""
    try:
        children = [
            int(child) for file in Path(f"/proc/{pid}/task").glob("*/children") for child in file.read_text().split()
        ]
    except OSError:
        return []
    return [pid, *(other for child in children for other in _below(child))]


def _memory(pid: int) -> int:
    """Its share of memory, in bytes: pages that several have count in parts."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    except OSError:
        pass
    return 0


def _cpu(pid: int, *, itself: bool = False) -> float:
    """CPU seconds of a process and of those that it waited for; so all is counted once among those that live."""
    try:
        times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11 : 13 if itself else 15]
    except OSError:
        return 0.0
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def _role(pid: int) -> str:
    """Which of labgrade's processes it is, by the fields of `Cost`; none for the sandbox's."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ""
    return "expected" if b"labgrade.truth.worker" in command else "judging" if b"--grade" in command else ""


def where(cost: Cost, size: int) -> str:
    """Where the overhead goes; the sandbox's part is what is left: servers' start, forks, and what ends jobs."""
    parts = {"judging and recording": cost.judging, "expected values": cost.expected, "reading": cost.reading}
    parts["sandbox"] = cost.cpu - cost.own - sum(parts.values())
    return ", ".join(f"{name} {seconds / size:.2f} s" for name, seconds in parts.items())


def alone(submissions: Path, count: int) -> float:
    """Seconds that one pytest process takes for one student, from some of each kind."""
    names = sorted(each.name for each in submissions.iterdir())[:count]
    specs = [f"specs/acal-lab2/{task}.yaml" for task in TASKS]
    start = time.perf_counter()
    for name in names:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--submission={name}"]
        options = [f"--submissions-dir={submissions}", *specs]
        subprocess.run([*command, *options], cwd=ROOT, check=False, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - start) / len(names)


def with_loops(folder: Path, jobs: int, tasks: tuple[str, ...]) -> bool:
    """Grade a class with and without endless functions, and print what they cost; whether that is little enough."""
    walls = []
    for name, loops in (("without", 0), ("with", LOOPS)):
        make(folder / name / "submissions", 20)
        for number in range(loops):
            file = folder / name / "submissions" / f"student{len(KINDS) * number:03}" / "hw2_1.py"
            endless = "".join(f"def {called}(*given):\n    while True: pass\n" for called in ENDLESS)
            file.write_text(file.read_text(encoding="utf-8") + endless, encoding="utf-8")
        walls.append(measured(folder / name / "submissions", folder / name / "results", jobs, tasks).wall)
    most = WITH_LOOPS * walls[0] + LOOPS * LIMIT
    print(f"a class of 20: {walls[0]:.0f} s; with {LOOPS} that never end: {walls[1]:.0f} s (at most {most:.0f} s)")
    return walls[1] <= most


# ---- all of them -----------------------------------------------------------------------------------------------


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=lambda text: tuple(map(int, text.split(","))))
    parser.add_argument("--quick", action="store_true", help=f"classes of {', '.join(map(str, QUICK))}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--alone", type=int, default=11, help="students that are graded by a process each")
    parser.add_argument("--loops", action="store_true", help="only what endless functions cost a class of 20")
    parser.add_argument(
        "--tasks", type=lambda text: tuple(text.split(",")), default=TASKS, help="with --loops: of these"
    )
    parser.add_argument("--grade", nargs=2, type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """Print the table; 1 where a promise is not kept."""
    options = _options()
    if options.grade:
        grade(*options.grade, options.jobs, options.tasks)
        return 0
    for part in ("labgrade", "reference", "checkers", "models"):
        compileall.compile_dir(ROOT / part, quiet=1)  # as after an installation
    if options.loops:
        with tempfile.TemporaryDirectory(prefix="labgrade-class-") as folder:
            return 0 if with_loops(Path(folder), options.jobs, options.tasks) else 1
    sizes = options.sizes or (QUICK if options.quick else SIZES)
    first: list[Cost] = []
    kept = True
    print(
        f"{'class':>6} {'students/min':>13} {'wall':>8} {'CPU a student':>14} {'of it theirs':>13} {'overhead':>9}",
        end="",
    )
    print(f" {'grader':>9} {'everything':>11} {'again':>8} {'ratio':>7}")
    with tempfile.TemporaryDirectory(prefix="labgrade-class-") as folder:
        for size in sizes:
            base = Path(folder) / str(size)
            make(base / "submissions", size)
            cost = measured(base / "submissions", base / "results", options.jobs)
            again = measured(base / "submissions", base / "results", options.jobs)
            first.append(cost)
            kept &= not again.ran and (size < SIZES[-1] or again.wall * RERUN <= cost.wall)
            print(
                f"{size:>6} {60 * size / cost.wall:>13.1f} {cost.wall:>6.1f} s {cost.cpu / size:>12.2f} s"
                f" {cost.own / size:>11.2f} s {cost.cpu / cost.own - 1:>8.0%} {cost.grader >> 20:>5} MiB"
                f" {cost.everything >> 20:>7} MiB {again.wall:>6.1f} s {cost.wall / again.wall:>6.0f}x",
                flush=True,
            )
            print(f"       overhead a student: {where(cost, size)}", flush=True)
        if options.alone:
            count = min(options.alone, sizes[-1])
            each = alone(Path(folder) / str(sizes[-1]) / "submissions", count)
            print(
                f"one pytest process a student: {each:.1f} s each, measured on {count}; extrapolated: {60 / each:.1f}"
            )
            print(f"students a minute one by one, at best {60 / each * options.jobs:.1f} with {options.jobs} at a time")
    growth = first[-1].grader / first[0].grader
    print(f"memory of the grader, the largest class against the smallest: {growth:.2f} (at most {GROWTH})")
    return 0 if kept and growth <= GROWTH else 1


if __name__ == "__main__":
    sys.exit(main())
