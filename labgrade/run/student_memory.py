"""A student's reports, remembered on their machine by a digest of everything that determines them.

A digest covers files as they lie there: the hand-in, the course, labgrade itself; the packages that are installed; what
protects on this machine; the options. It is taken before the engine is imported, and again when all is graded. Each
folder has one report, and each of its tasks one, so that nothing piles up. What failed at labgrade's side, or ran out
of time or memory, is never remembered. Staff's runs have the ledger, which knows more.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from labgrade.core.results import CLUTTER, Report, TaskReport
from labgrade.core.serialise import from_plain, plain
from labgrade.files.cache import Cache, cache_folder, key_of
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from labgrade.core.results import Submission
    from labgrade.core.task import Task

T = TypeVar("T", Report, TaskReport)

_FORM = 1
_HOME = Path(__file__).resolve().parents[1]
_TRUSTED = ("specs", "checkers", "reference", "models", "course.key")
_READ = 4 << 20  # bytes of a file up to which its content is read; a larger one is known by its state
_LARGEST_PROGRAM = 1 << 20  # bytes; a larger one is not searched for what it imports
PASSING = frozenset({Outcome.FAULT, Outcome.TIMEOUT, Outcome.MEMORY})
_ABSENT = frozenset({Outcome.MISSING})
# Where a machine says what may protect one process from another.
_PROTECTION = (
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "/sys/fs/cgroup/cgroup.controllers",
    "/proc/self/cgroup",
)
_OF_PROCESS = ("CapEff", "Seccomp", "NoNewPrivs", "Uid")
_TOOLS = ("cmake", "make", "c++", "bwrap")
# By these words a program may read a module of the hand-in, or another program, without an import that can be seen.
_READS_MORE = re.compile(
    r"\b(?:importlib|__import__|open|runpy|inspect|linecache|subprocess|popen|glob|rglob|listdir|scandir|iterdir|walk|exec"
    r"|read_text|read_bytes|zipimport|pkgutil|ctypes|execfile)\b|(?<!\.)\b(?:eval|compile)\s*\(|\bsys\s*\.\s*(?:path|modules)"
    r"|\bfrom\s+(?:sys|os|builtins)\b|\bbuiltins\b|\bos\s*\.\s*(?!path\.(?:join|exists))|\.py\b"
)


class Memory:
    """The memory of the checks of one folder or archive, with these options."""

    def __init__(
        self,
        path: Path,
        *,
        course: Path | None = None,
        lab: str | None = None,
        tasks: Sequence[str] = (),
        torch_home: Path | None = None,
        drawn_as: str = "",
    ) -> None:
        self._path = path
        self._cache = Cache(cache_folder() / "checks")
        self._options = [str(course), lab, str(torch_home), drawn_as]
        self._whole = key_of(_FORM, str(path.resolve()), self._options, sorted(tasks))
        self._around = around(course, torch_home)

    def state(self) -> str:
        """Return a digest of everything on which a report of the folder depends now."""
        return key_of(self._around, list(tree(self._path, ())))

    def report(self) -> Report | None:
        """Return the remembered report of the folder as it is, if there is one."""
        return self._read(self._whole, self.state(), Report)

    def keep(self, report: Report, state: str) -> None:
        """Remember a report of this state, unless some of it may differ next time."""
        checks = [check for who in report.submissions for task in who.tasks for check in task.checks]
        if not any(check.verdict.outcome in PASSING for check in checks) and state == self.state():
            self._cache.write(self._whole, {"state": state, "report": plain(report)})

    def task(self, task: Task, submission: Submission) -> TaskReport | None:
        """Return the remembered report of a task if nothing changed on which it depends."""
        return self._read(self._place(task), self._state_of(task, submission), TaskReport)

    def keep_task(self, task: Task, submission: Submission, report: TaskReport) -> None:
        """Remember a task's report. What is missing may come from any file, and is not remembered."""
        if not any(check.verdict.outcome in PASSING | _ABSENT for check in report.checks):
            state = self._state_of(task, submission)
            self._cache.write(self._place(task), {"state": state, "report": plain(report)})

    def _read(self, key: str, state: str, kind: type[T]) -> T | None:
        found = self._cache.read(key)
        try:
            kept: Any = found[0] if found else {}
            return from_plain(kept["report"], kind) if kept["state"] == state else None
        except (KeyError, TypeError, ValueError, AttributeError):
            return None

    def _place(self, task: Task) -> str:
        return key_of(_FORM, str(self._path.resolve()), self._options, task.lab, task.id)

    def _state_of(self, task: Task, submission: Submission) -> str:
        files = _followed(task, submission)
        read = {name: _content(submission.folder / name) for name in files}
        return key_of(self._around, read, submission.files, submission.refused, submission.unread)


def _followed(task: Task, submission: Submission) -> Iterable[str]:
    """Return the files of a hand-in on which a task's report may depend.

    All, but for programs that nothing imports which the task calls: a hand-in of several parts has one a part.
    """
    from labgrade.core.task import BuildForm, CallForm, RunForm

    forms = [form for answer in task.answers.values() for form in answer.forms]
    called = [form.file for form in forms if isinstance(form, CallForm)]
    if any(isinstance(form, RunForm | BuildForm) for form in forms) or not {*called} <= {*submission.files}:
        return submission.files
    programs = {name for name in submission.files if name.endswith(".py")}
    found: set[str] = set()
    waiting = called
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        path = submission.folder / name
        if path.stat().st_size > _LARGEST_PROGRAM:
            return submission.files
        text = path.read_text(encoding="utf-8", errors="replace")
        if _READS_MORE.search(text):
            return submission.files
        waiting += _imported(text, programs)
    return [name for name in submission.files if name not in programs or name in found]


