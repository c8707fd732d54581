"""The last commit that touches a folder: read by git, with nothing of a student's configuration in force.

Git's own commands obey the configuration of the repository that they read, which names programs to run. So a student's
repository is not read as one: a fresh one borrows its objects.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path

_SECONDS = 30
_CPU_SECONDS, _MEMORY = 10, 512 << 20
# Limits are put on by the process that becomes git: what is run between a fork and its program is no place for Python.
_LIMITED = f"""
import os, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, ({_CPU_SECONDS}, {_CPU_SECONDS}))
resource.setrlimit(resource.RLIMIT_AS, ({_MEMORY}, {_MEMORY}))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
os.execvp("git", ["git", *sys.argv[1:]])
"""
_SMALL_WINDOWS = ("-c", "core.packedGitWindowSize=16m", "-c", "core.packedGitLimit=128m")  # of packs, in memory
_ID = re.compile(r"[0-9a-f]{40}")
_BRANCH = re.compile(r"ref: (?P<name>refs/heads/[^\s.~^:?*\[\\][^\s~^:?*\[\\]*)")
_LARGEST = 1 << 20
_QUIET = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
}


def own(folder: Path) -> datetime | None:
    """The date of the last commit of a repository that lies in a student's folder; None where there is none.

    It is the committer's date: the author's stays what it was when a commit is amended or moved. Both are what the
    student's machine said.
    """
    git = folder / ".git"
    if not _is_folder(git) or not _is_folder(git / "objects"):
        return None
    head = _head(git)
    if head is None:
        return None
    with tempfile.TemporaryDirectory(prefix="labgrade-git-") as name:
        borrowed = Path(name) / "borrowed.git"
        if _git(["init", "--quiet", "--bare", "--template=", str(borrowed)]) is None:
            return None
        info = borrowed / "objects" / "info"
        info.mkdir(exist_ok=True)
        (info / "alternates").write_text(
            f"{(git / 'objects').absolute()}\n", encoding="utf-8", errors="surrogateescape"
        )
        shallow = _read(git / "shallow")
        if shallow:
            ids = [line for line in shallow.split() if _ID.fullmatch(line)]
            (borrowed / "shallow").write_text("".join(f"{each}\n" for each in ids), encoding="ascii")
        return _date(_limited_git([f"--git-dir={borrowed}", "log", "-1", "--format=%cI", head, "--", "."]))


def around(folder: Path) -> datetime | None:
    """The date of the last commit that touches a folder of the grader's own repository; None where none does.

    A shallow checkout tells nothing: its oldest commit seems to touch everything.
    """
    inside = ["-C", str(folder.parent)]
    if _git([*inside, "rev-parse", "--is-shallow-repository"]) != "false":
        return None
    return _date(_git([*inside, "log", "-1", "--format=%cI", "--", f":(literal){folder.name}"]))


def _head(git: Path) -> str | None:
    """The commit that is checked out."""
    said = _read(git / "HEAD").strip()
    if _ID.fullmatch(said):
        return said
    branch = _BRANCH.fullmatch(said)
    if branch is None or ".." in branch["name"]:
        return None
    loose = _read(git / branch["name"]).strip()
    if _ID.fullmatch(loose):
        return loose
    lines = (line.split() for line in _read(git / "packed-refs").splitlines())
    found = [line[0] for line in lines if line[1:] == [branch["name"]] and _ID.fullmatch(line[0])]
    return found[-1] if found else None


def _read(path: Path) -> str:
    """A small file of a student's; "" where it is none. Follows no link."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return ""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(_LARGEST).decode("utf-8", "replace") if stat.S_ISREG(os.fstat(descriptor).st_mode) else ""


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def _limited_git(arguments: list[str]) -> str | None:
    """What git says of a student's objects, of which a few bytes may inflate to any number."""
    if sys.platform == "win32":
        return _git(arguments)
    return _git([*_SMALL_WINDOWS, *arguments], (sys.executable, "-I", "-S", "-c", _LIMITED))


def _git(arguments: list[str], program: tuple[str, ...] = ("git",)) -> str | None:
    """What git says, or None where it fails, hangs or is not installed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            [*program, *arguments],
            env={**kept, **_QUIET},
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None


def _date(said: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(said) if said else None
    except ValueError:
        return None
