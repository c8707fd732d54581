"""Which commit counts: decided from what fetches saw, and from committer dates only where no fetch can tell.

A fetch is a witness: what a branch pointed to is known between the moments at which the server was asked and had
answered. A commit that a fetch does not see came later, whatever its date says.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from labgrade.review.late import due_for
from labgrade.spec import lab as late_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from fractions import Fraction

    from labgrade.review.roster import Student
    from labgrade.spec.lab import Deadline

_SHORT = 10
_MOST_NAMED = 3
_CLOCK = timedelta(days=1)  # by this much a clock is wrong, not only a little fast


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """What a fetch saw: the commit of the branch, None if there was none, and those of other branches.

    `pushed`: a server recorded it as a push of this very moment. `unread`: it was there, and could not be fetched.
    """

    began: datetime
    ended: datetime
    tip: str | None
    others: tuple[str, ...] = ()
    pushed: bool = False
    unread: bool = False


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its parents, and the committer date, which the student's machine wrote."""

    parents: tuple[str, ...]
    claimed: datetime


@dataclass(frozen=True, slots=True)
class _Arrival:
    """The fetch that first saw a commit on any branch, and the earliest moment at which it can have been there.

    `joined`: in which it was first seen on the branch that counts.
    """

    fetch: int
    at: datetime
    joined: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedCommit:
    """The commit that counts: when it was handed in, and the evidence. `staff`: remarks for them."""

    commit: str
    at: datetime
    by: str
    days_late: int = 0
    staff: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class History:
    """All that is known of a branch. `graph` holds the students' own commits: none that they were given.

    `is_work`: whether a commit has something to grade; others do not count. `arrived` is made of these:
    the commits of the branch, parents before children.
    """

    seen: Sequence[Sighting]
    graph: Mapping[str, Commit]
    is_work: Callable[[str], bool] = lambda _: True
    arrived: dict[str, _Arrival] = field(default_factory=dict)

    def __post_init__(self) -> None:
        there: dict[str, tuple[int, datetime]] = {}
        for number, each in enumerate(self.seen):
            before = self.before(number)
            earlier = each.began if each.pushed else before.began if before is not None else None
            for name in (name for tip in (each.tip, *each.others) for name in self._new(tip, there)):
                commit = self.graph[name]
                after = [there[parent][1] for parent in commit.parents if parent in there]
                least = [commit.claimed, *after, *([earlier] if earlier is not None else [])]
                there[name] = number, min(max(least), each.ended)
            for name in self._new(each.tip, self.arrived):
                self.arrived[name] = _Arrival(*there[name], number)

    def before(self, number: int) -> Sighting | None:
        """Return the last complete sighting of the branch before one."""
        return next((each for each in reversed(self.seen[:number]) if each.tip is not None or not each.pushed), None)

    def _new(self, tip: str | None, known: Mapping[str, object]) -> Iterator[str]:
        """Yield a branch's unknown commits, parents before children."""
        waiting = [tip] if tip in self.graph else []
        while waiting:
            name = waiting[-1]
            if name is None or name in known:
                waiting.pop()
                continue
            below = [each for each in self.graph[name].parents if each in self.graph and each not in known]
            if below:
                waiting += below
            else:
                waiting.pop()
                yield name

    def at(self, commit: str) -> datetime:
        """Return the earliest moment at which a commit can have been handed in."""
        return self.arrived[commit].at

    def within(self, commit: str, tip: str | None) -> bool:
        """Return whether a commit is reachable from a tip."""
        return tip is not None and commit in reachable(tip, self.graph)

    def state(self, limit: datetime) -> str | None:
        """Return the branch's tip at a moment, as a fetch saw it or as later commits claim."""
        for number in reversed(range(len(self.seen))):
            each = self.seen[number]
            found = each.tip if each.ended <= limit and each.tip in self.graph else self._claimed(number, limit)
            if found is not None and self.is_work(found):
                return found
        return None

    def _claimed(self, number: int, limit: datetime) -> str | None:
        """Return the last commit that a fetch saw first and that claims to be handed in by the limit."""
        tip = self.seen[number].tip
        earlier = next((each.tip for each in reversed(self.seen[:number]) if each.tip in self.graph), None)
        builds_on = self._built_on(earlier)
        name = tip
        while name in self.graph and name is not None and self.arrived[name].joined == number:
            if (tip not in builds_on or name in builds_on) and self.arrived[name].at <= limit:
                return name
            name = next(iter(self.graph[name].parents), None)
        return None

    def _built_on(self, commit: str | None) -> set[str]:
        """Return a commit and all its descendants."""
        found = {commit} if commit is not None else set()
        for name in self.arrived:  # parents before children
            if not found.isdisjoint(self.graph[name].parents):
                found.add(name)
        return found

    def last(self) -> str | None:
        """Return the branch's last known tip."""
        tips = (each.tip for each in reversed(self.seen) if each.tip in self.graph)
        return next((tip for tip in tips if tip is not None and self.is_work(tip)), None)


