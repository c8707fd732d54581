"""What a class costs: students a minute, overhead over the students' own CPU time, memory, and a rerun of nothing.

    python benchmarks/class.py [--sizes 25,100,400] [--quick] [--jobs 4] [--alone 4] [--where]
    python benchmarks/class.py --loops [--tasks 2-1-4-macs]
    python benchmarks/class.py --lab efficient --sizes 25 --alone 0

Each size is a class of synthetic submissions of HW 2-1: right, wrong in known ways, broken; no two have the same files.
It is graded into an empty results folder and then once more, unchanged, on a course of which one student of each kind
was graded before: what a course needs once is computed then. Beside it, in the same run, `--alone` students
are graded by one pytest process each; their time for a whole class is extrapolated, which the table says.

The students' own CPU time is what the sandbox metered of their jobs, so that building the model that a function is
given counts as theirs, and so does what a process does to jail itself. The rest is overhead, and with `--where` a
second line says where it goes: each moment of labgrade's own processes counts for the innermost part that is at work.
To look at a clock a thousand times a student adds to it. Exits with 1 where memory grows with the class from 100 on,
or the rerun takes over a fiftieth.

`--loops`: a class of twenty, and the same with a function in each of two hand-ins that never ends. Exits with 1 where
that takes more than 1.3 times as long and two time limits. A limit is CPU time, and lasts as much longer by the clock
as the class without them did: on a machine that others use.
"""

from __future__ import annotations

import argparse
import compileall
import functools
import gc
import importlib
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
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labgrade.sandbox.host.child import Ending
    from labgrade.sandbox.requests import Job

ROOT = Path(__file__).parents[1]
TASKS = ("2-1-1-parameters", "2-1-2-weight-bytes", "2-1-3-layer-table", "2-1-4-macs", "2-1-5-conv-activations")
ENDLESS = ("total_macs", "macs_by_type")  # of two hand-ins, one each; no other function calls them
SIZES = (25, 100, 400)
QUICK = (8, 16)
RERUN = 50
WITH_LOOPS, LIMIT = 1.3, 60.0  # the share that endless functions may cost others, a call's seconds
# What each part of the overhead is, by the functions that do it: those of the innermost count.
PARTS = {
    "intake": ("submissions.find:Offered:take",),
    "reading": ("answers.reader.reader:Reader:ask", "answers.reader.reader:Reader:once"),
    "expected values": ("truth.oracle:Oracle:value", "truth.oracle:Oracle:learn", "truth.oracle:Oracle:recall"),
    "judging": ("run.task:TaskGrading:_own",),
    "search": (
        "run.task::judged",
        "diagnosis.diagnose:Diagnoser:explained",
        "diagnosis.diagnose:Diagnoser:searched",
        "diagnosis.diagnose:Diagnoser:refutes",
    ),
    "sandbox": ("sandbox.runner:Runner:_run",),
    "recording": (
        "ledger.verdict_memory:TaskBook:graded",
        "ledger.verdict_memory:TaskBook:enter",
        "ledger.verdict_memory:SubmissionBook:__init__",
        "files.cache:Cache:discard_changes",
    ),
}
GROWTH = 1.2  # how much more memory the largest class may take than one of `STEADY` students
STEADY = 100  # by then each process has at hand what it keeps for all of them, such as expected tensors
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


# The same of other labs: the exemplar, its module, and what is written below that.
LABS = {
    "efficient": (
        "efficient-exemplar",
        "efficient.py",
        {
            "right": "",
            "density": "right = sparsity\ndef sparsity(model):\n    return 1 - right(model)\n",
            "turned": "right_masks = masks\ndef masks(*given):\n"
            "    return {name: 1 - mask for name, mask in right_masks(*given).items()}\n",
            "bits": "right_scales = with_scales\ndef with_scales(*given):\n    return 8 * right_scales(*given)\n",
            "raises": "def scan(data):\n    return data.layers\n",
        },
    ),
    "roofline": (
        "roofline-exemplar",
        "roofline.py",
        {
            "right": "",
            "highest": "def attainable(config):\n    return max(roofs(config).values())\n",
            "twice": "right_energy = energy\ndef energy(config):\n    return 2 * right_energy(config)\n",
            "one fold": "def cycles(c):\n    return 2 * c['rows'] + c['columns'] + mapping(c)[2] - 2\n",
            "raises": "def vgg_table(config):\n    return config.layers\n",
        },
    ),
}


