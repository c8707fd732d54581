"""A student's repository, read where it can do no harm: in the reader's jail, none of its configuration in force.

Git's own commands obey the configuration of the repository that they read, which names programs to run. So a student's
repository is not read as one: a fresh one borrows its objects.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
import tempfile
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade.submissions import archive_records
from labgrade.submissions.archive_records import ArchiveEntry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SMALL_WINDOWS = ("-c", "core.packedGitWindowSize=16m", "-c", "core.packedGitLimit=128m")  # of packs, in memory
_ID = re.compile(r"[0-9a-f]{40}")
_BRANCH = re.compile(r"ref: (?P<name>refs/heads/[^\s.~^:?*\[\\][^\s~^:?*\[\\]*)")
_LARGEST = 1 << 20
_QUIET = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
_SILENT = "git could not read its last commit"


def write_records(arguments: Mapping[str, Any], git: Path) -> Iterator[bytes]:
    """Yield the record of the last commit of the repository whose `.git` lies at `git`, if it has one.

    With `paths`: that of the last commit that touches each. A shallow repository tells nothing of them: its oldest
    commit seems to touch everything. `head`: what stands in its HEAD, where that lies elsewhere.
    """
    paths = arguments.get("paths")
    head = _head(git, arguments.get("head") or _read(git / "HEAD"))
    if head is None or (paths is not None and (git / "shallow").exists()):
        yield archive_records.end_record()
        return
    with tempfile.TemporaryDirectory() as name:
        borrowed = Path(name, "borrowed.git")
        _git(["init", "--quiet", "--bare", "--template=", str(borrowed)])
        info = borrowed / "objects" / "info"
        info.mkdir(parents=True, exist_ok=True)
        (info / "alternates").write_text(f"{(git / 'objects').absolute()}\n", encoding="utf-8")
        ids = [line for line in _read(git / "shallow").split() if _ID.fullmatch(line)]
        if ids:
            (borrowed / "shallow").write_text("".join(f"{each}\n" for each in ids), encoding="ascii")
        log = [*_SMALL_WINDOWS, f"--git-dir={borrowed}", "log", "-1", "--format=%cI", head, "--"]
        for path in ["."] if paths is None else paths:
            date = _date(_git([*log, path if paths is None else f":(top,literal){path}"]))
            if date is None and paths is None:
                yield archive_records.end_record(problem=_SILENT)
                return
            yield archive_records.entry_record(ArchiveEntry(name=path, is_file=False, at=date))
    yield archive_records.end_record()


def _head(git: Path, said: str) -> str | None:
    """Return the commit that is checked out."""
    said = said.strip()
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
    """Read a small file of a student's without following links, or ""."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return ""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(_LARGEST).decode("utf-8", "replace") if stat.S_ISREG(os.fstat(descriptor).st_mode) else ""


def _git(arguments: list[str]) -> str:
    """Return git's output, or "" if it fails or is not installed. The jail sets the limits."""
    try:
        done = subprocess.run(
            ["git", *arguments],
            env={**os.environ, **_QUIET},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except OSError:
        return ""
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""


def _date(said: str) -> datetime | None:
    try:
        return datetime.fromisoformat(said)
    except ValueError:
        return None
