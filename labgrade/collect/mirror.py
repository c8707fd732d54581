"""A mirror of one student's repository: every commit ever seen, and a journal of what each fetch was answered.

Commits are kept under names of their own (`refs/seen/COMMIT`), so that no push takes any away, and no branch's name
matters. What students have in common lies in one store (`base.git`) that all mirrors borrow from.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from labgrade.collect.counting import Commit, Sighting
from labgrade.collect.forges import Push
from labgrade.submissions.git_run import DAMAGED, TOO_LARGE, Bounds, GitError, git, ls_remote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from labgrade.submissions.git_run import Access

JOURNAL, BASE, OURS = "labgrade-fetches.jsonl", "base.git", "refs/heads/labgrade/"
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
# Files are exported as they were committed: nothing of a repository's own attributes is in force.
_ATTRIBUTES = "* -text -eol -ident -filter -working-tree-encoding -export-ignore -export-subst -diff -merge\n"
_ANSWER = Bounds(seconds=60, file_bytes=4 << 20, memory_bytes=1 << 30)
_READ = Bounds(seconds=60, file_bytes=256 << 20)
_MOST_REFS = 5_000
_ABANDONED_SECONDS = 3600
_POINTER_BYTES = range(100, 1024)
_MOST_POINTERS = 2_000
_POINTER = re.compile(
    rb"(?m)^(?P<id>[0-9a-f]{40,64}) blob \d+\n"
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:ext-[^\n]+\n)*oid sha256:"
)
_LINE = re.compile(rb"(?P<id>[0-9a-f]{40}|[0-9a-f]{64})\t(?P<name>[^\n]+)")
_HEAD = re.compile(rb"ref: refs/heads/(?P<branch>[^\n]+)\tHEAD")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A server's answer: the commits of its branches and tags, between two moments."""

    began: datetime
    ended: datetime
    head: str = ""
    branches: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)

    def says_the_same(self, other: Answer) -> bool:
        """Whether nothing changed."""
        return (self.head, self.branches, self.tags) == (other.head, other.branches, other.tags)

    def branch(self, wanted: str) -> str:
        """Return the branch that counts: the one asked for, the only one, or the server's default."""
        if not wanted and self.head in self.branches:
            return self.head
        if wanted in self.branches:
            return wanted
        return next(iter(self.branches)) if len(self.branches) == 1 else ""


