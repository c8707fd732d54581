"""When something was handed in, and what tells it: names, records, archives, commits. Runs nothing of a student's.

What a platform recorded counts first. Without that there is only what the student's own machine wrote: a commit, the
times in an archive, the times of files. None of these is proof.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.core.results import CLUTTER
from labgrade.core.text import one_line
from labgrade.submissions import archives, collected, folders, git
from labgrade.submissions import names as platforms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from labgrade.submissions.archive_records import Opening

GRADESCOPE = "submission_metadata.yml"
UNSURE = "the time of its newest file, which copying may have changed"
_OWNER = re.compile(r"^:?['\"]?(?P<who>submission_\d+)['\"]?:\s*$")
_CREATED = re.compile(
    r"^\s+:?created_at: (?P<day>[\d-]{10})[ T](?P<time>[\d:]{8})(?:\.\d+)? ?(?P<zone>Z|[+-]\d\d:\d\d)"
)
_ATTEMPT = re.compile(r"_attempt_(\d{4}-\d\d-\d\d)-(\d\d)-(\d\d)-(\d\d)(?!\d)")
_LATE = re.compile(r"^[^_]+_LATE_\d+_\d+_")
CALLED_LATE = "Canvas calls it late"
_DOWNLOADED_IN = timedelta(hours=1)  # how long Canvas takes to pack a class: it dates each file as it packs it
OF_THE_DOWNLOAD = "the times of its files are those of the download from Canvas"
_LARGEST_RECORD = 64 << 20
_MOST_FILES = 100_000
_MOST_ARCHIVES = 8
_OLDEST = datetime(1990, 1, 1, tzinfo=UTC)  # what is older is a clock that was never set
A_WHILE = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When work was handed in, and the evidence; `at` is None without any. `remarks` are for staff."""

    at: datetime | None = None
    by: str = ""
    remarks: tuple[str, ...] = ()


def moments(
    source: Path, names: Iterable[str], *, opening: Opening, zone: tzinfo, now: datetime | None = None
) -> dict[str, Moment]:
    """The moment of each submission in a folder, or an archive, of submissions (`submission.find`).

    `zone` is that of times that name none: those in a zip archive, or in a file's name. What lies more than a day
    after `now` is not believed, nor what is older than 1990. `opening` opens archives and repositories.
    """
    latest, names = (now or datetime.now(UTC)) + A_WHILE, tuple(names)
    if collected.is_one(source):
        told = collected.read(source)
        return {name: Moment(at=at, by=by, remarks=more) for name in names for at, by, more in [told.moment(name)]}
    if not source.is_dir():
        evidence = _Evidence(opening, zone, {}, git.RepositoryAround(opening))
        packed, late = evidence.of_each(source)
        by = f"its newest file in '{source.name}'"
        return {
            name: _best_evidence([(packed.get(name), by)], latest, [*evidence.remarks, *late.get(name, ())])
            for name in names
        }
    entries, recorded = _entries(source), _gradescope(source / GRADESCOPE)
    around = git.RepositoryAround(opening, [each.name for name in names for each in entries.get(name, ())])
    files = {name: [each for each in own if platforms.is_canvas(each.name)] for name, own in entries.items()}
    several = sum(map(bool, files.values())) > 1
    downloaded = several and _of_a_download([at for own in files.values() for at in _files(own)])
    return {
        name: _Evidence(opening, zone, recorded, around, downloaded=downloaded).moment(
            name, entries.get(name, []), latest
        )
        for name in names
    }


def moment(source: Path, *, opening: Opening, zone: tzinfo, now: datetime | None = None) -> Moment:
    """The moment of one hand-in by itself, a folder or an archive."""
    return _Evidence(opening, zone, {}, git.RepositoryAround(opening)).moment(
        source.name, [source], (now or datetime.now(UTC)) + A_WHILE
    )


