"""What still waits for a person in a folder of results: one screen."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labgrade.core.points import CUT_OFF, NOT_REACHED
from labgrade.core.text import listed_names
from labgrade.reports import figures
from labgrade.review import releases
from labgrade.review.apply import EARLIER, NEXT, RUN
from labgrade.review.decisions import Place, points
from labgrade.review.marking import is_open
from labgrade.submissions import standing as repositories
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.core.results import Graded, SubmissionReport, TaskReport
    from labgrade.review.pseudonyms import Pseudonyms
    from labgrade.review.results import Whole
    from labgrade.submissions.collected import Collection

_MOST, _MOST_CAUSES = 5, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenItem:
    """One kind of waiting work: what it is, how often, where first, and what to do."""

    what: str
    count: int
    where: tuple[str, ...]
    remedy: str = ""


def standing(whole: Whole) -> list[OpenItem]:
    """Return everything that waits for a person, most pressing first."""
    names = whole.names
    found = (*_faults(whole, names), *_marks(whole, names), *_outdated_overrides(whole, names))
    return [*(each for each in found if each.count), *collected_without(whole.collected)]


def collected_without(found: Collection) -> list[OpenItem]:
    """Return the repositories that could not be collected."""
    return [
        OpenItem(what=what, count=len(where), where=where, remedy=how)
        for what, where, how in repositories.waiting(found)
    ]


def collected_with(found: Collection) -> list[OpenItem]:
    """Return remarks on the collected repositories, and on those without work."""
    rows = repositories.worth_a_look(found)
    return [OpenItem(what=what, count=len(where), where=where, remedy=how) for what, where, how in rows]


def worth_a_look(whole: Whole) -> list[OpenItem]:
    """Return what else is worth knowing: who has no points and why, and what does not count."""
    staff = whole.shown
    refused = [f"{each.name}: {why}" for each in staff.submissions for why in each.remarks]
    zeros = figures.without_points(staff)
    rare = [name for each in zeros[_MOST_CAUSES:] for name in each.names]
    ended = [
        f"{' '.join(each.place[1:])}: {each.what}: {listed_names(list(each.names))}" for each in figures.cut_off(staff)
    ]
    found = (
        *(
            OpenItem(
                what=f"without a point: {each.what}", count=len(each.names), where=(listed_names(list(each.names)),)
            )
            for each in zeros[:_MOST_CAUSES]
        ),
        OpenItem(what="without a point from other causes, each its own", count=len(rare), where=(listed_names(rare),)),
        OpenItem(what="cut off by a limit", count=len(ended), where=tuple(ended)),
        OpenItem(
            what="left out of hand-ins",
            count=len(refused),
            where=tuple(refused),
            remedy="" if len(refused) <= _MOST else f"all: labgrade export --results {whole.folder} --format markdown",
        ),
    )
    return [*(each for each in found if each.count), *(collected_with(whole.collected) if whole.key is None else ())]


def _checks(whole: Whole) -> Iterator[tuple[SubmissionReport, TaskReport, Graded]]:
    for submission in whole.staff.submissions:
        for task in submission.tasks:
            for check in task.checks:
                yield submission, task, check


def _faults(whole: Whole, names: Pseudonyms) -> Iterator[OpenItem]:
    """Faults by what failed: one broken checker is one thing to mend, however many students it met.

    What --submission-time cut off, or a run did not reach, is one thing, too: whose it is, and how many checks.
    """
    found: dict[tuple[str, str, str], list[str]] = {}
    cut: dict[str, Counter[str]] = {}
    for submission, task, check in _checks(whole):
        if check.verdict.outcome is Outcome.FAULT:
            why = check.verdict.facts.get("fault") or check.verdict.reason
            if why.startswith((CUT_OFF, NOT_REACHED)):
                cut.setdefault(why, Counter())[names.of(submission.name)] += 1
                continue
            found.setdefault((task.id, check.id.partition("[")[0], why), []).append(names.of(submission.name))
    for (task_id, name, why), who in sorted(found.items(), key=lambda row: -len(row[1])):
        yield OpenItem(
            what=f"labgrade failed in {task_id} {name}: {why}",
            count=len(who),
            where=(listed_names(list(dict.fromkeys(who))),),
            remedy="mend it and grade again, or settle it: labgrade override",
        )
    for why, whose in cut.items():
        remedy = "grade again to go on" if why.startswith(NOT_REACHED) else "grade again with more --submission-time"
        yield OpenItem(
            what=f"cut off before they were judged: {why}",
            count=whose.total(),
            where=tuple(f"'{who}': {count:,} {'check' if count == 1 else 'checks'}" for who, count in whose.items()),
            remedy=f"{remedy}, or settle it: labgrade override",
        )


def _marks(whole: Whole, names: Pseudonyms) -> Iterator[OpenItem]:
    left: Counter[tuple[str, str]] = Counter()
    all_of: Counter[tuple[str, str]] = Counter()
    again, runs = [], []
    for submission, task, check in _checks(whole):
        name = f"{names.of(submission.name)} {task.id} {check.id}"
        if EARLIER in check.verdict.facts:
            again.append(name)
        if check.verdict.facts.get(NEXT) == RUN:
            runs.append(name)
        if is_open(check):
            left[task.id, check.id] += 1
        all_of[task.id, check.id] += is_open(check) or check.decision is not None
    marks = (
        f"{task} {check}: {count:,} of {all_of[task, check]:,} left" for (task, check), count in sorted(left.items())
    )
    yield OpenItem(what="to be marked", count=left.total(), where=tuple(marks), remedy=f"labgrade mark {whole.folder}")
    said = "decided before, and what it was about changed since"
    yield OpenItem(what=said, count=len(again), where=tuple(again), remedy="they are among those to be marked")
    said = "opened by a person's decision, and not graded yet"
    yield OpenItem(what=said, count=len(runs), where=tuple(runs), remedy=RUN)


def _outdated_overrides(whole: Whole, names: Pseudonyms) -> Iterator[OpenItem]:
    differ = [_differs(whole, names, submission, task, check) for submission, task, check in _checks(whole)]
    yield OpenItem(
        what="overridden, and labgrade's own verdict has changed since",
        count=sum(map(bool, differ)),
        where=tuple(filter(None, differ)),
        remedy="look at it again: labgrade override, or --undo",
    )
    current = {each.name: each for each in whole.staff.submissions}
    less = [
        f"{names.of(name)} {found[-1]}"
        for name, release in whole.releases.items()
        if name in current and (found := releases.lowered(release, current[name]))
    ]
    yield OpenItem(
        what="with fewer points than were released",
        count=len(less),
        where=tuple(less),
        remedy=f"labgrade release {whole.folder} --lower --reason ...",
    )
    if whole.releases:
        not_yet = [names.of(name) for name in current if name not in whole.releases]
        yield OpenItem(what="not released yet", count=len(not_yet), where=tuple(not_yet), remedy="labgrade release")


def _differs(whole: Whole, names: Pseudonyms, submission: SubmissionReport, task: TaskReport, check: Graded) -> str:
    """Describe an override made when labgrade's own verdict was different; "" if it is the same."""
    if check.decision is None:
        return ""
    ruling = whole.decisions.in_force(Place(submission=submission.name, lab=task.lab, task=task.id, check=check.id))
    now = f"{check.decision.machine.outcome} {points(check.decision.machine.credit * check.points)}"
    if ruling is None or ruling.kind != "override" or now == ruling.machine:
        return ""
    return f"{names.of(submission.name)} {task.id} {check.id}: was {ruling.machine}, is {now}"


def lines(found: list[OpenItem]) -> Iterator[tuple[str, str]]:
    """Format what `standing` found as styled lines."""
    for each in found:
        yield f"{each.count:,} {each.what}", "bold"
        for where in each.where[:_MOST]:
            yield f"    {where}", ""
        if len(each.where) > _MOST:
            yield f"    and {len(each.where) - _MOST:,} more", "dim"
        if each.remedy:
            yield f"  -> {each.remedy}", "cyan"
