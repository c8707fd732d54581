"""The last commit that touches a folder: of a student's repository in a jail, of the grader's own by git itself."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from labgrade.submissions import archive_records

if TYPE_CHECKING:
    from pathlib import Path

    from labgrade.submissions.archive_records import Opening, Records

_SECONDS = 30
_CPU_SECONDS, _MEMORY = 20, 2 << 30
# Limits are put on by the process that becomes git: what is run between a fork and its program is no place for Python.
_LIMITED = f"""
import os, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, ({_CPU_SECONDS}, {_CPU_SECONDS}))
resource.setrlimit(resource.RLIMIT_AS, ({_MEMORY}, {_MEMORY}))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
os.execvp("git", ["git", *sys.argv[1:]])
"""
# No repository that somebody put into a folder by parts is taken for one, and nothing is run that it names.
_CAREFUL = ("-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_QUIET = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
}


@dataclass(frozen=True, slots=True)
class Commit:
    """The date of the last commit, None where there is none; `why` it could not be found out, or nothing."""

    at: datetime | None = None
    why: str = ""


def own(folder: Path, opening: Opening) -> Commit:
    """The last commit of a repository that lies in a student's folder.

    Its date is the committer's: the author's stays what it was when a commit is amended or moved. Both are what the
    student's machine said.
    """
    git = folder / ".git"
    if not _is_folder(git) or not _is_folder(git / "objects"):
        return Commit()
    dates: list[datetime | None] = []

    def take(told: Records) -> None:
        dates.extend(entry.at for entry in told)

    why = archive_records.read(opening, "repository", git, take, {})
    return Commit(next(iter(dates), None), why)


def around(folder: Path) -> datetime | None:
    """The date of the last commit that touches a folder of the grader's own repository; None where none does.

    A shallow checkout tells nothing: its oldest commit seems to touch everything.
    """
    inside = ["-C", str(folder.parent)]
    if _git([*inside, "rev-parse", "--is-shallow-repository"]) != "false":
        return None
    return _date(_git([*inside, "log", "-1", "--format=%cI", "--", f":(literal){folder.name}"]))


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def _git(arguments: list[str]) -> str | None:
    """What git says of the grader's own repository, or None where it fails, hangs or is not installed."""
    program = ["git"] if sys.platform == "win32" else [sys.executable, "-I", "-S", "-c", _LIMITED]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            [*program, *_CAREFUL, *arguments],
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
