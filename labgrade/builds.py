"""C++ programs of students: found in a submission, built in the jail, remembered by content.

What is remembered lies in a folder that no jail shows and only the grader writes. Its key is the content of all
sources, the compiler, CMake and torch: a program is built again where one of them changes.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade import build_log
from labgrade.errors import FaultError
from labgrade.model import Limits
from labgrade.sandbox import build_script
from labgrade.sandbox.request import ProgramRequest, ProgramRun
from labgrade.sandbox.visible import decoded, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from labgrade.build_sources import Sources
    from labgrade.sandbox.runner import Runner

LIMITS = Limits(seconds=150.0, memory=4 << 30, output=1 << 20)
_JOBS = "2"
_TOOLS = {"cmake": ("cmake", "g++", "make"), "make": ("g++", "make"), "file": ("g++",)}
_INSTEAD = {"make": "ninja"}  # which CMake may build with, too
_REMEDY = "apt install cmake g++ make; `labgrade doctor` tells what is missing"
_SCRIPT = ".given/build.py"
_ELF = b"\x7fELF"
_SAID_CHARS = 4000
_NOTES_BYTES = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What came of a build: the files that it made, by POSIX path from the sources' folder, or why there are none.

    `failed` is then what a program that can't run comes to, with the reason for the student and the log as `stdout`.
    """

    files: Mapping[str, Path]
    notes: tuple[str, ...] = ()
    failed: ProgramRun | None = None
    hint: str = ""

    @property
    def programs(self) -> tuple[str, ...]:
        """The files that can be run."""
        return tuple(sorted(path for path in self.files if not re.search(r"\.so(\.\d+)*$", path)))


class Builder:
    """Builds each content once. `folder` is where builds are remembered."""

    def __init__(self, runner: Runner, folder: Path) -> None:
        self._runner = runner
        self._folder = folder
        self._tools: dict[str, str] = {}
        self._torch = _torch_folder()

    def build(self, sources: Sources, program: str) -> Built:
        """The build of some sources; remembered, where it was made before.

        Raises:
            FaultError: a compiler or CMake is missing, or the sandbox failed.
        """
        versions = [self._version(tool) for tool in _TOOLS[sources.kind]]
        plan = {
            "torch": str(self._torch),
            "kind": sources.kind,
            "source": sources.where,
            "file": sources.file,
            "program": program if sources.kind == "file" else "",
            "jobs": _JOBS,
        }
        script = hashlib.sha256(Path(build_script.__file__).read_bytes()).hexdigest()
        meaning = [plan, versions, importlib.metadata.version("torch"), script, sources.digest()]
        place = self._folder / hashlib.sha256(json.dumps(meaning).encode()).hexdigest()[:40]
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with _alone(place.with_suffix(".lock")):
                return _remembered(place) or self._made(sources, plan, place)
        except OSError as error:
            message = f"no build can be kept in '{self._folder}': {error}"
            raise FaultError(message) from error

    def _made(self, sources: Sources, plan: Mapping[str, str], place: Path) -> Built:
        """Build, and remember what came of it, if it would be the same again."""
        ended = self._runner.execute(
            ProgramRequest(
                command=("python", "-I", _SCRIPT, json.dumps(plan)),
                name=f"building {sources.name}",
                provide={**sources.paths(), _SCRIPT: Path(build_script.__file__)},
                limits=LIMITS,
            )
        )
        if ended.status in ("fault", "missing"):
            raise FaultError(ended.reason)
        log = decoded(ended.stdout)
        failed, hint = _failure(ended, log, sources.name)
        with tempfile.TemporaryDirectory(dir=self._folder, prefix=".making-") as temporary:
            making = Path(temporary) / "made"
            _keep(making, ended, failed, hint)
            if failed is not None and failed.status != "crashed":
                return Built(files={}, failed=failed, hint=hint)
            shutil.rmtree(place, ignore_errors=True)  # of what is damaged
            making.rename(place)
        return _remembered(place) or Built(files={}, failed=failed, hint=hint)

    def _version(self, tool: str) -> str:
        """What a tool says of itself, in the jail that it will work in.

        Raises:
            FaultError: it is not there.
        """
        for name in (tool, *filter(None, [_INSTEAD.get(tool)])):
            if name not in self._tools:
                done = self._runner.execute(ProgramRequest(command=(name, "--version"), limits=Limits(seconds=20.0)))
                if done.status == "fault":
                    raise FaultError(done.reason)
                said = decoded(done.stdout).partition("\n")[0]
                self._tools[name] = said if done.status == "returned" and done.code == 0 else ""
            if self._tools[name]:
                return self._tools[name]
        message = f"'{tool}' is needed to build C++ programs, and is not here: {_REMEDY}"
        raise FaultError(message)


