"""What this machine offers: `labgrade doctor` tries it, and says of all that is missing what to do about it."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.core.task import InputSpec, Limits, SubjectSpec
from labgrade.core.text import decoded
from labgrade.files.cache import missing, version_of
from labgrade.sandbox.requests import CallRequest, ProgramRequest
from labgrade.sandbox.runner import Runner
from labgrade.spec import course, load

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from labgrade.core.results import Execution

_LIBRARIES = ("torch", "torchvision", "onnx", "onnxruntime")
_BUILDING = ("cmake", "g++", "make")
_BUILDS = "needed to build students' C++ programs: apt install cmake g++ make"
_PROGRAMS = {"bwrap": "protects where other namespaces are refused: apt install bubblewrap"}
_SPACE_BYTES = 4 << 30
_LIMITS = Limits(seconds=20.0)
_CANARIES = {
    "reading a file of yours": "def canary(): return open({file!r}).read()",
    "calling a server of yours": (
        "import socket\n"
        "def canary():\n"
        "    with socket.create_connection(('127.0.0.1', {port}), timeout=3): return 'connected'"
    ),
    "ending a process of yours": "import os\ndef canary(): os.kill({victim}, 15); return 'sent'",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineCheck:
    """One thing that was examined. `good` is None for what only some people need; `remedy` says what to do."""

    what: str
    good: bool | None
    found: str
    remedy: str = ""


def examine(runner: Runner) -> Iterator[MachineCheck]:
    """Yield the result of each examination in turn; the first that loads torch is slow."""
    yield from _protection(runner)
    yield from _server(runner)
    yield from _canaries(runner)
    for name in _LIBRARIES:
        yield _library(name)
    for name in _BUILDING:
        yield _tool(runner, name)
    for name, use in _PROGRAMS.items():
        yield _program(name, use)
    yield from _packages(Path.cwd())
    yield _report_formats()
    yield _space()


def _protection(runner: Runner) -> Iterator[MachineCheck]:
    protection = runner.protection
    for note in protection.notes:
        if note.kind == "protection":
            yield MachineCheck(what="protection", good=protection.tier != "D", found=note.found)
        elif note.kind == "missing":
            yield MachineCheck(what="protection", good=False, found=f"missing: {note.found}", remedy=note.remedy)
        elif note.kind == "shared":  # what fails beside others is tried once more, alone
            yield MachineCheck(what="shared", good=None, found=note.found, remedy=note.remedy)
        else:  # polling is good enough
            yield MachineCheck(what="memory", good=None if note.remedy else True, found=note.found, remedy=note.remedy)


def _server(runner: Runner) -> Iterator[MachineCheck]:
    """Examine whether the sandbox can call a function with a model, and how fast."""
    start = time.monotonic()
    execution = _call(runner, "def canary(model): return sum(p.numel() for p in model.parameters())", model=True)
    first = time.monotonic() - start
    if execution.status != "returned":
        reason = f"{execution.status}: {execution.reason}"
        yield MachineCheck(
            what="students' functions", good=False, found=reason, remedy="see docs/security.md, or report it"
        )
        return
    start = time.monotonic()
    _call(runner, "def canary(model): return 1", model=True)
    again = time.monotonic() - start
    found = f"called; the first after {first:.1f} s, another after {again * 1000:.0f} ms"
    yield MachineCheck(what="students' functions", good=True, found=found)


def _canaries(runner: Runner) -> Iterator[MachineCheck]:
    """Try three attacks in the same way in which students' code runs."""
    with tempfile.NamedTemporaryFile("w", prefix="canary-") as file, socket.create_server(("127.0.0.1", 0)) as server:
        file.write("sings")
        file.flush()
        victim = subprocess.Popen(["sleep", "60"])  # noqa: S607 - whichever there is
        aims = {"file": file.name, "port": server.getsockname()[1], "victim": victim.pid}
        for what, source in _CANARIES.items():
            execution = _call(runner, source.format(**aims))
            hit = execution.status == "returned" or (victim.poll() is not None)
            good = not hit and execution.status == "crashed"
            found = "it worked" if hit else "refused" if good else f"{execution.status}: {execution.reason}"
            yield MachineCheck(what=f"an attack, {what}", good=good, found=found, remedy="" if good else _NOT_STOPPED)
        victim.send_signal(signal.SIGKILL)
        victim.wait()


_NOT_STOPPED = "grade others' work in a virtual machine, or do first what is said under protection"


def _call(runner: Runner, source: str, *, model: bool = False) -> Execution:
    with tempfile.TemporaryDirectory(prefix="labgrade-doctor-") as folder:
        Path(folder, "canary.py").write_text(source, encoding="utf-8")
        subject = SubjectSpec(model="micro/dilated", input=InputSpec(shape=(1, 3, 32, 32)))
        request = CallRequest(
            folder=Path(folder),
            file="canary.py",
            function="canary",
            given=("model",) if model else (),
            subject=subject if model else None,
            limits=_LIMITS,
        )
        return runner.run(request)


