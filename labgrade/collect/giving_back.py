"""`labgrade return`: what was released goes back as a commit on a branch of its own, never forced, never twice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from labgrade.collect.mirror import OURS, Mirror
from labgrade.collect.repositories import Patience
from labgrade.core.text import one_line
from labgrade.review.decisions import points
from labgrade.submissions.git_run import Bounds, GitError, git, go_on, stop_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from labgrade.review.releases import Release
    from labgrade.submissions.git_run import Access

PUSHED, SAME, WOULD = "pushed", "there already", "would be pushed"
_NOT_OURS = "not ours"
_JOBS = 6
_MARK = "Labgrade-Release: "
_BOUNDS = Bounds(seconds=120, file_bytes=64 << 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """What goes back to one submission: its files, and all its releases, the last one being what they show."""

    name: str
    title: str
    files: Mapping[str, bytes]
    history: list[Release]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnOutcome:
    """The outcome for one repository: a state and a message."""

    name: str
    address: str
    state: str
    said: str = ""
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class Returning:
    """A run of `return` for one lab. `dry`: nothing is pushed."""

    lab: str
    mirror: Path
    access: Access
    dry: bool = False
    patience: Patience = field(default_factory=Patience)

    @property
    def branch(self) -> str:
        """Return the name of labgrade's own branch."""
        return f"{OURS}{self.lab}"

    def give_all(self, packages: Iterable[tuple[Package, str]]) -> list[ReturnOutcome]:
        """Push each package to its repository, in parallel.

        Raises:
            KeyboardInterrupt: Ctrl-C; said again, it goes on.
        """
        go_on()
        pool = ThreadPoolExecutor(_JOBS)
        try:
            tasks = [pool.submit(self.give, package, address) for package, address in packages]
            return [task.result() for task in tasks]
        except BaseException:
            self.patience.stopped.set()
            stop_all()
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    def give(self, package: Package, address: str) -> ReturnOutcome:
        """Push a package to one repository; a failure is reported and does not stop the others."""
        try:
            return self.patience.ask(address, lambda: self._give(package, Mirror(self.mirror, address)))
        except GitError as error:
            return ReturnOutcome(name=package.name, address=address, state=error.kind, said=one_line(str(error)))

    def _give(self, package: Package, mirror: Mirror) -> ReturnOutcome:
        mirror.prepare()
        tip, ours = self._tip(mirror), self._last(mirror)
        standing = self._standing(mirror, tip, ours) if tip else ""
        if tip and not standing:
            said = f"there is a branch '{self.branch.removeprefix('refs/heads/')}' that labgrade did not make here"
            return ReturnOutcome(name=package.name, address=mirror.address, state=_NOT_OURS, said=said)
        before = _text(mirror.path, "log", "-1", "--format=%B", standing) if standing else ""
        if _released(before) == package.history[-1].digest:
            return ReturnOutcome(name=package.name, address=mirror.address, state=SAME)
        message = _message(package, before)
        if self.dry:
            return ReturnOutcome(name=package.name, address=mirror.address, state=WOULD, message=message)
        tree = _tree(mirror.path, package.files)
        commit = _commit(mirror.path, tree, tip, message, package.history[-1].at)
        git(["update-ref", f"refs/returned/{self.lab}", commit], at=mirror.path)
        pushing = ["push", "--quiet", "--no-verify", "--", mirror.address, f"{commit}:{self.branch}"]
        git(pushing, at=mirror.path, access=self.access, bounds=_BOUNDS)
        return ReturnOutcome(name=package.name, address=mirror.address, state=PUSHED, message=message)

    def _tip(self, mirror: Mirror) -> str:
        """Return our branch's commit on the server, or ""."""
        asking = ["-c", "protocol.version=0", "ls-remote", "--", mirror.address, self.branch]
        return git(asking, access=self.access, bounds=_BOUNDS).decode().partition("\t")[0]

    def _last(self, mirror: Mirror) -> str:
        """Return the commit that we pushed last, or were about to push."""
        return _text(mirror.path, "for-each-ref", "--format=%(objectname)", f"refs/returned/{self.lab}")

    def _standing(self, mirror: Mirror, tip: str, ours: str) -> str:
        """Return our last commit on the branch, even if somebody added to it, or ""."""
        if not ours:
            return ""
        fetching = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", mirror.address, tip]
        git(fetching, at=mirror.path, access=self.access, bounds=_BOUNDS)
        base = _text(mirror.path, "merge-base", "--all", tip, ours)
        return base if base in {tip, ours} else ""


def _text(repository: Path, *arguments: str) -> str:
    try:
        return git(list(arguments), at=repository, bounds=_BOUNDS).decode("utf-8", "replace").strip()
    except GitError:
        return ""


def _tree(repository: Path, files: Mapping[str, bytes]) -> str:
    rows = ""
    for name, content in sorted(files.items()):
        blob = git(["hash-object", "-w", "--stdin"], at=repository, given=content, bounds=_BOUNDS).decode().strip()
        rows += f"100644 blob {blob}\t{name}\n"
    return git(["mktree"], at=repository, given=rows.encode(), bounds=_BOUNDS).decode().strip()


def _commit(repository: Path, tree: str, parent: str, message: str, at: str) -> str:
    """Make the commit reproducibly, so that an interrupted run makes no second one."""
    dates = {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
    below = ["-p", parent] if parent else []
    made = git(["commit-tree", tree, *below], at=repository, given=message.encode(), more=dates, bounds=_BOUNDS)
    return made.decode().strip()


def _message(package: Package, before: str) -> str:
    """Write the commit message; after a correction it says what changed and why."""
    last = package.history[-1]
    known = {each.digest: each for each in package.history}
    earlier = known.get(_released(before))
    lines = [f"Results of {one_line(package.title)}", ""]
    if before:
        lines[0] = f"Results of {one_line(package.title)}, corrected"
        lines += [*(_changes(earlier, last) if earlier is not None else ()), ""]
        lines += [f"Why: {one_line(last.reason)}", ""] if last.reason else []
    return "\n".join([*lines, f"Released {last.at}", "", f"{_MARK}{last.digest}"]) + "\n"


def _released(message: str) -> str:
    """Return the digest of the release that a commit message names."""
    marks = [line.removeprefix(_MARK) for line in message.splitlines() if line.startswith(_MARK)]
    return marks[-1] if marks else ""


def _changes(before: Release, after: Release) -> Iterator[str]:
    """Yield the checks whose points changed, and the total."""
    was = {(task.id, check.id): check.earned for task in before.view.tasks for check in task.checks}
    now = {(task.id, check.id): check.earned for task in after.view.tasks for check in task.checks}
    for key in dict.fromkeys([*was, *now]):
        if was.get(key) != now.get(key):
            told = [points(each[key]) if key in each else "not there" for each in (was, now)]
            yield f"{' '.join(key)}: {told[0]} -> {told[1]}"