class Mirror:
    """One student's repository in the folder of mirrors, by its address."""

    def __init__(self, folder: Path, address: str) -> None:
        self.base = folder / BASE
        word = re.sub(r"[^A-Za-z0-9_-]+", "-", address.rpartition("://")[2].removesuffix(".git"))[-40:].strip("-")
        self.path = folder / f"{word}-{hashlib.sha256(address.encode()).hexdigest()[:12]}.git"
        self.address = address
        self.got: set[str] = set()
        self.answers: list[Answer] = []
        self.documents: list[dict[str, str]] = []
        self.pushes: list[Push] = []
        self.members: list[str] = []
        self.gone: set[str] = set()
        self.is_told = False
        self.changes = 0
        self._read()

    def _read(self) -> None:
        """Read the journal, without a line that a kill cut off."""
        path = self.path / JOURNAL
        lines = path.read_bytes().split(b"\n") if path.is_file() else []
        for line in lines:
            try:
                plain: Any = json.loads(line)
            except ValueError:
                continue
            self._hear(plain)

    def _hear(self, plain: Mapping[str, Any]) -> None:
        """Take in a line of the journal. Of equal answers in a row, only the first and the last are kept."""
        self.changes += not {"refs", "got", "pushes"}.isdisjoint(plain)
        self.is_told = "pushes" in plain or (self.is_told and "refs" not in plain)
        self.gone.update(plain.get("gone", ()))
        if "pushes" in plain:
            self.members = plain["members"]
            self.pushes = [
                Push(at=datetime.fromisoformat(at), branch=branch, before=before, after=after)
                for at, branch, before, after in plain["pushes"]
            ]
        self.got.update(plain.get("got", ()))
        if "document" in plain:
            self.documents.append(plain["document"])
        if "began" not in plain:
            return
        began, ended = (datetime.fromisoformat(plain[key]) for key in ("began", "ended"))
        if "refs" in plain or not self.answers:
            self.answers.append(Answer(began=began, ended=ended, **plain.get("refs", {})))
            return
        last = replace(self.answers[-1], began=began, ended=ended)
        if len(self.answers) > 1 and self.answers[-2].says_the_same(last):
            self.answers.pop()
        self.answers.append(last)

    def prepare(self) -> None:
        """Create an empty mirror if there is none."""
        _prepare(self.path, self.base)

    def note(self, plain: Mapping[str, Any], *, on_disk: bool = True) -> None:
        """Add a line to the journal: no kill takes it away, and `on_disk` no power cut."""
        self.prepare()
        with (self.path / JOURNAL).open("ab+") as file:
            if file.tell() and file.seek(-1, os.SEEK_END) and file.read(1) != b"\n":
                file.write(b"\n")  # behind a line that a kill cut off
            file.write(json.dumps(plain, sort_keys=True).encode() + b"\n")
            file.flush()
            if on_disk:
                os.fsync(file.fileno())
        self._hear(plain)

    def ask(self, access: Access) -> Answer:
        """Ask the server for its branches, and note the answer with its moments.

        Raises:
            GitError: there is no answer.
        """
        began = datetime.now(UTC)
        said = ls_remote(self.address, access, _ANSWER)
        answer = _answer(said, began, datetime.now(UTC))
        refs = {"head": answer.head, "branches": dict(answer.branches), "tags": dict(answer.tags)}
        moments = {"began": began.isoformat(), "ended": answer.ended.isoformat()}
        same = bool(self.answers) and self.answers[-1].says_the_same(answer)
        self.note(moments if same else {**moments, "refs": refs}, on_disk=not same)
        return answer

    def missing(self, answer: Answer) -> set[str]:
        """Return the commits of an answer that the mirror lacks."""
        return {*answer.branches.values(), *answer.tags.values()} - self.got

    def tell(self, pushes: Iterable[Push], members: Iterable[str]) -> None:
        """Note the answer of the server's API."""
        rows = [[each.at.isoformat(), each.branch, each.before, each.after] for each in pushes]
        self.note({"pushes": rows, "members": list(members)})

    def known(self, commits: Iterable[str]) -> set[str]:
        """Return which of these commits the mirror has."""
        asked = "".join(f"{each}\n" for each in commits).encode()
        found = git(["cat-file", "--batch-check"], at=self.path, given=asked, bounds=_READ) if asked else b""
        return {row[0] for line in found.decode().splitlines() if (row := line.split())[1] == "commit"}

    def fetch(self, wanted: Iterable[str], access: Access, bounds: Bounds) -> None:
        """Get commits, each under its own name for good.

        Raises:
            GitError: they could not be fetched, all or none.
        """
        wanted = sorted(wanted)
        _sweep(self.path)
        given = "".join(f"{each}:refs/seen/{each}\n" for each in wanted).encode()
        switches = ["--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--atomic", "--stdin"]
        git(
            ["-c", "protocol.version=0", "fetch", "--quiet", *switches, "--", self.address],
            at=self.path,
            given=given,
            access=access,
            bounds=bounds,
        )
        self.note({"got": wanted})

    def seen(self, wanted: str) -> list[Sighting]:
        """Return each answer's sighting of the branch that counts, and of the others."""
        return [
            Sighting(
                began=each.began,
                ended=each.ended,
                tip=tip if tip in self.got else None,
                unread=tip is not None and tip not in self.got,
                others=tuple(other for other in each.branches.values() if other != tip and other in self.got),
            )
            for each in self.answers
            for tip in [each.branches.get(each.branch(wanted))]
        ]

    def graph(self, seen: Iterable[Sighting], given: Iterable[str]) -> dict[str, Commit]:
        """Return the commits reachable from seen or pushed tips, without the handout's."""
        tips = {tip for each in seen for tip in (each.tip, *each.others) if tip is not None}
        tips |= self.known({each for push in self.pushes for each in (push.before, push.after) if each})
        if not tips:
            return {}
        asked = "".join(f"{each}\n" for each in (*sorted(tips), *(f"^{each}" for each in given))).encode()
        found = git(["rev-list", "--timestamp", "--parents", "--stdin"], at=self.path, given=asked, bounds=_READ)
        rows = (line.decode().split() for line in found.splitlines())
        return {row[1]: Commit(tuple(row[2:]), _moment(row[0])) for row in rows}

    def trees(self, commits: Iterable[str], folder: str) -> dict[str, str]:
        """The tree of a folder in each commit that has one."""
        return trees(self.path, commits, folder)

    def given_trees(self, tips: Iterable[str], folder: str) -> frozenset[str]:
        """The trees of a folder in all commits of these tips: what it looked like before anybody worked on it."""
        asked = "".join(f"{each}\n" for each in tips).encode()
        commits = git(["rev-list", "--max-count=1000", "--stdin"], at=self.path, given=asked, bounds=_READ).decode()
        return frozenset(self.trees(commits.split(), folder.strip("/")).values())

    def ahead(self, tip: str, of: Iterable[str]) -> bool:
        """Return whether a tip has commits that these lack."""
        if tip not in self.got:
            return False
        asked = "".join(f"{each}\n" for each in (tip, *(f"^{each}" for each in of))).encode()
        return bool(git(["rev-list", "--max-count=1", "--stdin"], at=self.path, given=asked, bounds=_READ).strip())

    def check(self, commit: str, folder: str) -> None:
        """See whether its files can be exported: what a server without git's service gave, git has not looked at yet.

        Raises:
            GitError: they can't.
        """
        git(["read-tree", "--dry-run", f"{commit}:{folder}"], at=self.path, bounds=_READ)

    def not_there(self, commit: str, folder: str) -> Iterator[str]:
        """Yield what a commit names but lacks: submodules, and files of Git LFS."""
        said = git(["ls-tree", "-r", "-l", "-z", f"{commit}:{folder}"], at=self.path, bounds=_READ)
        rows = [(head.split(), name) for head, _, name in (row.partition(b"\t") for row in said.split(b"\0") if row)]
        shown = {bytes(name): name.decode("utf-8", "backslashreplace") for _, name in rows}
        yield from (f"{shown[name]} (a submodule, which is not fetched)" for head, name in rows if head[1] == b"commit")
        small = [(head[2], name) for head, name in rows if head[3].isdigit() and int(head[3]) in _POINTER_BYTES]
        asked = b"".join(head + b"\n" for head, _ in small[:_MOST_POINTERS])
        texts = git(["cat-file", "--batch"], at=self.path, given=asked, bounds=_READ) if asked else b""
        pointers = {found["id"] for found in _POINTER.finditer(texts)}
        yield from (
            f"{shown[name]} (a pointer of Git LFS, whose file is not in the repository)"
            for head, name in small
            if head in pointers
        )

    def text(self, commit: str, path: str) -> bytes:
        """Return a small file of a commit, or ""."""
        try:
            return git(["cat-file", "blob", f"{commit}:{path}"], at=self.path, bounds=_ANSWER)
        except GitError:
            return b""

    def share(self) -> None:
        """Let other mirrors borrow this one's objects, so that common ones are stored once."""
        refs = "+refs/seen/*:refs/seen/*"
        git(
            ["fetch", "--quiet", "--no-write-fetch-head", "--", str(self.path.absolute()), refs],
            at=self.base,
            local=True,
        )

    def slim(self) -> None:
        """Delete objects that the common store has, too."""
        git(["repack", "-a", "-d", "-l", "-q"], at=self.path)

    def own_bytes(self) -> int:
        """Return the size of its packs."""
        return sum(file.stat().st_size for file in (self.path / "objects" / "pack").glob("*.pack"))


