"""One program of a student's within the child: run as `python hw.py` runs it, watched by a process that it can't end.

Where forking is safe the program gets a process of its own, so that the files that it wrote and what it said last are
collected whatever becomes of it. It starts warm: torch is loaded.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import linecache
import os
import select
import shutil
import stat
import sys
import threading
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from labgrade.sandbox.child import call
from labgrade.sandbox.child.surroundings import Surroundings
from labgrade.sandbox.child.wire import RawArray, pack, refuse_object

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType

    from labgrade.sandbox.child.call import Event

ONE_BYTES = 64 << 20
ALL_BYTES = 160 << 20
MOST_FILES = 2_000
OWN_BYTES = 256 << 20
_MOST_SEEN = 50_000
_MOST_NAMED = 20
_LEFT_OUT = frozenset({".git", ".venv", "venv", "__pycache__", "node_modules", ".ipynb_checkpoints"})


def copy_linked(folder: Path, given: set[str]) -> None:
    """Replace a jail's links to large files of the hand-in by writable copies, smallest first.

    Files that were `given`, by their POSIX paths, are read only, and stay links.
    """
    links = []
    for base, folders, names in os.walk(folder):
        links += [Path(base, name) for name in (*folders, *names) if Path(base, name).is_symlink()]
    links = [link for link in links if link.relative_to(folder).as_posix() not in given]
    room = OWN_BYTES
    for size, link in sorted((link.stat().st_size, link) for link in links if link.is_file()):
        room -= size
        if room < 0:
            return
        target = link.resolve()
        link.unlink()
        shutil.copyfile(target, link)


class FolderSnapshot:
    """The regular files below a folder at one moment."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._before = dict(self._files())

    def changed(self) -> tuple[dict[str, bytes], list[str]]:
        """Return the content of each file made or changed since, by its POSIX path, and the names of those too large.

        Smallest first, so that a huge file costs no other. Links are never followed.
        """
        now = {path: state for path, state in self._files() if self._before.get(path) != state}
        found: dict[str, bytes] = {}
        left_out: list[str] = []
        room = ALL_BYTES
        for path, (size, *_) in sorted(now.items(), key=lambda item: item[1][0]):
            if size > min(ONE_BYTES, room) or len(found) >= MOST_FILES:
                left_out.append(path)
                continue
            with contextlib.suppress(OSError):
                found[path] = _read(self._folder / path, size)
                room -= len(found[path])
        return found, left_out[:_MOST_NAMED]

    def _files(self) -> Iterator[tuple[str, tuple[int, int, int]]]:
        """Yield each path with its size, its time of change and its inode."""
        folders, seen = [""], 0
        while folders and seen < _MOST_SEEN:
            base = folders.pop()
            with contextlib.suppress(OSError), os.scandir(self._folder / base) as entries:
                for entry in entries:
                    seen += 1
                    with contextlib.suppress(OSError, UnicodeError):
                        relative = f"{base}{entry.name}"
                        relative.encode()
                        if entry.is_dir(follow_symlinks=False):
                            folders += [] if entry.name in _LEFT_OUT else [f"{relative}/"]
                        elif entry.is_file(follow_symlinks=False):
                            status = entry.stat(follow_symlinks=False)
                            yield relative, (status.st_size, status.st_mtime_ns, status.st_ino)


