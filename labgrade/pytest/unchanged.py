"""The same pytest command again, where nothing changed: its outcomes come from the last run, without the engine.

What is remembered is one run a command, with the digest of all that it follows from (`run.student_memory`): the course,
labgrade, packages, what protects on this machine; all hand-ins with their times, which may tell when they were handed
in; the repository around them. What the engine remembers of single verdicts (`ledger.memory`) is asked where something
did change.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from labgrade.core.errors import LabgradeError
from labgrade.core.results import Report
from labgrade.core.serialise import from_plain, plain
from labgrade.core.text import encodable
from labgrade.files import output
from labgrade.files.cache import Cache, cache_folder, key_of
from labgrade.pytest.showing import Told, ToldItem, console, count_remembered, set_up, show
from labgrade.run.student_memory import PASSING, around, tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_FORM = 1
_WRITTEN = frozenset({".json", ".xml", ".html", ".log", ".txt"})  # reports, which runs write beside the course
_MOST_FILES = 5000  # of all hand-ins: to look at more takes longer than to read the specs
# What chooses among checks, or has other processes grade: nothing is remembered of such a run as a whole.
_CHOOSING = ("keyword", "markexpr", "lf", "failedfirst", "newfirst", "stepwise", "numprocesses", "deselect", "unsafe")
_CHOOSING_MORE = ("results", "fresh", "report_html", "collectonly", "setuponly", "setupplan", "pyargs", "maxfail")


def of(config: pytest.Config) -> Unchanged | None:
    """Return what is remembered of this command; None for commands that are never remembered."""
    chooses = any(config.getoption(name, None) for name in (*_CHOOSING, *_CHOOSING_MORE))
    if chooses or hasattr(config, "workerinput") or any("::" in each for each in config.args):
        return None
    return Unchanged(config)


class Unchanged:
    """A command, and the state of all that it follows from when it was given."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        source, here = config.getoption("submissions_dir"), config.invocation_params.dir
        self._source = here / Path(source).expanduser() if source else config.rootpath / "submissions"
        home = config.getoption("torch_home")
        self._home = here / Path(home).expanduser() if home else None
        # As they were parsed: some may stand in the environment (PYTEST_ADDOPTS) or in a file of pytest's.
        options = sorted((name, repr(each)) for name, each in vars(config.option).items())
        self._cache = Cache(cache_folder() / "runs")
        self._key = key_of(_FORM, options, [str(each) for each in config.args], str(here), str(config.rootpath))
        self._state = self._now()

    def again(self) -> bool:
        """Repeat the outcomes of the last run if they are remembered and trusted; return whether they were."""
        found = self._cache.read(self._key) if self._state else None
        try:
            kept: Any = found[0] if found else {}
            if kept.get("state") != self._state or kept["protection"] != list(self._protection()):
                return False
            report = from_plain(kept["report"], Report)
            checks = [(*place, from_plain(told, Told)) for *place, told in kept["checks"]]
        except (KeyError, TypeError, ValueError, AttributeError):
            return False
        self._refuse_unwritable()
        set_up(self._config)
        self._config.args = list(dict.fromkeys(str(path) for path, *_ in checks))
        self._config.pluginmanager.register(_Telling(self._config, report, checks), "labgrade-grading")
        return True

    def keep(self, items: Sequence[pytest.Item], report: Report, protection: tuple[str, ...]) -> None:
        """Remember the outcomes of a finished run, unless one of them may differ next time."""
        checks = [check for who in report.submissions for task in who.tasks for check in task.checks]
        passing = any(check.verdict.outcome in PASSING or check.verdict.unsteady for check in checks)
        told = [each for each in items if isinstance(each, ToldItem)]
        whole = len(told) == len(items) == len(checks)
        if passing or not whole or not self._state or "tier D" in protection[0] or self._state != self._now():
            return
        rows = [[str(each.path), each.line, each.who, each.name, plain(each.told())] for each in told]
        kept = {"state": self._state, "protection": list(protection), "checks": rows, "report": plain(report)}
        self._cache.write(self._key, kept)

    def _now(self) -> str:
        """Return a digest of everything that determines the run; empty where that is too much to read."""
        entries = list(_counted(self._source))
        if len(entries) > _MOST_FILES:
            return ""
        root = self._config.rootpath
        files = (each for each in sorted(root.iterdir()) if each.is_file() and each.suffix not in _WRITTEN)
        beside = [[each.name, _times(each)] for each in files]
        handed_in = [list(tree(self._source, ())), entries, _repository(self._source)]
        return key_of(around(root, self._home), beside, handed_in)

    def _protection(self) -> tuple[str, ...]:
        """Return the protection now in force. Without one, students' code could write what is remembered."""
        from labgrade.sandbox.runner import Runner

        with Runner() as runner:
            found = runner.protection
        return found.lines if found.tier != "D" else ()

    def _refuse_unwritable(self) -> None:
        target = self._config.getoption("labgrade_json")
        try:
            if target:
                output.refuse_unwritable(target, "--labgrade-json")
        except LabgradeError as error:
            raise pytest.UsageError(str(error)) from None


