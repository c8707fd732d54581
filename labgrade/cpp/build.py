"""C++ programs of students: found in a submission, built in the jail, remembered by content.

What is remembered lies in a folder that no jail shows and only the grader writes. Its key is the content of all
sources, the compiler, CMake and torch: a program is built again where one of them changes.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.core.errors import FaultError
from labgrade.core.results import Submission
from labgrade.core.task import Limits
from labgrade.core.text import decoded, excerpt
from labgrade.cpp import build_script
from labgrade.cpp import explain as explaining
from labgrade.files.cache import Cache, key_of
from labgrade.sandbox.requests import ProgramRequest, ProgramRun

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labgrade.cpp.explain import Explain
    from labgrade.cpp.sources import Sources
    from labgrade.sandbox.runner import Runner

LIMITS = Limits(seconds=150.0, memory=4 << 30, output=1 << 20)
_WALL_SECONDS = 240.0  # a build that waits for nothing holds up the submissions after it
_JOBS = "2"
_TOOLS = {"cmake": ("cmake", "g++", "make"), "make": ("g++", "make"), "file": ("g++",)}
_INSTEAD = {"make": "ninja"}  # which CMake may build with, too
_REMEDY = "apt install cmake g++ make; `labgrade doctor` tells what is missing"
_SCRIPT = ".given/build.py"
_ELF = b"\x7fELF"
_SAID_CHARS = 4000
_NOTES_BYTES = 1 << 16
_MOST_NOTES, _NOTE_CHARS = 5, 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """The outcome of a build: the files that it made, by POSIX path from the sources' folder, or why there are none.

    `failed` is then what a program that can't run comes to, with the reason for the student and the log as `stdout`.
    """

    files: Mapping[str, Path]
    notes: tuple[str, ...] = ()
    failed: ProgramRun | None = None
    hint: str = ""

    @property
    def programs(self) -> tuple[str, ...]:
        """Return the files that can be run."""
        return tuple(sorted(path for path in self.files if not re.search(r"\.so(\.\d+)*$", path)))


class _NotKeptError(Exception):
    def __init__(self, built: Built) -> None:
        super().__init__()
        self.built = built


class Builder:
    """Builds programs, each content once. `folder` keeps the builds; `explain` reads what tools printed."""

    def __init__(self, runner: Runner, folder: Path, explain: Explain = explaining.read) -> None:
        self._explain = explain
        self._runner = runner
        self._folder = folder
        self._cache = Cache(folder)
        self._tools: dict[str, str] = {}
        self._torch = _torch_folder()

    def build(self, sources: Sources, program: str) -> Built:
        """Return the build of some sources, a remembered one if there is one.

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
        try:
            return _read(self._cache.get(key_of(*meaning), lambda folder: self._make(sources, plan, folder)))
        except _NotKeptError as error:
            return error.built
        except OSError as error:
            message = f"no build can be kept in '{self._folder}': {error}"
            raise FaultError(message) from error

    def _make(self, sources: Sources, plan: Mapping[str, str], folder: Path) -> None:
        """Build, and store the result if another try would give the same.

        Raises:
            _NotKeptError: it may not be: time, memory or output did not suffice.
        """
        ended = self._runner.execute(
            ProgramRequest(
                command=("python", "-I", _SCRIPT, json.dumps(plan)),
                name=f"building {sources.name}",
                provide={**sources.paths(), _SCRIPT: Path(build_script.__file__)},
                limits=LIMITS,
                wall=_WALL_SECONDS,
            )
        )
        if ended.status in ("fault", "missing"):
            raise FaultError(ended.reason)
        log = decoded(ended.stdout)
        failed, hint = self._failure(ended, log, sources)
        if failed is not None and failed.status != "crashed":
            raise _NotKeptError(Built(files={}, failed=failed, hint=hint))
        _keep(folder, ended, failed, hint)

    def _failure(self, ended: ProgramRun, log: str, sources: Sources) -> tuple[ProgramRun | None, str]:
        """Return why there is no program, and what to do; (None, "") where the tools succeeded."""
        if ended.status == "returned" and ended.code == 0:
            return None, ""
        failed = replace(ended, code=None, stdout=excerpt(log, _SAID_CHARS).encode(), stderr=b"", files={})
        if ended.status != "returned":
            return failed, ""
        submission = Submission(name="", folder=sources.folder, files=sources.files)
        found = self._explain("log", submission, log[: explaining.MOST_CHARS])
        limit, error, hint = found or ("", "what the tools said takes too long to read", "")
        match limit:
            case "memory":
                reason = f"building {sources.name} takes more than {LIMITS.memory / 1e6:,.0f} MB of memory"
                return replace(failed, status="memory", reason=reason), ""
            case "disk":
                reason = f"building {sources.name} writes files of more than 512 MB: is a large array initialised?"
                return replace(failed, status="crashed", code=ended.code, reason=reason), ""
        reason = excerpt(f"{sources.name} does not build: {error}", _SAID_CHARS)
        return replace(failed, status="crashed", code=ended.code, reason=reason), hint

    def _version(self, tool: str) -> str:
        """Return a tool's version, asked in the jail in which it will work.

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


def _keep(folder: Path, ended: ProgramRun, failed: ProgramRun | None, hint: str) -> None:
    """Store a build: its programs and libraries, and a list of them with the notes."""
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
    """Return the build script's notes, one a line. The student's build may have changed them: don't trust them."""
    lines = decoded(said[:_NOTES_BYTES]).splitlines()[:_MOST_NOTES]
    return [excerpt(line, _NOTE_CHARS) for line in lines if line.strip()]


def _is_within(path: str) -> bool:
    """Return whether a path leads below the sources. A build may have tampered with the list of its files."""
    return "\0" not in path and not {"", ".", ".."} & set(path.split("/"))


def _read(place: Path) -> Built:
    told = json.loads((place / "built.json").read_text(encoding="utf-8"))
    files = {path: place / str(number) for number, path in enumerate(told["files"])}
    failed = (
        ProgramRun(status="crashed", reason=told["reason"], stdout=told["log"].encode()) if told["reason"] else None
    )
    return Built(files=files, notes=tuple(told["notes"]), failed=failed, hint=told["hint"])