def _read(path: Path, size: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError
        return file.read(size)


_ERROR_BYTES = 1 << 16
_EVENT_BYTES = 1 << 16
_ERROR_CHARS = 4000
_WAIT_SECONDS = 0.02
_LAST_CHUNKS = 16
_FIRST_FREE = 3
_MOST_DESCRIPTORS = 1 << 16
# `script`: the file, `cwd`: its folder within the hand-in, `arguments`, `given`: labgrade's paths, `torch_home`.
_Arguments: TypeAlias = "Mapping[str, Any]"


@dataclass(slots=True)
class _Output:
    """The output of the program's process: its stderr, and this module's events as lines of JSON."""

    errors: bytearray = field(default_factory=bytearray)
    events: bytearray = field(default_factory=bytearray)


def run(job: _Arguments, folder: Path) -> bytes:
    """Run a script to its end. The frame holds its exit code, why it ended, and the files that it made or changed."""
    copy_linked(folder, set(job["given"]))
    before = FolderSnapshot(folder)
    said = _Output()
    if sys.platform == "linux":
        code = _watched(lambda tell: _Program(job, folder, tell).run(), said)
    else:
        code = _Program(job, folder, lambda event: said.events.extend(_line(event))).run()
    files, left = before.changed()
    event: Event = {"event": "ran", "code": code, "raised": None, "seeded": []}
    for line in bytes(said.events).splitlines():
        with contextlib.suppress(ValueError, AttributeError):
            event.update({key: value for key, value in json.loads(line).items() if key in ("raised", "seeded")})
    event |= {
        "errors": bytes(said.errors).decode("utf-8", "backslashreplace")[-_ERROR_CHARS:],
        "files": {path: RawArray("|u1", (len(data),), data) for path, data in files.items()},
        "left_out": left,
    }
    return pack(event, refuse_object)


# ---- the watching process --------------------------------------------------------------------------------------


def _watched(program: Callable[[Callable[[Event], None]], int], said: _Output) -> int:
    """Fork, collect the program's output until it ends, and return its exit code, or minus the signal."""
    errors_read, errors_write = os.pipe()
    events_read, events_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        _run_program(program, errors_write, events_write)
    os.close(errors_write)
    os.close(events_write)
    kept = {errors_read: (said.errors, _ERROR_BYTES), events_read: (said.events, _EVENT_BYTES)}
    for pipe in kept:
        os.set_blocking(pipe, False)
    done = status = 0
    while not done:
        ready, _, _ = select.select(list(kept), [], [], _WAIT_SECONDS)
        done, status = os.waitpid(pid, os.WNOHANG)
        for pipe in ready:
            if not _take(pipe, *kept[pipe]):
                del kept[pipe]
    for pipe, (data, most) in kept.items():
        for _ in range(_LAST_CHUNKS):  # and no more: something that it left behind may write for ever
            if not _take(pipe, data, most):
                break
    return os.waitstatus_to_exitcode(status)


def _take(pipe: int, data: bytearray, most: int) -> bool:
    """Read what is available and keep the end of it; return False at the end or where nothing is available."""
    try:
        chunk = os.read(pipe, _ERROR_BYTES)
    except BlockingIOError:
        return False
    data += chunk
    del data[:-most]
    return bool(chunk)


def _run_program(program: Callable[[Callable[[Event], None]], int], errors: int, events: int) -> NoReturn:
    """Run the program in the forked process, with the streams and the event pipe as its only descriptors."""
    code = 1
    try:
        os.dup2(errors, 2)
        os.dup2(events, _FIRST_FREE)
        os.set_inheritable(_FIRST_FREE, False)  # noqa: FBT003
        os.closerange(_FIRST_FREE + 1, _MOST_DESCRIPTORS)
        own = os.getpid()

        def tell(event: Event) -> None:
            if os.getpid() == own:  # not in what the program forks
                os.write(_FIRST_FREE, _line(event))

        code = program(tell)
    finally:
        os._exit(code & 0xFF)


def _line(event: Event) -> bytes:
    return json.dumps(event).encode() + b"\n"


# ---- the program -----------------------------------------------------------------------------------------------


class _Program:
    """A Python program as the interpreter runs it: `__main__`, its own folder first in the search path."""

    def __init__(self, job: _Arguments, folder: Path, tell: Callable[[Event], None]) -> None:
        self._job = job
        self._folder = folder
        self._tell = tell

    def run(self) -> int:
        """Run the program as the interpreter does, with all that follows its last line, and return its exit code."""
        cwd = self._folder / self._job["cwd"]
        path = cwd / self._job["script"]
        os.chdir(cwd)
        os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
        sys.argv[:] = [self._job["script"], *self._job["arguments"]]
        sys.path.insert(0, str(path.parent))
        around = Surroundings(self._job["torch_home"])
        _forget_what_is_registered()
        code = self._guarded(lambda: self._execute(path))
        code = self._guarded(_finish_interpreter) or code
        if around.seeded:
            self._tell({"seeded": around.seeded})
        return code

    def _execute(self, path: Path) -> None:
        main = ModuleType("__main__")
        main.__dict__.update(__file__=str(path), __builtins__=__builtins__, __cached__=None)
        sys.modules["__main__"] = main
        linecache.getlines(str(path))  # read now: the file may be gone when a line of it is to be shown
        exec(compile(path.read_bytes(), str(path), "exec", dont_inherit=True), main.__dict__)  # noqa: S102 - its purpose

    def _guarded(self, step: Callable[[], None]) -> int:
        try:
            step()
        except SystemExit as error:
            return _exit_code(error.code)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is the student's
            self._tell({"raised": call.raised(error, self._folder, "run")})
            with contextlib.suppress(BaseException):
                traceback.print_exception(type(error), error, _own_part(error.__traceback__))
            return 1
        return 0


def _own_part(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without its first frames, which are this file's."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace


def _exit_code(code: object) -> int:
    if code is None or isinstance(code, int):
        return int(code or 0)
    with contextlib.suppress(BaseException):
        print(code, file=sys.stderr)  # noqa: T201 - as the interpreter does
    return 1


def _forget_what_is_registered() -> None:
    """Drop the server's exit handlers: they take ten times as long as a small program."""
    atexit_: Any = atexit
    atexit_._clear()  # noqa: SLF001 - there is no public name for it
    processes: Any = sys.modules.get("multiprocessing.util")
    if processes is not None:
        atexit.register(processes._exit_function)  # noqa: SLF001 - it ends what a pool of the program's left


def _finish_interpreter() -> None:
    """Do what the interpreter does after the last line: wait for threads, call exit handlers, flush."""
    threading_: Any = threading
    atexit_: Any = atexit
    threading_._shutdown()  # noqa: SLF001 - there is no public name for it
    atexit_._run_exitfuncs()  # noqa: SLF001
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BaseException):
            stream.flush()
