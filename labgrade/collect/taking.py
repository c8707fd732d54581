"""What is taken in of one repository, and what is to be said of it: each case has a line of its own."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from labgrade.collect import counting, pushes
from labgrade.collect.counting import History
from labgrade.core.text import listed_names
from labgrade.review.late import due_for
from labgrade.submissions.collected import TAKEN
from labgrade.submissions.git_run import CLOSED, DAMAGED, TOO_LARGE, TOO_SLOW, UNREACHABLE, GitError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from labgrade.collect.counting import CountedCommit
    from labgrade.collect.mirror import Answer, Mirror
    from labgrade.collect.repositories import Repository
    from labgrade.spec.lab import Deadline

Entry: TypeAlias = "dict[str, Any]"
_MOST_BRANCHES = 5
_MOST_NAMED = 8
_SAID = {
    CLOSED: "nobody let us in, or there is no such repository",
    DAMAGED: "git refuses what is in it",
    TOO_LARGE: "it is larger than is fetched (--repository-size)",
    TOO_SLOW: "it took longer than is waited for (--repository-time)",
    UNREACHABLE: "its server could not be asked",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Handout:
    """The handout: a template's last commits, and the trees of its folder for this lab."""

    tips: tuple[str, ...] = ()
    trees: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectRequest:
    """One repository, with the rules of its lab."""

    repository: Repository
    mirror: Mirror
    given: Handout = field(default_factory=Handout)
    rules: Mapping[str, Any] = field(default_factory=dict)
    deadline: Deadline | None = None
    people: Mapping[str, str] = field(default_factory=dict)  # of the roster: ids by login, in small letters

    @property
    def folder(self) -> str:
        """Return the lab's folder in the repository, or "" for all of it."""
        return str(self.rules.get("folder", "")).strip("/")

    @property
    def branch(self) -> str:
        """Return the branch that lab.yaml names, or ""."""
        return str(self.rules.get("branch", ""))

    def basis(self) -> str:
        """Return a digest of all that the decision depends on; while it stays, nothing is decided anew."""
        due = due_for(self.deadline, self.repository.group).isoformat() if self.deadline is not None else ""
        rule = repr(self.deadline.rule) if self.deadline is not None else ""
        parts = (due, rule, self.folder, self.branch, self.given.tips, self.mirror.path.name, self.mirror.changes)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def untaken(repository: Repository, state: str, said: str) -> Entry:
    """Return the entry of a repository from which nothing is collected."""
    return {"state": state, "said": said, "address": repository.address, "members": [m.id for m in repository.owners]}


def entry(asked: CollectRequest, before: Entry | None, trouble: GitError | None) -> Entry:
    """Return the entry of a repository; a failure stands beside what was fetched before."""
    said = f"{_SAID[trouble.kind]}: {trouble}" if trouble is not None else ""
    basis = asked.basis()
    if before is not None and before.get("basis") == basis:
        found = dict(before)
    elif trouble is not None and not asked.mirror.got:
        return untaken(asked.repository, trouble.kind, said)
    else:
        try:
            found = {**_decided(asked), "basis": basis}
        except GitError as error:
            return untaken(asked.repository, error.kind, f"{_SAID[error.kind]}: {error}")
    if trouble is not None:
        found["trouble"] = f"{said}; what was fetched before stands"
    else:
        found.pop("trouble", None)
    return found


def _decided(asked: CollectRequest) -> Entry:
    mirror, folder = asked.mirror, asked.folder
    seen = mirror.seen(asked.branch)
    if all(each.tip is None for each in seen):
        return untaken(asked.repository, *_in_words(mirror.answers, asked.branch))
    graph = mirror.graph(seen, asked.given.tips)
    if not graph and not mirror.known({each.tip for each in seen if each.tip is not None}):
        raise GitError(DAMAGED, "its branch points to what is no commit")
    own = next((name for each in reversed(mirror.answers) if (name := each.branch(asked.branch))), "")
    seen, odd = pushes.with_pushes(seen, mirror.pushes, own, graph)
    trees = mirror.trees(graph, folder) if folder or asked.given.trees else {}
    none = asked.given.trees
    history = History(
        seen=seen,
        graph=graph,
        is_work=(lambda commit: trees.get(commit, "") not in {"", *none}) if folder or none else lambda _: True,
    )
    counts = counting.choose(history, asked.deadline, asked.repository.group)
    if counts is None:
        if folder and graph and not trees:
            return untaken(asked.repository, "no folder", f"there is no folder '{folder}' in it")
        return untaken(asked.repository, "untouched", "there is nothing but what students were given")
    return _entry_of_commit(asked, counts, odd)


def _entry_of_commit(asked: CollectRequest, counts: CountedCommit, odd: Sequence[str]) -> Entry:
    mirror = asked.mirror
    mirror.check(counts.commit, asked.folder)
    found = untaken(asked.repository, TAKEN, "")
    found |= {
        "repository": mirror.path.name,
        "commit": counts.commit,
        "folder": asked.folder,
        "handed_in": counts.at.isoformat(),
        "by": counts.by,
        "days_late": counts.days_late,
        "left_out": list(mirror.not_there(counts.commit, asked.folder)),
        "staff": [*counts.staff, *odd, *_branches(asked), *_from_the_forge(asked)],
    }
    return found


def _branches(asked: CollectRequest) -> Iterator[str]:
    """Say which branch was taken if not the one asked for, and which others have more work."""
    mirror, wanted = asked.mirror, asked.branch
    last = next(each for each in reversed(mirror.answers) if each.branches)
    own = last.branch(wanted)
    if wanted and own and own != wanted:
        yield f"there is no branch '{wanted}': its only one, '{own}', was taken"
    others = [
        name
        for name in sorted(last.branches.keys() - {own})[:_MOST_BRANCHES]
        if own and mirror.ahead(last.branches[name], [last.branches[own], *asked.given.tips])
    ]
    if others:
        yield f"other branches hold commits that do not count: {listed_names(others)}"


def _from_the_forge(asked: CollectRequest) -> Iterator[str]:
    """Say what only the server's API tells: vanished pushes, and other students with access."""
    lost = [push for push in asked.mirror.pushes if push.after in asked.mirror.gone]
    if lost:
        at = counting.stamp(lost[-1].at)
        yield f"the server recorded a push of {lost[-1].after[:10]} at {at}, which it does not give out any more"
    own = {each.id for each in asked.repository.group}
    others = sorted({asked.people[login] for login in asked.mirror.members if login in asked.people} - own)
    if others:
        yield f"others of the roster can read it: {listed_names(others)}"


def _in_words(answers: Sequence[Answer], wanted: str) -> tuple[str, str]:
    """Return the state and message of a repository in which no branch counts."""
    last = answers[-1]
    there = ", ".join(f"'{name}'" for name in sorted(last.branches)[:_MOST_NAMED])
    if last.branches:
        missing = f"there is no branch '{wanted}'" if wanted else "the server names no branch that counts"
        return "no branch", f"{missing}; there is {there}"
    if last.tags:
        return "no branch", f"it has tags and no branch: {', '.join(sorted(last.tags)[:_MOST_NAMED])}"
    return "empty", "nothing was pushed"