def make_of_lab(folder: Path, size: int, lab: str) -> None:
    """Write a class of another lab."""
    exemplar, module, kinds = LABS[lab]
    for number in range(size):
        own = folder / f"student{number:03}"
        shutil.copytree(ROOT / "submissions" / exemplar, own)
        below = list(kinds.values())[number % len(kinds)]
        with (own / module).open("a", encoding="utf-8") as file:
            file.write(f"\n\n{below}\n# student {number}\n")


def make(folder: Path, size: int, lab: str = "") -> None:
    """Write a class: nine kinds of a module, a hand-in of outputs and one of a report, in turn."""
    if lab:
        make_of_lab(folder, size, lab)
        return
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


class Stopwatch:
    """CPU seconds of labgrade's own processes by part, added up over all of them."""

    def __init__(self) -> None:
        self.spent = {name: multiprocessing.Value("d", 0.0) for name in (*PARTS, "start", "own", "read", "servers")}
        self._inner = ["start"]
        self._since = 0.0
        self._unsaid = dict.fromkeys(self.spent, 0.0)  # to tell the others at once would take a hundredth of a student

    def add(self, name: str, seconds: float) -> None:
        """Count for a part."""
        with self.spent[name].get_lock():
            self.spent[name].value += seconds

    def switch(self) -> None:
        """Count what was spent since the last time for the part that is at work."""
        now = time.process_time()
        if now < self._since:  # it began anew in a fork
            self._since, self._unsaid = 0.0, dict.fromkeys(self.spent, 0.0)
        self._unsaid[self._inner[-1]] += now - self._since
        self._since = now

    def say(self) -> None:
        """Add what was counted here to what all processes have spent."""
        self.switch()
        for name in [each for each, seconds in self._unsaid.items() if seconds]:
            self.add(name, self._unsaid[name])
            self._unsaid[name] = 0.0

    def watch(self, owner: Any, name: str, part: str) -> None:
        """Count a function for a part, as far as the main thread calls it."""
        function = getattr(owner, name)

        @functools.wraps(function)
        def watched(*given: Any, **named: Any) -> Any:
            if threading.current_thread() is not threading.main_thread():
                return function(*given, **named)
            self.switch()
            self._inner.append(part)
            try:
                return function(*given, **named)
            finally:
                self.switch()
                self._inner.pop()
                if len(self._inner) == 1:
                    self.say()

        setattr(owner, name, watched)


def grade(submissions: Path, results: Path, jobs: int, tasks: tuple[str, ...], *, parts: bool) -> None:
    """Grade, and print what it took as JSON. What the sandbox meters of each job is added up over all processes."""
    from labgrade.cli import YOUNG
    from labgrade.run import class_run
    from labgrade.run.plan import RunRequest
    from labgrade.sandbox.host.fork_server import ForkServer
    from labgrade.sandbox.host.servers import READER
    from labgrade.sandbox.runner import Runner
    from labgrade.spec.load import chosen

    gc.set_threshold(YOUNG)  # as `labgrade grade` does
    watch = Stopwatch()
    run, begin = Runner._run, ForkServer.__init__  # noqa: SLF001 - nobody else needs the sums

    def metered(self: Runner, job: Job) -> Ending:
        ending = run(self, job)
        seconds = ending.exit.seconds if ending.exit is not None else 0.0
        watch.add("read" if job.server == READER else "own", seconds)  # reading is labgrade's own code
        return ending

    def begun(self: ForkServer, *given: Any, **named: Any) -> None:
        begin(self, *given, **named)
        watch.add("servers", sum(_cpu(pid, itself=True) for pid in _below(self._process.pid)))

    Runner._run, ForkServer.__init__ = metered, begun  # type: ignore[method-assign]  # noqa: SLF001
    for part, places in PARTS.items():
        for place in places if parts else ():
            module, owner, name = place.split(":")
            there = importlib.import_module(f"labgrade.{module}")
            watch.watch(getattr(there, owner) if owner else there, name, part)
    request = RunRequest(source=submissions, results=results, root=ROOT, tasks=tasks, jobs=jobs)
    start = time.perf_counter()
    *_, finished = class_run.grade(request, lambda found: chosen(found, None, list(tasks)))
    wall = time.perf_counter() - start
    watch.say()
    spent = {name: each.value for name, each in watch.spent.items()}
    print(json.dumps({"wall": wall, "own": spent.pop("own"), "ran": finished.ran, "parts": spent if parts else {}}))


