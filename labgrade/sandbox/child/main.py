"""The life of a child: put limits on itself, say that it is up, take its job, run it, send one frame, end.

The same code runs in a child forked by the server and in a fresh process. What it is given (a subject) comes straight
from the grader, so that no server ever holds it; the job (which file, which function) comes after the child is up, so
that whatever ends it later is the student's doing.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import random
import sys
import tempfile
import traceback
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn, TextIO

from labgrade.sandbox.child import jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from labgrade.sandbox.child.jobs import Arguments

UP = b"U"
LOADED = b"\xff" * 15  # no frame begins so: it would be longer than any; behind both a frame lies as it is aligned
IN_FILE = b"\xfe" * 8  # in place of a frame: it lies in the file
SETUP_FAILED = 98
# Bytes of a frame from which on a file is the shorter way, and up to which its copy there is little of ROOMY memory.
_LARGE, _LARGEST = 1 << 20, 32 << 20
ROOMY = 1 << 30
_WITH_LENGTH = 4
# No seed of a subject: a student's own `torch.randn` must not draw the task's input.
_SEED = 0x1AB6_2ADE
_own_modules: dict[str, ModuleType] = {}  # held, because to take one apart would write to pages of its neighbours
_exit = os._exit
_getpid = os.getpid
_lseek = os.lseek
_write = os.write


@dataclass(frozen=True, slots=True)
class Pipes:
    """The descriptors of a child's own: where its job comes from, where the result and what is printed go.

    `file`: where a large result goes instead, or -1. `entries`: those by which it enters a control group, and which it
    closes before it is up.
    """

    job: int
    result: int
    output: int
    errors: int
    file: int = -1
    entries: tuple[int, ...] = ()


def run_job(
    pipes: Pipes,
    confine: Callable[[], Path],
    arguments: Callable[[object], Mapping[str, object]],
    *,
    forked: bool = True,
) -> NoReturn:
    """Run a job from its beginning to its end, and end the process. Without UP labgrade failed.

    UP on the result pipe says that the child is confined: what happens later is the student's doing. LOADED behind it
    says that the file of a call was imported: where a call then does not end, it may end with another subject.

    `arguments` makes the values to be given from what the grader sends; `confine` is the jail: it returns the folder
    that holds `handin`, the copy of the submission, and `tmp`.
    """
    try:
        values = arguments(json.loads(receive(pipes.job)))
        _take_places(pipes, forked=forked)
        folder = confine()
        _enter(pipes.entries)
        _settle(folder)
        _write_all(pipes.result, UP)
        own = _getpid()
        loaded = functools.partial(_say_loaded, pipes.result, own)
        job: Arguments = {**json.loads(receive(pipes.job)), "loaded": loaded}
        os.close(pipes.job)
    except BaseException:  # noqa: BLE001 - whatever it is, the grader learns of it, and no student code runs
        with contextlib.suppress(BaseException):
            _write_all(2, traceback.format_exc().encode())
        _exit(SETUP_FAILED)
    try:
        for frame in jobs.do(job, values, folder / "handin"):
            if _getpid() != own:
                _exit(1)  # a fork of the student's, which came out of their function as the first one will
            _flush()
            _send(pipes, frame)
        _exit(0)
    finally:
        _exit(1)


def _send(pipes: Pipes, frame: bytes | memoryview) -> None:
    """Send a frame; a large one, the only one of its job, goes into the file if there is one."""
    if pipes.file >= 0 and _LARGE <= len(frame) <= _LARGEST and not jobs.trusted_alone():
        with contextlib.suppress(OSError):  # a student's code may have closed it, or limited files
            _lseek(pipes.file, 0, os.SEEK_SET)  # wherever it left it
            _write_all(pipes.file, frame)
            frame = IN_FILE
    _write_all(pipes.result, frame)


def _say_loaded(pipe: int, own: int) -> None:
    if _getpid() == own:
        with contextlib.suppress(OSError):  # a student's file may have closed it
            _write_all(pipe, LOADED)


def receive(pipe: int) -> bytes:
    """Read one message of the grader's: its length in 4 bytes, then the message."""
    size = int.from_bytes(_read_exactly(pipe, _WITH_LENGTH), "little")
    return _read_exactly(pipe, size)


def message(data: object) -> bytes:
    """Pack a message as `receive` reads it."""
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


def _write_all(pipe: int, data: bytes | memoryview) -> None:
    view = memoryview(data)
    while view:
        view = view[_write(pipe, view) :]


def _take_places(pipes: Pipes, *, forked: bool) -> None:
    """Put the null device and the output pipe where a program expects its streams; close all other descriptors."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(pipes.output, 1)
    os.dup2(pipes.errors, 2)
    if not forked:
        return
    os.setsid()
    keep = sorted({2, pipes.job, pipes.result, pipes.file, *pipes.entries} - {-1})
    for low, high in zip(keep, [*keep[1:], 1 << 16], strict=True):
        os.closerange(low + 1, high)


def _enter(groups: tuple[int, ...]) -> None:
    """Enter the job's control group. Where the kernel refuses, limits are enforced by polling."""
    for group in groups:
        with contextlib.suppress(OSError):
            os.write(group, b"0")
        os.close(group)


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
    if not jobs.trusted_alone():  # to take hundreds of modules apart costs as much as reading a short text
        for name in _own_modules or _find_own_modules():
            sys.modules.pop(name, None)
    random.seed(_SEED)  # Python reseeds it after each fork; numpy and torch keep what `prepare` set before


def _find_own_modules() -> dict[str, ModuleType]:
    return {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "labgrade"}


def prepare(*, share_by_files: bool = False) -> None:
    """Give loaded libraries the state that every child starts with, before any is forked.

    `share_by_files`: torch shares tensors by files, because a job's processes can't send each other descriptors. The
    names of our modules are remembered, because looking for them touches each of thousands of names, and so copies 10
    MB in every child.
    """
    _own_modules.clear()
    _own_modules.update(_find_own_modules())
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(_SEED)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(_SEED)
        if share_by_files:
            sys.modules["torch"].multiprocessing.set_sharing_strategy("file_system")


def _printer(descriptor: int) -> TextIO:
    """Return a print stream that is flushed at each line, so that a killed process loses nothing."""
    return open(descriptor, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(BaseException):
            stream.flush()  # type: ignore[union-attr]