class _Evidence:
    """The evidence for when work was handed in. `remarks`: what could not be read."""

    def __init__(
        self,
        opening: Opening,
        zone: tzinfo,
        recorded: dict[str, datetime],
        around: git.RepositoryAround,
        *,
        downloaded: bool = False,
    ) -> None:
        self._opening, self._zone, self._recorded, self._around = opening, zone, recorded, around
        self._downloaded = downloaded  # what Canvas packed has the times of that
        self.remarks: list[str] = []

    def moment(self, name: str, own: list[Path], latest: datetime) -> Moment:
        """The moment of a submission, of which these entries are the own."""
        if any(_LATE.match(entry.name) for entry in own):
            self.remarks.append(CALLED_LATE)
        return _best_evidence(self._evidence(name, own), latest, self.remarks)

    def _evidence(self, name: str, own: list[Path]) -> Iterator[tuple[datetime | None, str]]:
        """Yield the evidence, best first; each is only read when needed."""
        unpacked = [entry for entry in own if entry.is_dir() and not entry.is_symlink()]
        yield self._recorded.get(name), "Gradescope's record"
        written = (name, *(platforms.by_platform(entry.name) for entry in own))
        yield _newest(_in_name(each, self._zone) for each in written), "the platform's name for it"
        yield _newest(self._committed(folder) for folder in unpacked), "its last commit"
        yield _newest(self._around.at(entry) for entry in own), "the last commit that touches it"
        packed = [file for entry in own for file in _archives_in(entry)]
        yield (
            _newest(at for file in packed[:_MOST_ARCHIVES] for _, at in self._dated(file)),
            "the newest file in its archive",
        )
        if self._downloaded and all(platforms.is_canvas(entry.name) for entry in own):
            self.remarks.append(OF_THE_DOWNLOAD)
            return
        yield _newest(_files(own)), UNSURE

    def _committed(self, folder: Path) -> datetime | None:
        commit = git.commit_of_submission(folder, self._opening)
        if commit.why:
            self.remarks.append(f"the repository in it tells no date: {commit.why}")
        return commit.at

    def of_each(self, source: Path) -> tuple[dict[str, datetime], dict[str, list[str]]]:
        """Return the newest file of each submission in an archive of a class, and remarks for staff."""
        found: dict[str, datetime] = {}
        said: dict[str, list[str]] = {}
        dated = list(self._dated(source))
        downloaded = _of_a_download([at for parts, at in dated if platforms.is_canvas(parts[0])])
        for parts, at in dated:
            owned = platforms.owner(parts, is_file=True)
            if owned is None:
                continue
            if _LATE.match(parts[0]):
                said.setdefault(owned[0], []).append(CALLED_LATE)
            if downloaded and platforms.is_canvas(parts[0]):
                said.setdefault(owned[0], []).append(OF_THE_DOWNLOAD)
            else:
                found[owned[0]] = max(found.get(owned[0], at), at)
        return found, {name: list(dict.fromkeys(each)) for name, each in said.items()}

    def _dated(self, path: Path) -> Iterator[tuple[tuple[str, ...], datetime]]:
        """Yield each file of an archive with its time, as far as the archive can be read."""
        try:
            found, why = archives.times(path, self._opening)
        except OSError as error:
            found, why = [], (error.strerror or str(error)).lower()
        if why:
            self.remarks.append(f"'{one_line(path.name)}' may tell too early a date: {why}")
        for parts, at in found:
            if not any(part in CLUTTER or part.startswith("._") for part in parts):
                yield parts, at if at.tzinfo is not None else at.replace(tzinfo=self._zone)


def _of_a_download(times: list[datetime]) -> bool:
    """Return whether all files of a class have the time at which they were packed."""
    return bool(times) and max(times) - min(times) <= _DOWNLOADED_IN


def _best_evidence(told: Iterable[tuple[datetime | None, str]], latest: datetime, remarks: list[str]) -> Moment:
    for at, by in told:
        if at is None or at < _OLDEST:
            continue
        if at > latest:
            remarks.append(f"{by} says {at.isoformat()}, which lies in the future and is ignored")
            continue
        return Moment(at=at, by=by, remarks=tuple(remarks))
    return Moment(remarks=tuple(remarks))


def _newest(times: Iterable[datetime | None]) -> datetime | None:
    return max((at for at in times if at is not None), default=None)


def _entries(source: Path) -> dict[str, list[Path]]:
    """Return the entries of a folder of submissions by owner."""
    found: dict[str, list[Path]] = {}
    for name, entry, _ in folders.owned(source):
        found.setdefault(name, []).append(entry)
    return found


# ---- records and names -----------------------------------------------------------------------------------------


def _gradescope(path: Path) -> dict[str, datetime]:
    """Return the moments in Gradescope's export."""
    try:
        if path.stat().st_size > _LARGEST_RECORD:
            return {}
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    found, who = {}, ""
    for line in lines:
        if owner := _OWNER.match(line):
            who = owner["who"]
        elif who and who not in found and (created := _CREATED.match(line)):
            found[who] = datetime.fromisoformat(f"{created['day']}T{created['time']}{created['zone']}")
    return found


def _in_name(name: str, zone: tzinfo) -> datetime | None:
    """Read Blackboard's moment in a name: `hw2_b10901001_attempt_2026-11-20-23-41-02_hw.py`."""
    match = _ATTEMPT.search(name)
    try:
        return (
            datetime.fromisoformat(f"{match[1]}T{match[2]}:{match[3]}:{match[4]}").replace(tzinfo=zone)
            if match
            else None
        )
    except ValueError:
        return None


# ---- archives and files ----------------------------------------------------------------------------------------


def _archives_in(entry: Path) -> list[Path]:
    """Return the entry if it is an archive, else the archives at its top."""
    try:
        there = sorted(entry.iterdir()) if entry.is_dir() else [entry]
    except OSError:  # what can't be read gives no evidence, and stops no other
        return []
    return [file for file in there if platforms.ending(file.name) and _regular(file) is not None]


def _files(own: list[Path]) -> Iterator[datetime]:
    """Yield the times of the entries' files."""
    for entry in own:
        if status := _regular(entry):
            yield _changed(status)
        count = 0
        for folder, below, files in os.walk(entry):
            below[:] = sorted(name for name in below if name not in CLUTTER)
            for name in files:
                count += 1
                if name in CLUTTER or count >= _MOST_FILES:
                    continue
                if status := _regular(Path(folder, name)):
                    yield _changed(status)


def _changed(status: os.stat_result) -> datetime:
    try:
        return datetime.fromtimestamp(status.st_mtime, UTC)
    except (ValueError, OverflowError, OSError):  # a year that no calendar has
        return datetime.min.replace(tzinfo=UTC)


def _regular(path: Path) -> os.stat_result | None:
    """Return a regular file's status, or None."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None
