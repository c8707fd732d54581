"""What `labgrade collect` has to tell a person: of whom nothing could be taken in, and what is odd about the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labgrade.core.text import listed_names, one_line
from labgrade.submissions.collected import TAKEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.submissions.collected import Collection

NOBODY_WAITS = ("empty", "untouched", "no folder")
_SAID = {
    "closed": ("nobody let us in", "ask for access, or correct the roster; then collect again"),
    "empty": ("nothing was pushed", ""),
    "untouched": ("nothing but what students were given", ""),
    "no branch": ("the branch that counts is not there", "tell the student, or name it in lab.yaml: collect.branch"),
    "no folder": ("the folder of this lab is not there", ""),
    "no report": ("the report by its link can't be had", "correct the link in the roster, or tell the student"),
    "no address": ("where it is, is not known", "correct the roster"),
    "damaged": ("refused by git", "look at it by hand"),
    "too large": ("larger than is fetched", "collect again with --repository-size"),
    "too slow": ("took longer than is waited for", "collect again with --repository-time"),
    "unreachable": ("their server could not be asked", "collect again"),
}


def waiting(found: Collection) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield what kept repositories from being taken in: the problem, where, and the remedy."""
    for state, (what, remedy) in _SAID.items():
        if state not in NOBODY_WAITS and (where := _where(found, state)):
            yield f"{'repository' if len(where) == 1 else 'repositories'} not collected: {what}", where, remedy


def worth_a_look(found: Collection) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield other remarks on a collection."""
    for state in NOBODY_WAITS:
        if where := _where(found, state):
            yield f"{'repository' if len(where) == 1 else 'repositories'} without work: {_SAID[state][0]}", where, ""
    taken = {name: entry for name, entry in sorted(found.entries.items()) if entry["state"] == TAKEN}
    notes = [f"{name}: {one_line(note)}" for name, entry in taken.items() for note in entry["staff"]]
    if notes:
        yield "to be known about commits", tuple(notes), ""
    not_new = [f"{name}: {one_line(each['trouble'])}" for name, each in taken.items() if each.get("trouble")]
    if not_new:
        yield "could not be fetched this time", tuple(not_new), "collect again"
    reports = [
        f"{name}: {one_line(said)}"
        for name, entry in taken.items()
        for key in ("trouble", "late", "others")
        if (said := (entry.get("document") or {}).get(key))
    ]
    if reports:
        yield "reports by link", tuple(reports), ""
    if same := tuple(_identical_work(taken)):
        yield "have the same commit, as where it is a template's (collect.template) or copied", same, ""


def _where(found: Collection, state: str) -> tuple[str, ...]:
    """Return the submissions in a state, by message."""
    names: dict[str, list[str]] = {}
    for name, entry in sorted(found.entries.items()):
        if entry["state"] == state:
            said = entry["said"].replace(f"{entry['address']}/", "it") if entry["address"] else entry["said"]
            names.setdefault(said, []).append(name)
    return tuple(f"{one_line(listed_names(who))}: {one_line(said)}" for said, who in names.items())


def _identical_work(taken: dict[str, dict[str, object]]) -> Iterator[str]:
    by_commit: dict[object, list[str]] = {}
    for name, entry in taken.items():
        by_commit.setdefault(entry.get("commit"), []).append(name)
    by_commit.pop(None, None)  # of who handed in a report alone
    yield from (f"{listed_names(who)}: {str(commit)[:10]}" for commit, who in by_commit.items() if len(who) > 1)