def _library(name: str) -> MachineCheck:
    remedy = f"pip install -c constraints.txt {name}"
    try:
        version = importlib.metadata.version(name)
        wanted = _wanted(name)
    except importlib.metadata.PackageNotFoundError:
        return MachineCheck(what=name, good=False, found="not installed", remedy=remedy)
    if wanted and _version_numbers(version) < _version_numbers(wanted):
        return MachineCheck(what=name, good=False, found=f"{version} is older than {wanted}", remedy=remedy)
    return MachineCheck(what=name, good=True, found=version)


def _wanted(name: str) -> str:
    """The oldest version that labgrade's own metadata allows; nothing where it is not installed itself."""
    for line in _required():
        package, _, oldest = line.partition(">=")
        if package.strip() == name:
            return oldest.partition(";")[0].strip()
    return ""


def _required() -> Sequence[str]:
    """What labgrade's own metadata names; nothing where it is not installed itself."""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.requires("labgrade") or ()
    return ()


def _version_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.partition("+")[0].split(".")[:3] if part.isdigit())


def _tool(runner: Runner, name: str) -> MachineCheck:
    """Examine whether a build tool can be found in the sandbox."""
    done = runner.execute(ProgramRequest(command=(name, "--version"), limits=_LIMITS))
    if done.status == "returned" and done.code == 0:
        return MachineCheck(what=name, good=True, found=decoded(done.stdout).partition("\n")[0])
    if done.status == "fault":
        return MachineCheck(what=name, good=False, found=done.reason, remedy="see docs/security.md, or report it")
    elsewhere = shutil.which(name)
    found = f"in '{elsewhere}', which the sandbox does not look into" if elsewhere else "not there"
    return MachineCheck(what=name, good=None, found=found, remedy=_BUILDS)


def _program(name: str, use: str) -> MachineCheck:
    path = shutil.which(name)
    if path is None:
        return MachineCheck(what=name, good=None, found="not there", remedy=use)
    done = subprocess.run([path, "--version"], check=False, capture_output=True, text=True)
    first = done.stdout.strip().splitlines()[:1]
    return MachineCheck(what=name, good=True, found=first[0] if first else path)


def _packages(folder: Path) -> Iterator[MachineCheck]:
    """Examine whether each package that the course's tasks need is installed."""
    found = course.find(folder)
    needed: dict[str, list[str]] = {}
    for read in load.read_all(load.files(found.specs), found):
        for name in read.task.packages if read.task is not None else ():
            needed.setdefault(name, []).append(read.path.stem)
    for name, tasks in needed.items():
        version, count = version_of(name), f"{len(tasks)} task{'s' * (len(tasks) > 1)}"
        remedy = "" if version else f"pip install {name}; without it {', '.join(tasks)} wait for a person"
        found_there = version or f"not installed, needed by {count}"
        yield MachineCheck(what=name, good=True if version else None, found=found_there, remedy=remedy)


def _report_formats() -> MachineCheck:
    """Examine whether .docx, .html and .pdf reports can be read (the extra `reports`)."""
    listed = [line for line in _required() if 'extra == "reports"' in line]
    lacking = missing(re.split(r"[^\w-]", line, maxsplit=1)[0] for line in listed)
    if not lacking:
        return MachineCheck(what=_FORMATS, good=True, found="can be read")
    remedy = "pip install 'labgrade[reports]'; without it they wait for a person"
    return MachineCheck(what=_FORMATS, good=None, found=f"{', '.join(lacking)} not installed", remedy=remedy)


_FORMATS = "reports as .docx, .html, .pdf"


def _space() -> MachineCheck:
    place = tempfile.gettempdir()
    free = shutil.disk_usage(place).free
    good = free >= _SPACE_BYTES
    remedy = "" if good else f"free {_SPACE_BYTES / 1e9:.0f} GB there, or name another folder with TMPDIR"
    return MachineCheck(what="disk", good=good, found=f"{free / 1e9:,.1f} GB free in {place}", remedy=remedy)


def as_json(findings: list[MachineCheck]) -> str:
    """The findings for other programs."""
    plain = [{"what": f.what, "good": f.good, "found": f.found, "remedy": f.remedy} for f in findings]
    return json.dumps(plain, indent=2, ensure_ascii=False)


_LOOKS = {True: ("+", "green"), False: ("x", "red"), None: ("-", "yellow")}


def add_doctor(parser: argparse.ArgumentParser) -> None:
    """The arguments of `doctor`."""
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print every finding as it comes. 0 where nothing is wrong, else 1."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    findings = []
    with Runner() as runner:
        for finding in examine(runner):
            findings.append(finding)
            if options.json:
                continue
            mark, style = _LOOKS[finding.good]
            console.print(
                Text.assemble((f"{mark} ", style), (finding.what, "bold"), f": {finding.found}"), soft_wrap=True
            )
            if finding.remedy:
                console.print(Text(f"    {finding.remedy}", "dim"), soft_wrap=True)
    if options.json:
        print(as_json(findings))  # noqa: T201
    return int(any(finding.good is False for finding in findings))