class _Telling:
    """The hooks of a run that repeats remembered outcomes."""

    def __init__(self, config: pytest.Config, report: Report, checks: list[tuple[Any, ...]]) -> None:
        self._config, self._report, self._checks = config, report, checks

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect a spec with its remembered outcomes."""
        own = [rest for path, *rest in self._checks if path == str(file_path)]
        return _Spec.from_parent(parent, path=file_path, checks=own) if own else None

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Ignore all Python files: none is collected while grading."""
        return True if collection_path.suffix == ".py" else None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Report each check once, in its last phase."""
        if report.when == "call" or (report.when == "setup" and not report.passed):
            count_remembered(self._config, report)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
        """Print the same report as the run that is repeated."""
        where = console(terminalreporter)
        try:
            show(self._config, where, self._report)
        except LabgradeError as error:
            where.print(f"labgrade: {error}", style="red", markup=False, soft_wrap=True)
            session = terminalreporter._session  # noqa: SLF001 - pytest has no other place for it
            if session is not None and exitstatus != pytest.ExitCode.INTERNAL_ERROR:
                session.exitstatus = pytest.ExitCode.INTERNAL_ERROR


class _Spec(pytest.File):
    """A task."""

    def __init__(self, *, checks: list[Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._checks = checks

    def collect(self) -> Iterator[pytest.Collector]:
        """Yield a collector for each submission."""
        for who, own in groupby(self._checks, key=lambda each: each[1]):
            yield _Submission.from_parent(self, name=encodable(who), checks=list(own))


class _Submission(pytest.Collector):
    """One submission's checks of a task."""

    def __init__(self, *, checks: list[Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._checks = checks

    def collect(self) -> Iterator[pytest.Item]:
        """Yield an item for each check, or for each case of it."""
        for line, who, name, told in self._checks:
            yield _Remembered.from_parent(self, name=name, line=line, who=who, told=told)


class _Remembered(ToldItem):
    """One check of an earlier run."""

    def __init__(self, *, line: int | None, who: str, told: Told, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.line, self.who, self._told = line, who, told

    def told(self) -> Told:
        """Return what pytest was given about it."""
        return self._told


def _counted(source: Path) -> Iterator[list[Any]]:
    """Yield each file of all hand-ins with its time, up to one more than the limit."""
    count = 0
    for folder, _, names in os.walk(source):
        for name in names:
            yield [folder, name, _times(Path(folder, name))]
            count += 1
            if count > _MOST_FILES:
                return
    if source.is_file():
        yield [str(source), _times(source)]


def _times(path: Path) -> list[int]:
    with suppress(OSError):
        state = path.lstat()
        return [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino]
    return []


def _repository(source: Path) -> Iterable[list[Any]]:
    """Return what changes when a repository around the hand-ins gets another commit."""
    top = next((each for each in (source, *source.parents) if (each / ".git").exists()), None)
    if top is None:
        return []
    places = [top / ".git", *(top / ".git" / name for name in ("HEAD", "packed-refs", "logs/HEAD", "refs/heads"))]
    return [[str(each), _said(each) if each.is_file() else _times(each)] for each in places]


def _said(path: Path) -> str:
    """Return a file's digest. Its times would not do: the jail links the file, which changes one of them."""
    with suppress(OSError), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
    return ""
