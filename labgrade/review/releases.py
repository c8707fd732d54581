"""What students were shown, and when: a release keeps the view itself, so that nothing changes behind their backs."""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.core import serialise
from labgrade.core.errors import UsageError
from labgrade.core.points import final_totals
from labgrade.core.results import Report, SubmissionReport
from labgrade.core.student_view import for_student
from labgrade.core.text import encodable
from labgrade.ledger import database, rows
from labgrade.ledger.database import Ledger
from labgrade.review.decisions import points

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

_MOST_SAID = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """What one submission's students were shown. `digest` is of the view; `reason` says why it came after another.

    `final` are all points then, hidden checks and deductions counted: what stands in a gradebook.
    """

    submission: str
    view: SubmissionReport
    final: Fraction
    by: str
    reason: str = ""
    hidden_too: bool = False
    at: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """Released points that have fallen: of a `check`, or "" for the total."""

    task: str
    check: str
    before: Fraction
    now: Fraction
    gone: bool = False

    def __str__(self) -> str:
        """`2-1-params total: 4 before, 2 now`; a check that was renamed is gone under the name that students saw."""
        after = "there is no such check any more" if self.gone else f"{points(self.now)} now"
        return f"{self.task or 'all'} {self.check}".rstrip() + f": {points(self.before)} before, {after}"


def view_before_release(submission: SubmissionReport) -> SubmissionReport:
    """Return what a student may see before release: no hidden check, no decision."""
    alone = replace(submission, deductions=(), members=(), called=(), handed_in="", handed_in_by="")
    return _without_durations(alone, hidden_too=False, released=False)


def view_after_release(submission: SubmissionReport, *, hidden_too: bool = False) -> SubmissionReport:
    """Return what a release shows: people's decisions and deductions, and hidden checks only if asked.

    What hidden checks earned is in it, a sum a lab, unless the lab keeps that secret.
    """
    return _without_durations(submission, hidden_too=hidden_too, released=True)


def released(machine: Report, releases: Mapping[str, Release]) -> Report:
    """Return the report that students may see: what was released, or else what needs no release."""
    views = (
        replace(releases[each.name].view, released=releases[each.name].at)
        if each.name in releases
        else view_before_release(each)
        for each in machine.submissions
    )
    return replace(machine, submissions=tuple(views))


def make_release(submission: SubmissionReport, *, by: str, reason: str = "", hidden_too: bool = False) -> Release:
    """Make the release of a submission in its current state."""
    view = view_after_release(submission, hidden_too=hidden_too)
    final = final_totals(submission).final
    return Release(
        submission=submission.name,
        view=view,
        final=final,
        by=by,
        reason=reason,
        hidden_too=hidden_too,
        digest=hashlib.sha256(_text(view)).hexdigest(),
    )


def differs(made: Release, last: Release | None) -> bool:
    """Return whether a release differs from the last one."""
    return last is None or (last.digest, last.final) != (made.digest, made.final)


def lowered(release: Release, now: SubmissionReport) -> list[Lowered]:
    """Return where a submission has fewer points than were released: in shown checks, and in total."""
    none = Fraction(0)
    there = {(task.id, check.id): check.earned for task in now.tasks for check in task.checks}
    shown = ((task.id, check) for task in release.view.tasks for check in task.checks)
    found = [
        Lowered(task=task, check=check.id, before=check.earned, now=there.get(key, none), gone=key not in there)
        for task, check in shown
        if there.get(key := (task, check.id), none) < check.earned
    ]
    final = final_totals(now).final
    return [*found, *([Lowered(task="", check="", before=release.final, now=final)] if final < release.final else [])]


def rising(new: Iterable[Release], before: Mapping[str, Release], called: Callable[[str], str]) -> list[str]:
    """Say whose points are more than were released: a late rule or a roster may have gone by mistake."""
    pairs = [(each, before[each.submission]) for each in new if each.submission in before]
    said = [
        f"  {called(now.submission)}: {points(old.final)} before, {points(now.final)} now"
        for now, old in pairs
        if now.final > old.final
    ]
    return first_lines(said)


def first_lines(said: list[str]) -> list[str]:
    """Return the first of these lines, and how many more there are."""
    return [*said[:_MOST_SAID], *([f"  and {len(said) - _MOST_SAID:,} more"] if len(said) > _MOST_SAID else [])]


def read(results: Path) -> dict[str, Release]:
    """The last release of each submission.

    Raises:
        UsageError: they can't be read, or are not what was written.
    """
    return {each.submission: each for each in _all(results)}


def history(results: Path, submission: str) -> list[Release]:
    """All releases of a submission, oldest first.

    Raises:
        UsageError: they can't be read, or are not what was written.
    """
    return list(_all(results, submission))


def _all(results: Path, only: str = "") -> Iterator[Release]:
    columns = "submission, by, at, reason, hidden_too, final, digest, view"
    if not database.exists(results):
        return
    with Ledger(results) as ledger:
        question = f"SELECT {columns} FROM releases ORDER BY number"  # noqa: S608
        for submission, by, at, reason, hidden_too, final, kept, packed in ledger.rows(question):
            if only not in ("", submission):
                continue
            text = _unpacked(packed, kept, submission)
            yield Release(
                submission=submission,
                view=serialise.from_plain(json.loads(text), SubmissionReport),
                final=Fraction(final),
                by=by,
                reason=reason,
                hidden_too=bool(hidden_too),
                at=at,
                digest=kept,
            )


def add(results: Path, releases: Iterable[Release]) -> None:
    """Keep releases with the points that they publish, all or none.

    Raises:
        UsageError: nothing could be written.
    """
    with database.decision_transaction(results) as ledger:
        for each in releases:
            text = _text(each.view)
            values = (
                *(each.submission, encodable(each.by), each.at or datetime.now(UTC).isoformat(timespec="seconds")),
                *(encodable(each.reason), int(each.hidden_too), str(each.final)),
                *(hashlib.sha256(text).hexdigest(), zlib.compress(text)),
                rows.publish(ledger, each.submission),
            )
            columns = "submission, by, at, reason, hidden_too, final, digest, view, published"
            ledger.write(f"INSERT INTO releases ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", *values)  # noqa: S608


def _without_durations(submission: SubmissionReport, *, hidden_too: bool, released: bool) -> SubmissionReport:
    """Drop durations, which differ each time."""
    tasks = tuple(
        replace(
            task,
            not_shown=Fraction(0) if hidden_too and task.not_shown is not None else task.not_shown,
            checks=tuple(replace(check, seconds=0.0, hidden=check.hidden and not hidden_too) for check in task.checks),
        )
        for task in submission.tasks
    )
    (view,) = for_student(Report(submissions=(replace(submission, tasks=tasks),)), released=released).submissions
    return view


def _text(view: SubmissionReport) -> bytes:
    return json.dumps(serialise.plain(view), ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogatepass")


def _unpacked(packed: bytes, kept: str, submission: str) -> bytes:
    try:
        text = zlib.decompress(packed)
    except zlib.error:
        text = b""
    if hashlib.sha256(text).hexdigest() != kept:
        message = f"what was released to '{submission}' is damaged in '{database.NAME}'; put a backup in its place"
        raise UsageError(message)
    return text