@dataclass(frozen=True, slots=True)
class Cost:
    """One run. Seconds, and bytes at the peak: of the grader's processes, and of all with servers and jobs.

    `parts`: of the grader's own processes, of readers, and of servers until they serve; `expected`: of the processes
    that compute expected values.
    """

    wall: float
    cpu: float
    own: float
    parts: Mapping[str, float]
    expected: float
    ran: int
    grader: int
    everything: int


def measured(submissions: Path, results: Path, jobs: int, tasks: tuple[str, ...] = TASKS) -> Cost:
    """Grade in a new process, and look at its memory meanwhile."""
    command = [sys.executable, __file__, "--grade", str(submissions), str(results), "--jobs", str(jobs)]
    command += ["--tasks", ",".join(tasks), *(["--where"] if "--where" in sys.argv else [])]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    peaks = [0, 0]
    cpu = [0.0]
    expected: dict[int, float] = {}
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(_SAMPLE_SECONDS):
            family = _below(process.pid)
            cpu[0] = max(cpu[0], sum(map(_cpu, family)))
            expected.update({pid: _cpu(pid, itself=True) for pid in family if _role(pid) == "expected"})
            sizes = [(pid, _memory(pid)) for pid in family]
            peaks[0] = max(peaks[0], sum(size for pid, size in sizes if _role(pid) == "grader"))
            peaks[1] = max(peaks[1], sum(size for _, size in sizes))

    looking = threading.Thread(target=look)
    looking.start()
    said, _ = process.communicate()
    ended.set()
    looking.join()
    if process.returncode:
        sys.exit(f"the run over {submissions} failed")
    return Cost(**json.loads(said), expected=sum(expected.values()), cpu=cpu[0], grader=peaks[0], everything=peaks[1])


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
    """Which of labgrade's processes it is: `expected`, `grader`; none for the sandbox's."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        name = Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
    expected = name == "expected-values" or b"labgrade.truth.worker" in command
    return "expected" if expected else "grader" if b"--grade" in command else ""


def where(cost: Cost, size: int) -> str:
    """Where the overhead goes. What nobody measured is the sandbox's: subjects, forks, and what looks after jobs."""
    own = {name: cost.parts[name] for name in PARTS}
    parts = {"start": cost.parts["start"] + cost.parts["servers"], **own}
    parts["reading"] += cost.parts["read"]
    parts["expected values"] += cost.expected
    parts["sandbox"] += cost.cpu - cost.own - sum(parts.values())
    return ", ".join(f"{name} {seconds / size:.3f} s" for name, seconds in parts.items())


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
    costs = []
    for name, endless in (("without", ()), ("with", ENDLESS)):
        make(folder / name / "submissions", 20)
        for number, called in enumerate(endless):
            file = folder / name / "submissions" / f"student{len(KINDS) * number:03}" / "hw2_1.py"
            loop = f"def {called}(*given):\n    while True: pass\n"
            file.write_text(file.read_text(encoding="utf-8") + loop, encoding="utf-8")
        costs.append(measured(folder / name / "submissions", folder / name / "results", jobs, tasks))
    without, ended = costs
    longer = max(1.0, without.wall * jobs / without.cpu)
    most = WITH_LOOPS * without.wall + len(ENDLESS) * LIMIT * longer
    print(f"a class of 20: {without.wall:.0f} s; with {len(ENDLESS)} endless functions {ended.wall:.0f} s", end="")
    print(f" (at most {most:.0f} s, a limit lasting {longer:.1f} times as long)", end="")
    print(f"; CPU {without.cpu:.0f} and {ended.cpu:.0f} s")
    return ended.wall <= most