def _imported(text: str, programs: set[str]) -> list[str]:
    """Return the programs that one may import: any whose name stands anywhere in its text."""
    words = set(re.findall(r"\w+", text))
    return [path for path in programs if words & set(path.removesuffix(".py").split("/"))]


def around(course: Path | None, torch_home: Path | None) -> str:
    """Return a digest of what a report depends on beside the hand-in."""
    here = Path.cwd()
    courses = [
        _HOME.parent,
        *([here] if (here / "specs").is_dir() else []),
        *([course] if course else []),
    ]
    trees = [list(tree(_HOME, (".pyc", ".pyi")))]
    trees += [list(tree(each / name, (".pyc",))) for each in courses for name in _TRUSTED]
    variables = {name: text for name, text in os.environ.items() if name.startswith(("LABGRADE_", "PYTHON"))}
    weights = torch_home or os.environ.get("LABGRADE_TORCH_HOME")
    offered = list(tree(Path(weights), ())) if weights else []
    return key_of(str(here), sys.version, sys.executable, trees, variables, offered, _packages(), _protection())


def _packages() -> list[Any]:
    """Describe what is installed: packages by the names and times of their metadata, compilers by their files."""
    found: list[Any] = []
    here = os.getcwd()  # noqa: PTH109 - as text
    for folder in sys.path:
        if folder and folder != here and os.path.isdir(folder):  # noqa: PTH112 - thousands of entries
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            named = (each for each in entries if each.name not in CLUTTER)
            found += [[each.name, each.stat().st_mtime_ns if "-info" in each.name else 0] for each in named]
    for name in _TOOLS:
        where = shutil.which(name)
        found.append([name, where and [where, Path(where).stat().st_mtime_ns]])
    return found


def _protection() -> list[str]:
    """Describe what this machine and process offer as protection from students' code."""
    texts = [" ".join(os.uname()) if hasattr(os, "uname") else sys.platform]
    for name in _PROTECTION:
        try:
            texts.append(Path(name).read_text(encoding="utf-8"))
        except OSError:
            texts.append("absent")
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        texts += [line for line in status if line.startswith(_OF_PROCESS)]
    except OSError:
        texts.append("absent")
    return texts


def tree(path: Path, without: tuple[str, ...]) -> Iterator[list[str]]:
    """Yield each entry of a folder, or the file itself, with what identifies its content; links as their text."""
    if not path.is_dir():
        yield [str(path), _content(path)]
        return
    waiting = [str(path)]
    while waiting:
        folder = waiting.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            yield [folder, "unreadable"]
            continue
        for entry in entries:
            if entry.name in CLUTTER or entry.name.endswith(without or "\0"):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield [entry.path, "folder"]
                waiting.append(entry.path)
            else:
                yield [entry.path, _content(Path(entry.path))]


def _content(path: Path) -> str:
    try:
        if path.is_symlink():
            return f"link to {path.readlink()}"
        state = path.stat()
        if state.st_size > _READ or not path.is_file():
            return json.dumps([state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_mode])
        return f"{state.st_mode} {hashlib.sha256(path.read_bytes()).hexdigest()}"
    except OSError:
        return "unreadable"


# ---- what changed since the last run --------------------------------------------------------------------------

_MOST_CHANGES = 8  # named one by one
_PROGRESS_FORM = 1


def since_last(folder: Path, report: Report, *, compare: bool) -> list[str]:
    """Return the changes since the last run, one a line, and remember this run; none for a first run.

    A cache that can't be read or written is none: then nothing is compared.
    """
    kept, key = Cache(cache_folder() / "progress"), key_of(str(folder.resolve()))
    now = _checks(report)
    before: dict[str, Any] = {}
    with contextlib.suppress(ValueError, KeyError, TypeError):
        known: Any = (kept.read(key) or ({},))[0]
        before = dict(known["checks"]) if known["form"] == _PROGRESS_FORM else {}
    lines = list(_changes(before, now)) if before and compare else []
    stamp = datetime.now(UTC).isoformat(timespec="seconds")
    # Tasks that were left out this time keep what they came to.
    kept.write(key, {"form": _PROGRESS_FORM, "at": stamp, "checks": {**before, **now}})
    return lines


def _checks(report: Report) -> dict[str, list[Any]]:
    """Return the outcome and points of each check."""
    return {
        f"{task.lab}/{task.id} {check.id}": [check.verdict.outcome.value, float(check.earned)]
        for who in report.submissions
        for task in who.tasks
        for check in task.checks
    }


def _changes(before: dict[str, Any], now: dict[str, list[Any]]) -> list[str]:
    """List improvements first, then losses, then the points in all where they changed."""
    both = [(name, before[name], now[name]) for name in now if name in before and before[name] != now[name]]
    gained = sum(after[1] - earlier[1] for _, earlier, after in both)
    ordered = sorted(both, key=lambda each: each[1][1] - each[2][1])
    lines = [f"{name.partition('/')[2]}: {_said(earlier)} -> {_said(after)}" for name, earlier, after in ordered]
    if len(lines) > _MOST_CHANGES:
        lines = [*lines[:_MOST_CHANGES], f"and {len(lines) - _MOST_CHANGES} more"]
    if not both:
        return ["nothing changed"]
    return [f"{gained:+g} points", *lines] if gained else lines


def _said(check: list[Any]) -> str:
    outcome, earned = check
    return f"{outcome} {earned:g}"
