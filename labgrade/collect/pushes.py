"""Pushes as a forge recorded them, among what fetches saw: a fetch is believed first."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from labgrade.collect.counting import Sighting, reachable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from labgrade.collect.counting import Commit
    from labgrade.collect.forges import Push

_CLOCKS = timedelta(minutes=2)  # by which the forge's clock and ours may differ
REFUTED = "the server's record of pushes says otherwise than a fetch saw it, and was not believed"


def with_pushes(
    seen: Sequence[Sighting], pushes: Sequence[Push], branch: str, graph: Mapping[str, Commit]
) -> tuple[list[Sighting], tuple[str, ...]]:
    """Merge pushes into what fetches saw of a branch, in order; return that and remarks for staff.

    Pushes to the branch say what it was at a moment. Those to others say only that their commits were there.
    """
    last = max(each.began for each in seen)
    own = [push for push in pushes if push.branch == branch]
    if any(_refutes(fetch, own, graph) for fetch in seen):
        return list(seen), (REFUTED,)
    told = [each for push in own for each in _as_seen(_insert_push(push, seen, graph))]
    others = [
        Sighting(began=push.at, ended=push.at, tip=None, others=(push.after,), pushed=True)
        for push in pushes
        if push.branch != branch and push.after in graph and push.at < last
    ]
    return sorted([*seen, *told, *others], key=lambda each: each.ended), ()


def _as_seen(push: Push) -> Iterator[Sighting]:
    """Yield a push as sightings: the branch before it, if not recorded otherwise, and after."""
    if push.before:
        yield Sighting(began=push.at, ended=push.at, tip=push.before)
    yield Sighting(began=push.at, ended=push.at, tip=push.after or None, pushed=True)


def _refutes(fetch: Sighting, own: Sequence[Push], graph: Mapping[str, Commit]) -> bool:
    """Return whether a fetch refutes an earlier push by not seeing it, allowing for clock differences."""
    before = [push for push in own if push.at < fetch.began - _CLOCKS]
    around = [push for push in own if fetch.began - _CLOCKS <= push.at <= fetch.ended + _CLOCKS]
    return bool(before) and not around and not _holds(fetch, before[-1], graph)


def _holds(fetch: Sighting, push: Push, graph: Mapping[str, Commit]) -> bool:
    """Return whether a fetch saw a push's commit, even below later unrecorded ones."""
    if fetch.unread:
        return True
    if not push.after or fetch.tip is None:
        return not push.after and fetch.tip is None
    return push.after not in graph or push.after in reachable(fetch.tip, graph)


def _insert_push(push: Push, seen: Sequence[Sighting], graph: Mapping[str, Commit]) -> Push:
    """Insert a push, after a fetch of nearly the same moment that did not see it."""
    close = [each for each in seen if abs(each.began - push.at) <= _CLOCKS and push.at < each.ended]
    missed = [each.ended for each in close if not _holds(each, push, graph)]
    return replace(push, at=max(missed)) if missed else push