# ---- all of them -----------------------------------------------------------------------------------------------


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=lambda text: tuple(map(int, text.split(","))))
    parser.add_argument("--quick", action="store_true", help=f"classes of {', '.join(map(str, QUICK))}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--alone", type=int, default=11, help="students that are graded by a process each")
    parser.add_argument("--where", action="store_true", help="say where the overhead goes, which adds to it")
    parser.add_argument("--loops", action="store_true", help="only what endless functions cost a class of 20")
    parser.add_argument("--tasks", type=lambda text: tuple(text.split(",")), default=TASKS, help="with --loops")
    parser.add_argument("--lab", choices=LABS, default="", help="a class of this lab; with --alone 0")
    parser.add_argument("--grade", nargs=2, type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def classes(folder: Path, sizes: Sequence[int], jobs: int, lab: str = "") -> tuple[float | None, bool]:
    """Grade classes, and print a line for each; how memory grew, if that is known, and whether reruns were short."""
    kinds = len(LABS[lab][2]) if lab else len(KINDS)
    files = sorted((ROOT / "specs" / lab).glob("*-*.yaml")) if lab else ()
    tasks = tuple(file.stem for file in files) or TASKS
    make(folder / "first/submissions", kinds, lab)
    cost = measured(folder / "first/submissions", folder / "first/results", jobs, tasks)
    print(f"first of its course: {kinds} students, {cost.cpu:.0f} s of CPU, of it theirs {cost.own:.0f} s")
    print(f"{'class':>6} {'students/min':>13} {'wall':>8} {'CPU a student':>14} {'of it theirs':>13}", end="")
    print(f" {'overhead':>9} {'grader':>9} {'everything':>11} {'again':>8} {'ratio':>7}")
    first: list[Cost] = []
    kept = True
    for size in sizes:
        handed_in, results = folder / str(size) / "submissions", folder / str(size) / "results"
        make(handed_in, size, lab)
        cost, again = measured(handed_in, results, jobs, tasks), measured(handed_in, results, jobs, tasks)
        first.append(cost)
        kept &= not again.ran and (size < SIZES[-1] or again.wall * RERUN <= cost.wall)
        print(f"{size:>6} {60 * size / cost.wall:>13.1f} {cost.wall:>6.1f} s {cost.cpu / size:>12.2f} s", end="")
        print(f" {cost.own / size:>11.2f} s {cost.cpu / cost.own - 1:>8.1%} {cost.grader >> 20:>5} MiB", end="")
        print(f" {cost.everything >> 20:>7} MiB {again.wall:>6.1f} s {cost.wall / again.wall:>6.0f}x", flush=True)
        if cost.parts:
            print(f"       overhead a student: {where(cost, size)}", flush=True)
    steady = [each.grader for each, size in zip(first, sizes, strict=True) if size >= STEADY]
    return (steady[-1] / steady[0] if len(steady) > 1 else None), kept


def one_by_one(submissions: Path, count: int, jobs: int) -> None:
    """Print what some students cost by a pytest process each."""
    each = alone(submissions, count)
    print(f"one pytest process a student: {each:.1f} s each, measured on {count}; extrapolated: {60 / each:.1f}")
    print(f"students a minute one by one, at best {60 / each * jobs:.1f} with {jobs} at a time")


def main() -> int:
    """Print the table; 1 where a promise is not kept."""
    options = _options()
    if options.grade:
        grade(options.grade[0], options.grade[1], options.jobs, options.tasks, parts=options.where)
        return 0
    for part in ("labgrade", "reference", "checkers", "models"):
        compileall.compile_dir(ROOT / part, quiet=1)  # as after an installation
    with tempfile.TemporaryDirectory(prefix="labgrade-class-") as name:
        folder = Path(name)
        os.environ["LABGRADE_CACHE"] = str(folder / "cache")  # other runs on this machine delete what is not theirs
        if options.loops:
            return 0 if with_loops(folder, options.jobs, options.tasks) else 1
        sizes = options.sizes or (QUICK if options.quick else SIZES)
        growth, kept = classes(folder, sizes, options.jobs, options.lab)
        if options.alone:
            one_by_one(folder / str(sizes[-1]) / "submissions", min(options.alone, sizes[-1]), options.jobs)
    told = f"{growth:.2f} (at most {GROWTH})" if growth is not None else f"unknown: it takes two of {STEADY} or more"
    print(f"memory of the grader, the largest class against one of {STEADY} or more: {told}")
    return 0 if kept and (growth is None or growth <= GROWTH) else 1


if __name__ == "__main__":
    sys.exit(main())
