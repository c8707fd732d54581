"""The last commit that touches a folder, of a student's repository or in the grader's own: git runs in a jail."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labgrade.submissions import archive_records

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime
    from pathlib import Path

    from labgrade.submissions.archive_records import Opening, Records

_LARGEST = 4096  # of a file that tells where a repository lies


@dataclass(frozen=True, slots=True)
class Commit:
    """The date of the last commit, or None; `why` it is unknown, or ""."""

    at: datetime | None = None
    why: str = ""


def commit_of_submission(folder: Path, opening: Opening) -> Commit:
    """Return the last commit of a repository that lies in a student's folder.

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


class RepositoryAround:
    """The last commits that touch hand-ins in the grader's repository, found for a whole folder at once.

    `wanted`: the only names of entries that will be asked for, as git walks the history for each; None is all.
    """

    def __init__(self, opening: Opening, wanted: Collection[str] | None = None) -> None:
        self._opening = opening
        self._wanted = wanted
        self._folders: dict[Path, dict[str, datetime]] = {}

    def at(self, entry: Path) -> datetime | None:
        """Return the date of the last commit that touches an entry; None if there is none or it is unknown."""
        if entry.parent not in self._folders:
            self._folders[entry.parent] = self._of_all(entry.parent)
        return self._folders[entry.parent].get(entry.name)

    def _of_all(self, folder: Path) -> dict[str, datetime]:
        """Return these dates for a folder's entries, read in the jail: a repository may hold students' commits."""
        try:
            folder = folder.resolve()
            top = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)
            below = folder.relative_to(top)
            there = self._wanted if self._wanted is not None else sorted(each.name for each in folder.iterdir())
            names = {(below / each).as_posix(): each for each in there}
        except OSError:  # what may not be looked at is no evidence
            return {}
        git, head = _linked(top / ".git")
        if not _is_folder(git):
            return {}
        found: dict[str, datetime] = {}

        def take(told: Records) -> None:
            found.update((names[entry.name], entry.at) for entry in told if entry.name in names and entry.at)

        archive_records.read(self._opening, "repository", git, take, {"paths": list(names), "head": head})
        return found


def _linked(git: Path) -> tuple[Path, str]:
    """Return a repository's folder and HEAD, which a linked working tree keeps in different places."""
    if git.is_dir():
        return git, ""
    try:
        own = git.parent / git.read_text(encoding="utf-8")[:_LARGEST].removeprefix("gitdir:").strip()
        common = own / (own / "commondir").read_text(encoding="utf-8")[:_LARGEST].strip()
        return common.resolve(), (own / "HEAD").read_text(encoding="utf-8")[:_LARGEST]
    except (OSError, ValueError):
        return git, ""


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False