def reachable(tip: str, graph: Mapping[str, Commit]) -> set[str]:
    """A commit, and all students' own commits that it contains."""
    found: set[str] = set()
    waiting = [tip]
    while waiting:
        name = waiting.pop()
        if name in graph and name not in found:
            found.add(name)
            waiting += graph[name].parents
    return found


def choose(history: History, deadline: Deadline | None, owners: Iterable[Student]) -> CountedCommit | None:
    """Choose the commit that counts for these students; None if they handed in nothing.

    It is the last one in time. Where there is none, it is the one from which the late rule takes least, and of those
    the last; without a rule, the last of all.
    """
    last = history.last()
    if last is None:
        return None
    if deadline is None:
        return CountedCommit(
            commit=last, at=history.at(last), by=_evidence(history, last, None), staff=tuple(_rewritten(history))
        )
    due = due_for(deadline, owners)
    grace = deadline.rule.grace if deadline.rule is not None else timedelta(0)
    moments = (*(each.ended for each in history.seen), *(each.at for each in history.arrived.values()))
    best: tuple[tuple[Fraction, bool], int, str] | None = None
    for days in sorted({0, *(late_rules.days_late(due, each, grace) for each in moments)}):
        commit = history.state(late_rules.last_moment(due, days, grace))
        cost = late_rules.cost(deadline.rule, days)
        if commit is not None and (best is None or (cost, days > 0) <= best[0]):
            best = (cost, days > 0), days, commit
        if best is not None and best[1] == 0:
            break
    if best is None:
        return None
    commit = best[2]
    days = late_rules.days_late(due, history.at(commit), grace)
    limit = late_rules.last_moment(due, 0, grace)
    staff = (*_rewritten(history), *_refuted(history, limit, due), *_after(history, commit, last))
    return CountedCommit(
        commit=commit, at=history.at(commit), by=_evidence(history, commit, limit), days_late=days, staff=staff
    )


def _evidence(history: History, commit: str, limit: datetime | None) -> str:
    """Name the evidence for the moment: a fetch, or else the student's own machine."""
    number = history.arrived[commit].fetch
    first = history.seen[number]
    before = history.before(number)
    if first.pushed:
        return f"the push of {stamp(first.ended)}, as the server recorded it"
    if limit is not None and first.ended <= limit:
        return f"the fetch of {stamp(first.ended)}, which found it there"
    if limit is not None and before is not None and before.began > limit:
        return f"the {_kind(before)} of {stamp(before.began)}, in which it was not there yet"
    return f"its committer date, which the student's machine wrote; first seen in the fetch of {stamp(first.ended)}"


def _rewritten(history: History) -> Iterator[str]:
    """Say that the branch was rewritten; its earlier commits are kept."""
    there = [each for each in history.seen if each.tip in history.graph]
    for before, after in pairwise(there):
        if before.tip != after.tip and before.tip is not None and not history.within(before.tip, after.tip):
            yield (
                f"the branch was rewritten (force-push) between {stamp(before.ended)} and {stamp(after.ended)}; "
                f"{before.tip[:_SHORT]}, which it was before, is in the mirror"
            )
    if history.seen and history.seen[-1].tip is None and not history.seen[-1].unread and there:
        yield f"the branch is gone since {stamp(history.seen[-1].ended)}; its commits are in the mirror"


def _refuted(history: History, limit: datetime, due: datetime) -> Iterator[str]:
    """Find commits that claim to be in time but are refuted by a fetch or by their parents."""
    found = [
        (name, arrival)
        for name, arrival in history.arrived.items()
        if history.graph[name].claimed <= limit < arrival.at
    ]
    for name, arrival in found[:_MOST_NAMED]:
        first = history.seen[arrival.fetch]
        before = history.before(arrival.fetch)
        why = (
            f"was pushed at {stamp(first.ended)}, as the server recorded it"
            if first.pushed
            else f"was not there in the {_kind(before)} of {stamp(before.began)}"
            if before is not None and before.began > limit
            else "builds on a commit of a later date"
        )
        claims = stamp(history.graph[name].claimed.astimezone(due.tzinfo))
        yield f"{name[:_SHORT]} claims to be of {claims} and {why}: late"
    if len(found) > _MOST_NAMED:
        yield f"and {len(found) - _MOST_NAMED:,} more commits claim to be earlier than they can be"
    for name, arrival in history.arrived.items():
        if history.graph[name].claimed > history.seen[arrival.fetch].ended + _CLOCK:
            yield f"{name[:_SHORT]} claims to be of {stamp(history.graph[name].claimed)}, which lay in the future"
            return


def _after(history: History, commit: str, last: str) -> Iterator[str]:
    """Describe what came after the commit that counts."""
    if last == commit:
        return
    later = reachable(last, history.graph) - reachable(commit, history.graph)
    if later:
        said = "1 later commit does" if len(later) == 1 else f"{len(later):,} later commits do"
        yield f"{said} not count; the last is {last[:_SHORT]} of {stamp(history.at(last))}"


def _kind(seen: Sighting) -> str:
    return "push" if seen.began == seen.ended else "fetch"


def stamp(moment: datetime) -> str:
    """Format a moment to the second."""
    return (moment if moment.tzinfo else moment.astimezone(UTC)).isoformat(sep=" ", timespec="seconds")
