"""Where a grader's own control group is, and what it takes to make others below it."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from labgrade.sandbox import usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NAME = re.compile(r"labgrade-(?P<grader>\d+)-(?:\d+|grader)")
_CONTROLLERS = {"memory", "pids"}


def own() -> tuple[int, tuple[Path, ...]]:
    """The version, and the group that this process is in: in version 1 that for memory and that for processes."""
    paths: dict[str, str] = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        paths |= dict.fromkeys(controllers.split(","), path)
    if "memory" in paths:
        own = [_mounted(name, paths[name]) for name in ("memory", "pids") if name in paths]
        writable = [folder for folder in own[1:] if os.access(folder, os.W_OK)]
        return 1, tuple(dict.fromkeys([own[0], *writable]))
    own_path = _mounted("", paths.get("", "/"))
    return 2, (own_path.parent if NAME.fullmatch(own_path.name) else own_path,)


def _mounted(controller: str, path: str) -> Path:
    """Where a group is to be seen; without a controller, one of version 2."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        root, place = before.split()[3:5]
        kind, _, options = after.split(maxsplit=2)
        fits = kind == "cgroup" and controller in options.split(",") if controller else kind == "cgroup2"
        if fits and PurePosixPath(path).is_relative_to(root):
            return Path(place, PurePosixPath(path).relative_to(root))
    message = f"no {controller or 'unified'} hierarchy is mounted"
    raise OSError(message)


def make_room(above: Path) -> None:
    """In version 2 a group that holds processes passes no controller on: those in it move to one of their own.

    Raises:
        OSError: others' processes are in it too, or it is not delegated.
    """
    control = above / "cgroup.subtree_control"
    if set(control.read_text().split()) >= _CONTROLLERS:
        return
    here = processes(above)
    if not set(here) <= {*_ancestors(), *usage.family(os.getpid())}:
        message = f"{above} holds other processes, too"
        raise OSError(message)
    own = above / f"labgrade-{os.getpid()}-grader"
    own.mkdir(exist_ok=True)
    try:
        _move(here, own)
        control.write_text(" ".join(f"+{name}" for name in sorted(_CONTROLLERS)))
    except OSError:
        _move(here, above)
        own.rmdir()
        raise


def _move(pids: Iterable[int], folder: Path) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            (folder / "cgroup.procs").write_text(str(pid))


def _ancestors() -> Iterator[int]:
    pid = os.getppid()
    while pid > 0:
        yield pid
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def processes(folder: Path) -> list[int]:
    """Those in a group, as this process tree knows them. One of another tree is shown as 0, and left out."""
    return [pid for pid in map(int, (folder / "cgroup.procs").read_text().split()) if pid > 0]
