"""What of the machine a jail shows: the interpreter, libraries, programs; and what must not ride along with them."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/sbin")
_SETTINGS = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/etc/fonts")
_ROOMS = ("specs", "reference", "checkers", "submissions", "tests", "benchmarks", "docs")


@dataclass(frozen=True, slots=True)
class Places:
    """`shown`: folders and files that a job may read. `covered`: what lies within them and may not be.

    `trusted`: folders of ours that are read by a measuring child. In a private root they have names of their own.
    """

    shown: tuple[str, ...]
    covered: tuple[str, ...]
    trusted: tuple[str, ...] = ()


def find(secret: tuple[str, ...] = (), trusted: tuple[str, ...] = (), offered: tuple[str, ...] = ()) -> Places:
    """What this interpreter needs, and what is `offered`. Covered: labgrade itself, its rooms, and `secret`.

    An installed labgrade lies beside torch, with its specs and its `reference/`, the answer sheet. So may others: an
    editable installation has copies there, and what the system installed is in sight, too.
    """
    package = Path(__file__).resolve().parent.parent
    installed = package.parent.name.endswith("-packages")
    own = (str(package),) if installed else tuple(str(package.parent / room) for room in ("labgrade", *_ROOMS, ".git"))
    searched = [place for place in sys.path if place and (installed or Path(place).resolve() != package.parent)]
    shown: list[str] = []
    for place in (*_SYSTEM, *_SETTINGS, sys.base_prefix, sys.prefix, *_programs(), *searched, *offered):
        # A link is shown as it is, and so is what it leads to.
        for path in (os.path.abspath(place), str(Path(place).resolve())):  # noqa: PTH100
            if os.path.lexists(path) and path != "/" and not any(_within(path, other) for other in shown):
                shown.append(path)
    covered = {str(Path(place).resolve()) for place in (*own, *_installed(), *secret) if Path(place).exists()}
    inside = sorted(place for place in covered if _shown(place, shown))
    return Places(tuple(shown), tuple(inside), trusted)


def trusted_place(folder: str) -> str:
    """Where a trusted folder is in a private root: it may lie within what is covered."""
    return f"/trusted/{Path(folder).name}"


def _installed() -> list[str]:
    """Every labgrade among the packages of an interpreter in sight."""
    searched = {Path(place) for place in sys.path if place.endswith("-packages")}
    for prefix in dict.fromkeys((sys.prefix, sys.base_prefix, "/usr", "/usr/local")):
        searched.update(Path(prefix).glob("[Ll]ib*/python*/*-packages"))
    return [str(folder / "labgrade") for folder in sorted(searched)]


def _programs() -> list[str]:
    """The folder of the interpreter and all that it is linked through: `.venv/bin/python` to `/opt/python/bin`."""
    folders, path = [], Path(sys.executable)
    for _ in range(8):
        folders.append(str(path.parent))
        if not path.is_symlink():
            break
        path = path.parent / path.readlink()
    return [
        folder for folder in folders if not any(_within(folder, prefix) for prefix in (sys.prefix, sys.base_prefix))
    ]


def _shown(place: str, shown: list[str]) -> bool:
    return any(_within(place, str(Path(other).resolve())) for other in shown)


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def readable(places: Places) -> tuple[list[str], list[str]]:
    """For landlock, which can only allow: what may be read, and which folders may only be listed.

    A folder that holds something covered is allowed entry by entry.
    """
    allowed: list[str] = []
    listed: list[str] = []
    waiting = [str(Path(place).resolve()) for place in places.shown]
    while waiting:
        place = waiting.pop()
        if place in places.covered:
            continue
        if any(_within(covered, place) for covered in places.covered):
            listed.append(place)
            waiting += [entry.path for entry in os.scandir(place) if not entry.is_symlink()]
        else:
            allowed.append(place)
    return [*allowed, *places.trusted], listed
