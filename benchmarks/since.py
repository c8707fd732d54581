"""What became of labgrade's costs since a commit: both are built side by side, run in turn, and compared.

    python benchmarks/since.py 672a1f12 [--rounds 5] [--only pytest,class,tiling] [--size 25]
    python benchmarks/since.py 672a1f12 --only jail,class,desk        # what protection costs

The commit is checked out into a worktree beside its own environment, which shares the packages of the present one: no
package is installed. Each row is run for both in turn, in every round; printed are the medians and their ratio. CPU is
that of all processes, servers and jobs included: of a control group where one can be made (cgroup v1 or v2, as root),
else of what was waited for, which leaves out jobs of servers, and the head says so. Memory is the sum of shares (PSS).
A row that a commit can't run is left out for it.
"""

from __future__ import annotations

import argparse
import compileall
import contextlib
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

ROOT = Path(__file__).parents[1]
_V1, _V2 = Path("/sys/fs/cgroup/cpuacct"), Path("/sys/fs/cgroup")
_SAMPLE_SECONDS = 0.2
_GIT = shutil.which("git") or "git"
_ONE = "specs/acal-lab2/2-1-4-macs.yaml"  # whose exemplar of a wrong answer is explained
_TILED = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
import onnx
from labgrade.subjects import onnx_export
from tests.reference.tiling.tilings import Way, tiled
original, student = Path({folder!r}, "alexnet.onnx"), Path({folder!r}, "student.onnx")
if not student.is_file():
    subject = dict(model="torchvision/alexnet.onnx", shape=[1, 3, 224, 224], fill="normal", input_seed=0)
    subject |= dict(options=dict(), weight_seed=0)
    onnx_export.make(original, subject)
    onnx.save(tiled(onnx.load(original), Way()), student)
"""
_PROOF = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from reference.tiling import tiling_findings
assert not [each for each in tiling_findings(Path({student!r}), original={original!r}) if each.get("certain", True)]
"""
_TRIVIAL = """
import sys, tempfile
from pathlib import Path
sys.path.insert(0, {root!r} + "/benchmarks")
if __name__ == "__main__":
    from sandbox import TRIVIAL, Runner, warm
    with tempfile.TemporaryDirectory() as folder, Runner() as runner:
        check = warm(runner, Path(folder), TRIVIAL, None)
        for _ in range({times}):
            check()
"""
# As a browser asks, without one: the page of an answer, its form, the page that comes of it.
_ANSWERS = """
import html, http.client, re, sys, tempfile, time
from pathlib import Path
from urllib.parse import urlencode, urljoin, urlsplit
sys.path[:0] = [{root!r} + "/benchmarks", {root!r} + "/tests"]
import desk

def fields(page):
    (form,) = re.findall(r'<form[^>]* id="mark".*?</form>', page, re.DOTALL)
    for tag in re.findall("<input[^>]*>", form):
        given = dict(re.findall(r'(\\w+)="([^"]*)"', tag))
        yield given["name"], "1" if given["name"].startswith("points") else html.unescape(given.get("value", ""))
    yield "comment", ""

with tempfile.TemporaryDirectory() as name:
    (Path(name) / "specs/lab2").mkdir(parents=True)
    (Path(name) / "specs/lab2/lab.yaml").write_text("title: Lab\\n")
    desk.write_class(Path(name, "results"), 2 * {times})
    running, link = desk.opened(Path(name, "results"), Path(name))
    cookies = dict()
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(link).port)

    def ask(url, form=None):
        parts = urlsplit(url)
        headers = dict(Host=parts.netloc, Cookie="; ".join("=".join(each) for each in cookies.items()))
        if form is not None:
            headers |= {{"Origin": "http://" + parts.netloc, "Content-Type": "application/x-www-form-urlencoded"}}
        connection.request("GET" if form is None else "POST", parts.path + "?" + parts.query, form, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        cookies.update(each.split(";")[0].split("=", 1) for each in answer.headers.get_all("set-cookie", []))
        return ask(urljoin(url, answer.headers["location"])) if answer.status in (302, 303, 307) else (url, text)

    for _ in range(50):  # the link may be printed before anybody listens
        try:
            connection.connect()
            break
        except OSError:
            time.sleep(0.2)
    try:
        at, text = ask(link)
        at, text = ask(urljoin(at, html.unescape(re.search('href="(/question[^"]*)"', text)[1])))
        for _ in range({times}):
            at, text = ask(urljoin(at, "/decide"), urlencode(list(fields(text))))
    finally:
        running.terminate()
        running.wait()
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of CPU and by the clock, bytes at the peak."""

    cpu: float
    wall: float
    memory: int


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: its name, its checkout, its Python, and a folder of its own for caches and results."""

    name: str
    root: Path
    python: Path
    place: Path

    def run(self, command: Sequence[str], cache: str = "cache") -> Cost:
        """Run a command of this side's, and meter it."""
        own = {
            "LABGRADE_CACHE": str(self.place / cache),
            "OMP_NUM_THREADS": "1",
            "VIRTUAL_ENV": str(self.python.parents[1]),
        }
        return metered([str(self.python), *command], self.root, {**os.environ, **own})


