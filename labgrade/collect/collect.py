"""`labgrade collect`: every repository into the mirror, and of each the commit that counts into the record."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from labgrade.collect import forges, reports, taking
from labgrade.collect.mirror import Mirror
from labgrade.collect.repositories import Patience, Repository
from labgrade.collect.taking import Handout
from labgrade.core.errors import UsageError
from labgrade.core.text import one_line
from labgrade.submissions import collected, git_run
from labgrade.submissions.git_run import Bounds, GitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from labgrade.collect.forges import Forge
    from labgrade.collect.taking import Entry
    from labgrade.spec.lab import Deadline
    from labgrade.submissions.collected import Collection
    from labgrade.submissions.git_run import Access

_LARGE = 1 << 20  # what is worth being shared
_MOST_SHARED = 8
_MOST_LOST = 20
_FIRST = 3  # repositories that are asked for alone


@dataclass(frozen=True, kw_only=True)
class Collecting:
    """A run of `collect`. `rules`: `collect` of lab.yaml. `jobs`: how many repositories at a time.

    `forge`: the API to ask, and its address. `people`: the ids of the roster by login.
    """

    lab: str
    rules: Mapping[str, Any]
    deadline: Deadline | None
    mirror: Path
    folder: Path
    access: Access
    jobs: int = 6
    bounds: Bounds = field(default_factory=Bounds)
    patience: Patience = field(default_factory=Patience)
    forge: tuple[Forge, str] | None = None
    people: Mapping[str, str] = field(default_factory=dict)
    _sharing: threading.Lock = field(default_factory=threading.Lock)
    _asking: threading.Lock = field(default_factory=threading.Lock)  # of an API, which wants one request after another

    def run(self, wanted: Sequence[Repository], done: Callable[[str], None]) -> Collection:
        """Collect repositories in parallel and keep the record, with earlier entries for those not collected now.

        Raises:
            UsageError: the template can't be had, or the record can't be written.
            KeyboardInterrupt: Ctrl-C; what was fetched is kept.
        """
        before = collected.read(self.folder)
        if before.lab and before.lab != self.lab:
            message = f"'{self.folder}' holds what was collected for '{before.lab}': name another folder of results"
            raise UsageError(message)
        git_run.go_on()
        given = self._given()
        entries = _kept_entries(before.entries, wanted)
        for name, entry in self._all(wanted, given, before.entries):
            entries[name] = entry
            done(name)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        found = replace(before, lab=self.lab, mirror=self.mirror, at=now, entries=entries)
        collected.write(found)
        return found

    def _all(
        self, wanted: Sequence[Repository], given: Handout, before: Mapping[str, Entry]
    ) -> Iterator[tuple[str, Entry]]:
        """Collect the first alone, so that the others can borrow its objects, then the rest in parallel."""
        waiting = list(wanted)
        for each in wanted[:_FIRST]:
            waiting.remove(each)
            entry = self._one(each, given, before.get(each.name))
            yield each.name, entry
            if entry["state"] == collected.TAKEN:
                break
        pool = ThreadPoolExecutor(self.jobs)
        try:
            tasks = {pool.submit(self._one, each, given, before.get(each.name)): each.name for each in waiting}
            for task in as_completed(tasks):
                yield tasks[task], task.result()
        except BaseException:
            self.patience.stopped.set()
            git_run.stop_all()
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    def _given(self) -> Handout:
        """Return the handout: the template's commits and their folder of this lab.

        Raises:
            UsageError: it can't be had.
        """
        if not (address := self.rules.get("template")):
            return Handout()
        mirror = Mirror(self.mirror, address)
        try:
            if (trouble := self._fetch(mirror)) is not None and not mirror.got:
                raise trouble
            tips = sorted({tip for each in mirror.answers for tip in each.branches.values() if tip in mirror.got})
            mirror.share()
            return Handout(tips=tuple(tips), trees=mirror.given_trees(tips, self.rules.get("folder", "")))
        except GitError as error:
            message = f"the template '{address}' can't be had: {error}"
            raise UsageError(message) from error

    def _one(self, repository: Repository, given: Handout, before: Entry | None) -> Entry:
        """Collect one repository; its entry says what went wrong, and the others go on."""
        if repository.problem:
            return taking.untaken(repository, "no address", repository.problem)
        mirror = Mirror(self.mirror, repository.address or repository.link)
        asked = taking.CollectRequest(
            repository=repository,
            mirror=mirror,
            given=given,
            rules=self.rules,
            deadline=self.deadline,
            people=self.people,
        )
        if repository.address:
            trouble = self._fetch(mirror)
            untold = self._tell(mirror) if trouble is None else ""
            entry = taking.entry(asked, before, trouble)
            if untold and entry["state"] == collected.TAKEN:
                entry["trouble"] = f"its pushes are not known: {untold}"
        else:
            entry = taking.untaken(repository, reports.NONE, "")
        return reports.with_document(asked, entry, self.folder / collected.DOCUMENTS)

    def _tell(self, mirror: Mirror) -> str:
        """Ask the forge for pushes and members if something changed; return why it did not answer, or ""."""
        if self.forge is None or mirror.is_told or not mirror.got:
            return ""
        forge, api = self.forge
        try:
            with self._asking:
                pushes, members = forges.ask_forge(forge, forges.path_of(mirror.address, api))
        except forges.NotToldError as error:
            return one_line(str(error))
        wanted = {push.after for push in pushes if push.after} - mirror.gone
        for commit in sorted(wanted - mirror.known(wanted))[:_MOST_LOST]:  # what a force-push took away
            try:
                mirror.fetch([commit], self.access, self.bounds)
            except GitError:
                mirror.note({"gone": [commit]})
        mirror.tell(pushes, members)
        return ""

    def _fetch(self, mirror: Mirror) -> GitError | None:
        """Fetch what is new; return what went wrong, or ""."""
        try:
            self.patience.ask(mirror.address, partial(self._look, mirror))
        except GitError as error:
            return error
        return None

    def _look(self, mirror: Mirror) -> None:
        missing = mirror.missing(mirror.ask(self.access))
        if not missing:
            return
        mirror.fetch(missing, self.access, self.bounds)
        if mirror.own_bytes() > _LARGE:
            with suppress(GitError):  # it only takes more room
                with self._sharing:
                    if len(list((mirror.base / "objects" / "pack").glob("*.pack"))) < _MOST_SHARED:
                        mirror.share()
                mirror.slim()


def _kept_entries(before: Mapping[str, Entry], wanted: Sequence[Repository]) -> dict[str, Entry]:
    """Return the record's entries without students who are collected under another name now."""
    names = {each.name for each in wanted}
    students = {student.id for each in wanted for student in each.owners}
    return {name: each for name, each in before.items() if name in names or not students.issuperset(each["members"])}