def trees(repository: Path, commits: Iterable[str], folder: str) -> dict[str, str]:
    """The tree of a folder in each commit of a repository that has one."""
    commits = list(commits)
    asked = "".join(f"{each}:{folder}\n" for each in commits).encode()
    found = git(["cat-file", "--batch-check=%(objecttype) %(objectname)"], at=repository, given=asked, bounds=_READ)
    rows = zip(commits, (line.decode().split() for line in found.splitlines()), strict=True)
    return {commit: row[1] for commit, row in rows if row[0] == "tree"}


def _prepare(path: Path, base: Path) -> None:
    """An empty repository that borrows from the common store. Made as git makes one, without starting it."""
    for each in dict.fromkeys((base, path)):
        if (each / "HEAD").is_file():
            continue
        for folder in ("objects/info", "objects/pack", "refs", "info"):
            (each / folder).mkdir(parents=True, exist_ok=True)
        (each / "config").write_text(_CONFIG, encoding="ascii")
        (each / "info" / "attributes").write_text(_ATTRIBUTES, encoding="ascii")
        if each != base:
            (each / "objects/info/alternates").write_text(f"../../{BASE}/objects\n", encoding="utf-8")
        (each / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")  # last: now it is a repository


def _sweep(path: Path) -> None:
    """Delete what a git that was killed has left long ago."""
    for file in (path / "objects" / "pack").glob("*tmp_*"):
        if time.time() - file.stat().st_mtime > _ABANDONED_SECONDS:
            file.unlink(missing_ok=True)


def _answer(said: bytes, began: datetime, ended: datetime) -> Answer:
    refs = {row["name"].decode("utf-8", "backslashreplace"): row["id"].decode() for row in _LINE.finditer(said)}
    if len(refs) > _MOST_REFS:
        raise GitError(TOO_LARGE, f"it has {len(refs):,} branches and tags; {_MOST_REFS:,} are the most")
    if said and not refs:
        raise GitError(DAMAGED, "the server's answer names no commit")
    head = _HEAD.search(said)
    of = {
        kind: {name.removeprefix(kind): each for name, each in refs.items() if name.startswith(kind)}
        for kind in ("refs/heads/", "refs/tags/")
    }
    return Answer(
        began=began,
        ended=ended,
        head=head["branch"].decode("utf-8", "backslashreplace") if head else "",
        branches={name: each for name, each in of["refs/heads/"].items() if not name.startswith("labgrade/")},
        tags={name: each for name, each in of["refs/tags/"].items() if not name.endswith("^{}")},
    )


def _moment(seconds: str) -> datetime:
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):  # a year that no calendar has
        return datetime.max.replace(tzinfo=UTC)
