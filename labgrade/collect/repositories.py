"""Whose repository is where: the addresses of a class, as lab.yaml and the roster say, and how servers are asked."""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from labgrade.core.errors import UsageError
from labgrade.core.git_address import NoAddressError, filled_in
from labgrade.review.roster import NO_REPOSITORY
from labgrade.submissions import names
from labgrade.submissions.git_run import UNREACHABLE, GitError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from labgrade.review.roster import Roster, Student

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository to collect: what the submission is called, and whose it is. `problem`: why it can't be asked for.

    Without an address there is only the report that a link names. `group` are all that the longest extension of counts:
    the owners, and others of their group.
    """

    name: str
    address: str
    owners: tuple[Student, ...]
    group: tuple[Student, ...]
    problem: str = ""

    @property
    def link(self) -> str:
        """Return the report's link in the roster."""
        return next((each.document for each in self.owners if each.document), "")


def repositories(roster: Roster, lab: str, rules: Mapping[str, Any]) -> list[Repository]:
    """Return all repositories of a class, each once, by name.

    Raises:
        UsageError: nothing says where they are.
    """
    if not roster.students:
        message = "the course has no roster: roster.yaml or roster.csv beside 'specs' says whose repositories there are"
        raise UsageError(message)
    owners: dict[str, list[Student]] = {}
    reports: dict[str, list[Student]] = {}
    found = []
    for student in roster.students:
        try:
            address = _address(student, lab, rules)
        except NoAddressError as error:
            found.append(_repository(roster, "", [student], str(error)))
            continue
        if address:
            owners.setdefault(address, []).append(student)
        else:
            reports.setdefault(student.document, []).append(student)
    for own in reports.values():
        theirs = [each for each in owners.values() if own[0].group and own[0].group == each[0].group]
        if len(theirs) == 1 and not _shared(own, ""):
            theirs[0].extend(own)  # what their group hands in
        else:
            found.append(_repository(roster, "", own, _shared(own, "the link of its report")))
    found += [_repository(roster, address, own, _shared(own, "its address")) for address, own in owners.items()]
    taken: dict[str, Repository] = {}
    for each in found:
        if taken.setdefault(each.name.casefold(), each) is not each:
            message = f"two repositories would be called '{each.name}'; give one a 'submission' in the roster"
            raise UsageError(message)
    return sorted(found, key=lambda each: each.name)


def _address(student: Student, lab: str, rules: Mapping[str, Any]) -> str:
    """Return the address of a student's repository; "" for a student with only a report's link."""
    template = student.repository or rules.get("repository", "")
    if template in ("", NO_REPOSITORY) and student.document:
        return ""
    if template == NO_REPOSITORY:
        message = "the roster says that there is no repository, and names no report (document), either"
        raise NoAddressError(message)
    if not template:
        message = "neither lab.yaml (collect.repository) nor the roster (repository) says where the repository is"
        raise NoAddressError(message)
    values = {"login": student.login or student.id, "id": student.id, "group": student.group, "lab": lab}
    return filled_in(template, values)


def _shared(owners: list[Student], what: str) -> str:
    groups = {each.group or each.id for each in owners}
    called = ", ".join(f"'{each.id}'" for each in owners[1:])
    return f"{what} is that of {called}, too, who are not in the same group" if len(groups) > 1 else ""


def _repository(roster: Roster, address: str, owners: list[Student], problem: str) -> Repository:
    first = owners[0]
    name = first.submission or (first.group if len(owners) > 1 and not problem else first.id)
    unfit = names.split(name) != (name,) or name.startswith(".")
    return Repository(
        name=name,
        address=address,
        owners=tuple(owners),
        group=tuple({other.id: other for each in owners for other in roster.members(each)}.values()),
        problem=problem or ("no folder can have this name; give a 'submission' in the roster" if unfit else ""),
    )


@dataclass(slots=True)
class Patience:
    """How often a silent server is asked: with growing pauses, but once if it has failed for others.

    `stopped` ends all waiting.
    """

    pauses: tuple[float, ...] = (1.0, 4.0, 15.0)
    stopped: threading.Event = field(default_factory=threading.Event)
    _down: set[str] = field(default_factory=set)

    def ask(self, address: str, what: Callable[[], _T]) -> _T:
        """What a server answers.

        Raises:
            GitError: it can't be had.
        """
        host = urlsplit(address).hostname or address.partition(":")[0]
        pauses = () if host in self._down else self.pauses
        for pause in (*pauses, None):
            try:
                found = what()
            except GitError as error:
                if error.kind != UNREACHABLE or self.stopped.is_set():
                    raise
                if pause is None:
                    self._down.add(host)
                    raise
                self.stopped.wait(pause * random.uniform(0.75, 1.25))  # noqa: S311 - so that not all come at once
            else:
                self._down.discard(host)
                return found
        raise AssertionError  # pragma: no cover - the last try returns or raises
