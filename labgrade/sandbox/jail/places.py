"""What of the machine a jail shows: the interpreter, libraries, programs; and what must not ride along with them."""

from __future__ import annotations

import os
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_USR = tuple(f"/usr/{name}" for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32", "libexec", "include"))
_LOCAL = tuple(f"/usr/local/{name}" for name in ("bin", "lib", "include"))
_SYSTEM = ("/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", *_USR, *_LOCAL)
# Of /usr/share what programs read; all the rest of /usr may be anybody's, such as a class that lies in /usr/src/app.
_SHARE = "cmake* fontconfig fonts gcc* git-core graphviz locale matplotlib mime misc perl* tcltk terminfo zoneinfo"
_OF_A_PREFIX = ("bin", "lib", "lib32", "lib64", "include", "pyvenv.cfg")
_OF_CONDA = ("share", "etc", "libexec", "ssl", "compiler_compat", "*-linux-gnu")  # its compilers and their settings
_SETTINGS = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/etc/fonts")
_ROOMS = ("specs", "reference", "checkers", "models", "submissions", "tests", "benchmarks", "docs")


@dataclass(frozen=True, slots=True)
class Places:
    """What a jail shows: `shown` are folders and files that a job may read, `covered` those within that it may not.

    `trusted`: folders of labgrade's that are read by a measuring child. In a private root they have names of their own.
    `offered`: folders of the grader's among `shown`.
    """

    shown: tuple[str, ...]
    covered: tuple[str, ...]
    trusted: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()


def find(secret: tuple[str, ...] = (), trusted: tuple[str, ...] = (), offered: tuple[str, ...] = ()) -> Places:
    """Return the places that this interpreter needs, and `offered`. Cover labgrade itself, its rooms, and `secret`.

    An installed labgrade lies beside torch, with its specs and its `reference/`, the answer sheet. So may others: an
    editable installation has copies there, and what the system installed is in sight, too.
    """
    package = Path(__file__).resolve().parents[2]
    installed = package.parent.name.endswith("-packages")
    own = (str(package),) if installed else tuple(str(package.parent / room) for room in ("labgrade", *_ROOMS, ".git"))
    shown = _with_targets((*_SYSTEM, *_shared(), *_SETTINGS, *_interpreter(), *offered))
    covered = {os.path.realpath(place) for place in (*own, *_installed(), *secret) if os.path.exists(place)}  # noqa: PTH110
    inside = sorted(_shown(covered, shown))
    return Places(tuple(shown), tuple(inside), trusted, offered)


def uncoverable(secret: tuple[str, ...], offered: tuple[str, ...] = ()) -> list[str]:
    """Return the `secret` folders that can't be covered, because they hold something that a jail has to show."""
    if not secret:
        return []
    shown = _with_targets((*_SYSTEM, *_shared(), *_interpreter(), *offered))
    targets = {os.path.realpath(place) for place in (*shown, sys.executable, *_imports()) if os.path.exists(place)}  # noqa: PTH110
    found = {os.path.realpath(place) for place in secret if os.path.exists(place)}  # noqa: PTH110
    return sorted(place for place in _shown(found, shown) if any(_within(target, place) for target in targets))


def _with_targets(places: Iterable[str]) -> list[str]:
    """Return the places that exist. A link is shown as it is, and so is its target."""
    shown: list[str] = []
    for place in places:
        for path in (os.path.abspath(place), os.path.realpath(place)):  # noqa: PTH100
            if os.path.lexists(path) and path != "/" and not any(_within(path, other) for other in shown):
                shown.append(path)
    return shown


def _shared() -> list[str]:
    return sorted(str(path) for pattern in _SHARE.split() for path in Path("/usr/share").glob(pattern))


def _interpreter() -> list[str]:
    """Return the interpreter, its libraries and packages, but no other part of its folders: a class may lie there.

    `python -m venv .` makes any folder one of these. Where /usr is the prefix, what is shown of it is shown anyway.
    """
    found: list[str] = []
    for prefix in dict.fromkeys((sys.base_prefix, sys.exec_prefix, sys.prefix)):
        if prefix not in {"/usr", "/usr/local"}:
            parts = (*_OF_A_PREFIX, *(_OF_CONDA if Path(prefix, "conda-meta").is_dir() else ()))
            found += (str(path) for part in parts for path in sorted(Path(prefix).glob(part)))
    return [*found, *_programs(), *_imports()]


def _imports() -> list[str]:
    """Return the folders of the standard library and of packages, without those that editable installs add."""
    library = {os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")}
    packages = [place for place in sys.path if place.rstrip("/").endswith("-packages")]
    return [*sorted(library), *packages]


def trusted_place(folder: str) -> str:
    """Return the path of a trusted folder in a private root, where nothing covers it."""
    return f"/trusted/{Path(folder).name}"


def _installed() -> list[str]:
    """Return every labgrade among the packages of an interpreter in sight."""
    searched = {Path(place) for place in sys.path if place.endswith("-packages")}
    for prefix in dict.fromkeys((sys.prefix, sys.base_prefix, "/usr", "/usr/local")):
        searched.update(Path(prefix).glob("[Ll]ib*/python*/*-packages"))
    return [str(folder / "labgrade") for folder in sorted(searched)]


def _programs() -> list[str]:
    """Return every name through which the interpreter is linked: `.venv/bin/python`, `/opt/python/bin/python3`."""
    names, path = [], Path(sys.executable)
    for _ in range(8):
        names.append(str(path))
        if not path.is_symlink():
            break
        path = path.parent / path.readlink()
    return names


def _shown(places: Iterable[str], shown: list[str]) -> list[str]:
    """Return those of the places that are in sight."""
    folders = {os.path.realpath(other) for other in shown}
    return [place for place in places if any(_within(place, folder) for folder in folders)]


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def readable(places: Places) -> tuple[list[str], list[str]]:
    """Return the places that landlock lets a job read, and the folders that it lets a job list.

    Landlock can only allow: a folder that holds something covered is allowed entry by entry.
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