def metered(command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> Cost:
    """What a command costs, with all that comes of it."""
    with _group() as (enter, spent):
        before, start = _waited_for(), time.perf_counter()
        process = subprocess.Popen(
            [*enter, *command], cwd=cwd, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        peak, ended = [0], threading.Event()

        def look() -> None:
            while not ended.wait(_SAMPLE_SECONDS):
                peak[0] = max(peak[0], sum(map(_share, _below(process.pid))))

        looking = threading.Thread(target=look)
        looking.start()
        code = process.wait()
        wall = time.perf_counter() - start
        ended.set()
        looking.join()
        cpu = spent() if spent is not None else _waited_for() - before
    if code and (code > 1 or "-c" in command):  # 1 of a command: some check is not right
        message = f"exit code {code}: {' '.join(command)}"
        raise RuntimeError(message)
    return Cost(cpu, wall, peak[0])


@contextlib.contextmanager
def _group() -> Iterator[tuple[Sequence[str], Callable[[], float] | None]]:
    """What has a command enter a control group, and what is spent in it; nothing where none can be made."""
    base = _V1 if _V1.is_dir() else _V2
    place = base / f"labgrade-since-{os.getpid()}"  # the same each time: a run may tell where it is by this
    try:
        place.mkdir()
    except OSError:
        yield (), None
        return
    enter = ("sh", "-c", 'echo $$ > "$0" && exec "$@"', str(place / "cgroup.procs"))

    def spent() -> float:
        if base == _V1:
            return int((place / "cpuacct.usage").read_text()) / 1e9
        return int((place / "cpu.stat").read_text().split()[1]) / 1e6

    try:
        yield enter, spent
    finally:
        for each in (*sorted((path for path in place.rglob("*") if path.is_dir()), reverse=True), place):
            with contextlib.suppress(OSError):
                each.rmdir()


def _waited_for() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _below(pid: int) -> list[int]:
    """A process and all that came of it."""
    try:
        tasks = Path(f"/proc/{pid}/task").glob("*/children")
        children = [int(child) for file in tasks for child in file.read_text().split()]
    except OSError:
        return []
    return [pid, *(other for child in children for other in _below(child))]


def _share(pid: int) -> int:
    """Its share of memory, in bytes: pages that several have count in parts."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    return 0


# ---- the two sides -----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def sides(commit: str, folder: Path) -> Iterator[tuple[Side, Side]]:
    """The commit, built, and the present working tree."""
    old = folder / "base"
    subprocess.run([_GIT, "worktree", "add", "--quiet", "--detach", str(old), commit], cwd=ROOT, check=True)
    try:
        python = _environment(old, folder / "base-venv")
        for root in (old, ROOT):  # as after an installation, also where Python writes no bytecode
            for part in ("labgrade", "reference", "checkers", "models"):
                compileall.compile_dir(root / part, quiet=1)
        yield (
            Side("base", old, python, _made(folder / "of-base")),
            Side("now", ROOT, Path(sys.executable), _made(folder / "of-now")),
        )
    finally:
        subprocess.run([_GIT, "worktree", "remove", "--force", str(old)], cwd=ROOT, check=False)


def _environment(root: Path, place: Path) -> Path:
    """An environment with the packages of this one, in which labgrade is that of `root`."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    here = next(each for each in sys.path if each.endswith("site-packages"))
    (there,) = place.glob("lib/python*/site-packages")
    # As lines of a .pth file: a jail shows what is on the search path, and not what links lead to.
    (there / "_labgrade.pth").write_text(f"import sys; sys.path.insert(0, {str(root)!r})\n{here}\n")
    python = next(place.glob("bin/python"))
    asked = [str(python), "-c", "import labgrade, pytest, torch; print(labgrade.__file__)"]
    said = subprocess.run(asked, cwd=place, check=True, capture_output=True, text=True).stdout
    if not Path(said.strip()).is_relative_to(root):  # what fails to start costs little
        message = f"the environment of {root} has the labgrade of {said}"
        raise RuntimeError(message)
    return python


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


# ---- the rows ----------------------------------------------------------------------------------------------------


def _pytest(side: Side, cache: str, *more: str) -> Cost:
    return side.run(["-m", "pytest", "-q", "-p", "no:cacheprovider", *more], cache)


def first_and_again(side: Side, number: int, _size: int) -> dict[str, Cost]:
    """A hand-in with an empty memory, then unchanged."""
    cache = f"cache-{number}"
    return {
        "pytest, first time": _pytest(side, cache, "--submission=student42"),
        "pytest, unchanged": _pytest(side, cache, "--submission=student42"),
    }


def explained(side: Side, number: int, _size: int) -> dict[str, Cost]:
    """The first wrong answer of a task: expected values are known, no verdict and no counterexample is."""
    cache = f"cache-explained-{number}"
    _pytest(side, cache, "--submission=exemplar", _ONE)
    return {"first wrong answer explained": _pytest(side, cache, "--submission=student42", _ONE)}


def a_class(side: Side, number: int, size: int) -> dict[str, Cost]:
    """A class of HW 2-1, on a course of which one of each kind was graded before."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("class_benchmark", ROOT / "benchmarks/class.py")
    assert spec is not None and spec.loader is not None  # noqa: PT018, S101 - it lies beside this file
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    for name, count in (("known", len(module.KINDS)), ("class", size)):
        if not (side.place / name).exists():
            module.make(side.place / name, count)
    tasks = [word for task in module.TASKS for word in ("--task", task)]

    def graded(name: str) -> Cost:
        out = side.place / f"results-{name}-{number}"
        return side.run(
            ["-m", "labgrade.cli", "grade", str(side.place / name), "--out", str(out), "--jobs", "1", *tasks],
            f"class-{number}",
        )

    graded("known")
    return {f"class of {size}": graded("class")}


def tiling(side: Side, _number: int, _size: int) -> dict[str, Cost]:
    """The proof and the run of a tiled AlexNet."""
    side.run(["-c", _TILED.format(root=str(side.root), folder=str(side.place))])
    code = _PROOF.format(root=str(side.root), student=str(side.place / "student.onnx"), original="alexnet.onnx")
    return {"tiled AlexNet": side.run(["-c", code])}


def exemplars(side: Side, number: int, _size: int) -> dict[str, Cost]:
    """The right solution, with an empty memory."""
    return {"exemplar, first time": _pytest(side, f"cache-exemplar-{number}", "--submission=exemplar")}


def _each(side: Side, code: str, times: int) -> Cost:
    """What one of many costs: the difference between ten more than `times` of them and ten."""
    few, many = (
        side.run(["-c", code.format(root=str(side.root), times=count)], "cache-each") for count in (10, 10 + times)
    )
    return Cost((many.cpu - few.cpu) / times * 1e3, (many.wall - few.wall) / times * 1e3, many.memory)


def jail(side: Side, _number: int, _size: int) -> dict[str, Cost]:
    """A function that returns a number, called in the jail."""
    return {"trivial check (ms)": _each(side, _TRIVIAL, 200)}


def desk(side: Side, _number: int, _size: int) -> dict[str, Cost]:
    """An answer that is marked at the desk: the form is taken in, and the page of the next one comes."""
    return {"answer at the desk (ms)": _each(side, _ANSWERS, 100)}


ROWS = {
    "jail": jail,
    "desk": desk,
    "pytest": first_and_again,
    "exemplar": exemplars,
    "explained": explained,
    "class": a_class,
    "tiling": tiling,
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", nargs="?", default="672a1f12")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(ROWS), help=", ".join(ROWS))
    parser.add_argument("--size", type=int, default=25, help="students of the class")
    options = parser.parse_args()
    asked = [_GIT, "rev-parse", "--verify", "--quiet", f"{options.commit}^{{commit}}"]
    known = subprocess.run(asked, cwd=ROOT, check=False, capture_output=True)
    if known.returncode:
        parser.error(f"there is no commit '{options.commit}' here")
    if unknown := [row for row in options.only if row not in ROWS]:
        parser.error(f"there is no row '{unknown[0]}'; there are {', '.join(ROWS)}")
    found: dict[str, dict[str, list[Cost]]] = {}
    with _group() as (enter, _):
        print(f"CPU of {'all processes' if enter else 'what was waited for: no control group can be made here'}")
    with tempfile.TemporaryDirectory(prefix="labgrade-since-") as name, sides(options.commit, Path(name)) as both:
        for number in range(options.rounds):
            for row in options.only:
                for side in both if number % 2 == 0 else reversed(both):  # neither always comes first
                    for title, cost in ROWS[row](side, number, options.size).items():
                        found.setdefault(title, {}).setdefault(side.name, []).append(cost)
    heads = "".join(f"{head:>{width}}{'ratio':>7} " for head, width in (("CPU s", 22), ("wall s", 23), ("peak MB", 17)))
    print(f"{'medians of ' + str(options.rounds):<32}{heads}")
    for title, costs in found.items():
        if len(costs) == len(both):
            print(_line(title, costs["base"], costs["now"]))


def _line(title: str, base: list[Cost], now: list[Cost]) -> str:
    parts = [f"{title:<32}"]
    for unit, scale, width in (("cpu", 1.0, 9), ("wall", 1.0, 9), ("memory", 2.0**20, 6)):
        old, new = (statistics.median(getattr(each, unit) for each in costs) / scale for costs in (base, now))
        digits = 0 if unit == "memory" else 2
        parts.append(f"{old:>{width}.{digits}f} ->{new:>{width}.{digits}f}{new / old if old else 0:>8.2f}")
    return " ".join(parts)


if __name__ == "__main__":
    main()