def _torch_folder() -> Path:
    found = importlib.util.find_spec("torch")
    if found is None or not found.submodule_search_locations:  # pragma: no cover - torch is a dependency
        message = "torch is not installed"
        raise FaultError(message)
    return Path(found.submodule_search_locations[0]).resolve()


def _failure(ended: ProgramRun, log: str, name: str) -> tuple[ProgramRun | None, str]:
    """Why there is no program, and what to do about it; (None, "") where the tools ended well."""
    if ended.status == "returned" and ended.code == 0:
        return None, ""
    said = visible(log, _SAID_CHARS).encode()
    if ended.status != "returned":
        return ProgramRun(status=ended.status, reason=ended.reason, stdout=said, seconds=ended.seconds), ""
    limit = build_log.broken_limit(log)
    if limit == "memory":
        reason = f"building {name} takes more than {LIMITS.memory / 1e6:,.0f} MB of memory"
        return ProgramRun(status="memory", reason=reason, stdout=said, seconds=ended.seconds), ""
    if limit == "disk":
        reason = f"building {name} writes files of more than 512 MB: is a large array initialised?"
        return ProgramRun(status="crashed", code=ended.code, reason=reason, stdout=said, seconds=ended.seconds), ""
    reason = visible(f"{name} does not build: {build_log.first_error(log)}", _SAID_CHARS)
    failed = ProgramRun(status="crashed", code=ended.code, reason=reason, stdout=said, seconds=ended.seconds)
    return failed, build_log.remedy(log)


def _keep(folder: Path, ended: ProgramRun, failed: ProgramRun | None, hint: str) -> None:
    """Write what is remembered: programs and libraries, and a list of them with all that is to be said."""
    folder.mkdir()
    names: list[str] = []
    for path, data in sorted(ended.files.items()):
        if failed is None and data.startswith(_ELF) and _is_within(path) and "/CMakeFiles/" not in f"/{path}":
            (folder / str(len(names))).write_bytes(data)
            (folder / str(len(names))).chmod(0o755)
            names.append(path)
    told = {
        "files": names,
        "notes": _notes(ended.files.get(build_script.SAID, b"")),
        "reason": failed.reason if failed else "",
        "log": failed.stdout.decode() if failed else "",
        "hint": hint,
    }
    (folder / "built.json").write_text(json.dumps(told), encoding="utf-8")


def _notes(said: bytes) -> list[str]:
    """What the script noted; a build of the student's may have changed it, so that it is read as theirs."""
    try:
        notes = json.loads(said[:_NOTES_BYTES])["notes"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []
    if not isinstance(notes, list):
        return []
    return [visible(note, _SAID_CHARS)[:300] for note in notes[:5] if isinstance(note, str)]


def _is_within(path: str) -> bool:
    """Whether a path leads to a place below the sources. A build may have tampered with what collects its files."""
    return "\0" not in path and not {"", ".", ".."} & set(path.split("/"))


def _remembered(place: Path) -> Built | None:
    try:
        told = json.loads((place / "built.json").read_text(encoding="utf-8"))
        files = {path: place / str(number) for number, path in enumerate(told["files"])}
        if not all(path.is_file() for path in files.values()):
            return None
    except (OSError, ValueError, KeyError):
        return None
    failed = (
        ProgramRun(status="crashed", reason=told["reason"], stdout=told["log"].encode()) if told["reason"] else None
    )
    return Built(files=files, notes=tuple(told["notes"]), failed=failed, hint=told["hint"])


@contextlib.contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """One build of a content at a time, also among the processes of a run; where there are no locks, each builds."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                os.unlink(lock)  # noqa: PTH108 - suppressed as a whole
