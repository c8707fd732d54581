"""The life of a child: put limits on itself, say that it is up, take its job, run it, send one frame, end.

The same code runs in a child forked by the server and in a fresh process. The job (which file, which function) comes
after the child is up and straight from the grader, so that whatever ends it later is the student's doing.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from labgrade.sandbox.perform import perform

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from labgrade.sandbox.perform import Job

UP = b"U"
SETUP_FAILED = 98
_FILE_BYTES = 256 << 20
_OPEN_FILES = 512
_SPARE_BYTES = 2 << 30
_WITH_LENGTH = 4
_exit = os._exit
_write = os.write


@dataclass(frozen=True, slots=True)
class Pipes:
    """The descriptors of a child's own: where the job comes from, where the result and what is printed go."""

    job: int
    result: int
    output: int


@dataclass(frozen=True, slots=True)
class Setup:
    """What a child is told before it is up. `folder` holds `handin`, the copy of the submission, and `tmp`."""

    folder: str
    seconds: float
    memory: int
    given: tuple[str, ...]
    subject: Mapping[str, Any] | None
    model_path: str = ""

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Setup:
        """From the grader's JSON."""
        return cls(**{**data, "given": tuple(data["given"])})


def live(pipes: Pipes, setup: Setup, arguments: Callable[[], Mapping[str, object]], *, forked: bool) -> NoReturn:
    """Never returns. Without UP on the result pipe, whatever happened was a failure of ours."""
    try:
        values = arguments()
        _take_places(pipes, forked=forked)
        _limit(setup)
        _settle(Path(setup.folder))
        _write_all(pipes.result, UP)
        job: Job = json.loads(receive(pipes.job))
        os.close(pipes.job)
    except BaseException:  # noqa: BLE001 - whatever it is, it is told to the grader, and no student code runs
        with contextlib.suppress(BaseException):
            _write_all(2, traceback.format_exc().encode())
        _exit(SETUP_FAILED)
    try:
        frame = perform(job, values, Path(setup.folder) / "handin")
        _flush()
        _write_all(pipes.result, frame)
        _exit(0)
    finally:
        _exit(1)


def receive(pipe: int) -> bytes:
    """One message of the grader's: its length in 4 bytes, then itself."""
    size = int.from_bytes(_read_exactly(pipe, _WITH_LENGTH), "little")
    return _read_exactly(pipe, size)


def message(data: object) -> bytes:
    """What `receive` reads."""
    text = json.dumps(data).encode()
    return len(text).to_bytes(_WITH_LENGTH, "little") + text


def _read_exactly(pipe: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = os.read(pipe, size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def _write_all(pipe: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[_write(pipe, view) :]


def _take_places(pipes: Pipes, *, forked: bool) -> None:
    """Put the null device and the output pipe where a program expects its streams; keep nothing else."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(pipes.output, 1)
    os.dup2(pipes.output, 2)
    if not forked:
        return
    os.setsid()
    keep = sorted((2, pipes.job, pipes.result))
    for low, high in zip(keep, [*keep[1:], 1 << 16], strict=True):
        os.closerange(low + 1, high)


def _limit(setup: Setup) -> None:
    """The kernel's own limits, wider than what is polled from outside: they hold where polling is too slow."""
    try:
        import resource
    except ImportError:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = math.ceil(used.ru_utime + used.ru_stime + setup.seconds) + 1
    limits = {"CPU": (seconds, seconds + 1), "FSIZE": _FILE_BYTES, "NOFILE": _OPEN_FILES, "CORE": 0}
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limits["AS"] = pages * resource.getpagesize() + setup.memory + _SPARE_BYTES
    for name, wanted in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        soft, top = wanted if isinstance(wanted, tuple) else (wanted, wanted)
        if hard != resource.RLIM_INFINITY:
            soft, top = min(soft, hard), min(top, hard)
        resource.setrlimit(kind, (soft, top))


def _settle(folder: Path) -> None:
    """Make the process look like a fresh one, started in the submission's folder."""
    own = str(folder / "tmp")
    os.environ.update(HOME=own, TMPDIR=own, TEMP=own, TMP=own, TORCHINDUCTOR_CACHE_DIR=own)
    tempfile.tempdir = None
    os.chdir(folder / "handin")
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - it stays open while the process lives
    sys.stdout, sys.stderr = _printer(1), _printer(2)
    for name in ("stdin", "stdout", "stderr"):
        setattr(sys, f"__{name}__", getattr(sys, name))
    sys.dont_write_bytecode = True
    sys.modules["__main__"] = ModuleType("__main__")
    for name in [name for name in sys.modules if name.partition(".")[0] == "labgrade"]:
        del sys.modules[name]
    random.seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)


def _printer(descriptor: int) -> TextIO:
    """Line by line, so that what was printed before a process is killed is not lost."""
    return open(descriptor, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(BaseException):
            stream.flush()  # type: ignore[union-attr]
