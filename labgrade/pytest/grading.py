"""Grading as a pytest run: one item a check, ids like `specs/lab/task.yaml::student42::total`.

A wrong answer fails its item; a fault of labgrade's is raised in `setup`, so that JUnit calls it an error.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from labgrade.core import serialise
from labgrade.core.errors import UsageError
from labgrade.core.points import LEFT_OUT
from labgrade.files import output
from labgrade.pytest import options, results
from labgrade.reports import html
from labgrade.reports.summary import full_reason, hint
from labgrade.run import grader
from labgrade.run.task import TaskGrading
from labgrade.spec import course, load
from labgrade.subjects import weights
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from labgrade.core.results import Graded, Report, Submission
    from labgrade.core.task import Task

_PASSING = frozenset({Outcome.CORRECT})
_WAITING = frozenset({Outcome.SKIPPED, Outcome.MANUAL})
_GRADING = pytest.StashKey["Grading"]()


def begin(config: pytest.Config) -> None:
    """Find the submissions, and have specs collected in place of tests.

    Raises:
        pytest.UsageError: there is no such submission.
    """
    try:
        grading = Grading(config)
        if not hasattr(config, "workerinput"):
            grading.protect()
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    options.leave_stdout(config)
    config.stash[_GRADING] = grading
    config.pluginmanager.register(grading, "labgrade-grading")
    config.option.continue_on_collection_errors = True  # one broken spec must not stop the others
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = [str(grading.course.specs)]
    if config.option.tbstyle == "auto":  # the report at the end says it better than tracebacks and lists of names
        config.option.tbstyle = "no"
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.reportchars = ""
    if getattr(config.option, "dist", "no") == "load":
        config.option.dist = "loadscope"  # a task of a submission stays together, so its answers are obtained once


class Grading:
    """What a grading run shares, and the hooks that only a grading run has."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.course = course.find(config.rootpath)
        options.refuse(config, self.course)
        taken = options.submissions(config)
        self.submissions = taken.submissions
        self.left_out = taken.left_out
        offered = config.getoption("torch_home")
        home = weights.find(config.invocation_params.dir / Path(offered).expanduser() if offered else None)
        self.grader = grader.Grader(
            self.course,
            torch_home=home,
            shared=options.shared(config),
            secret=(*results.secret(config), options.source(config)),
        )
        self.kept = results.of(config, self.course, home)
        self.gradings: dict[tuple[Path, str], TaskGrading] = {}
        self.results: list[dict[str, Any]] = []
        self.broken: dict[str, str] = {}
        self.notes: tuple[str, ...] = ()
        self.written: dict[str, str] = {}
        self._session: pytest.Session | None = None
        self.grader.oracle.memory.watch()

    def protect(self) -> None:
        """Find out what protects the grader from submissions.

        Raises:
            UsageError: nothing does, and nobody said that this is all right.
        """
        try:
            self.notes = self.grader.protected_by(unsafe=self.config.getoption("unsafe"))
        except UsageError:
            self.grader.close()
            raise

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """The session whose exit code says that a task could not be graded, or a report not written."""
        self._session = session

    def grading(self, task: Task, who: Submission) -> TaskGrading:
        """The grading of one task of one submission, shared by its items."""
        key = (task.path, who.name)
        if key not in self.gradings:
            kept = self.kept
            self.gradings[key] = kept.grading(self.grader, task, who) if kept else TaskGrading(self.grader, task, who)
        return self.gradings[key]

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """A spec of a task."""
        spec_of_task = file_path.suffix == ".yaml" and file_path.name != "lab.yaml"
        return SpecFile.from_parent(parent, path=file_path) if spec_of_task else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Take in expected values: no student's code has run yet, under xdist not in another worker either."""
        chosen = {item.grading.task.path: item.grading.task for item in session.items if isinstance(item, CheckItem)}
        self.grader.prepare(chosen.values())

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """No Python of anybody's is collected while grading."""
        return True if collection_path.suffix == ".py" else None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep what is wrong with a spec; xdist's workers each collect, so it comes more than once."""
        if report.failed:
            self.broken[report.nodeid] = str(report.longrepr)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """Attach the graded check to the report of the phase that ends it, as plain data: under xdist it travels."""
        report = yield
        if isinstance(item, CheckItem) and (call.when == "call" or (call.when == "setup" and not report.passed)):
            grading = item.grading
            report.labgrade = serialise.to_plain(grading.task, grading.submission.name, grading.graded(item.name))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Under xdist this runs in the controller, with what the workers sent."""
        found = getattr(report, "labgrade", None)
        if found is not None:
            self.results.append(found)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell an xdist worker what was taken in, and where this process's servers are: one set serves all."""
        servers = self.grader.runner.share() if sys.platform == "linux" else None
        options.tell(node.workerinput, self.submissions, servers)
        if self.kept is not None:
            self.kept.tell(node.workerinput)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """What a worker of xdist wrote among the remembered values, it says when it ends."""
        self.written |= getattr(node, "workeroutput", {}).get("labgrade_written", {})

    def pytest_sessionfinish(self) -> None:
        """Stop the processes behind the run. A worker of xdist leaves it to the controller to look after the memory."""
        told = getattr(self.config, "workeroutput", None)
        if self.kept is not None:
            self.kept.close()
        if told is None:
            self.grader.close(self.written)
        else:
            told["labgrade_written"] = self.grader.oracle.memory.written
            self.grader.stop()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
        """The report for the TA; as JSON too where asked for."""
        if exitstatus == pytest.ExitCode.USAGE_ERROR:  # nothing was graded
            return
        if self.kept is not None and exitstatus != pytest.ExitCode.INTERRUPTED:
            self.kept.end(self.notes)
        from rich.console import Console

        from labgrade.reports import json as as_json
        from labgrade.reports import terminal

        notes = (*self.notes, *(f"{LEFT_OUT}{remark}" for remark in self.left_out))
        report = serialise.assemble(self.results, [who.name for who in self.submissions], self._remarks(), notes)
        writer = terminalreporter._tw  # noqa: SLF001 - the only way to its width and colours
        terminalreporter.ensure_newline()
        console = Console(
            file=writer._file,  # noqa: SLF001
            width=writer.fullwidth,
            no_color=not writer.hasmarkup,
            force_terminal=writer.hasmarkup,
            highlight=False,
        )
        for message in self.broken.values():
            console.print(message, style="red", markup=False, soft_wrap=True)
        terminal.render(report, console=console, staff=True)
        try:
            self._as_json(as_json.render(report))
            self._as_page(report)
        except UsageError as error:
            console.print(f"labgrade: {error}", style="red", markup=False, soft_wrap=True)
            self._exit_with(pytest.ExitCode.INTERNAL_ERROR)
        if self.broken:
            self._exit_with(pytest.ExitCode.INTERRUPTED)

    def _as_json(self, text: str) -> None:
        target = self.config.getoption("labgrade_json")
        if target == "-":
            sys.stdout.write(text + "\n")
        elif target:
            output.write(str(self.config.invocation_params.dir / target), text)

    def _as_page(self, report: Report) -> None:
        target = self.config.getoption("report_html")
        if target:
            output.write(str(self.config.invocation_params.dir / target), html.page_of(report))

    def _exit_with(self, code: pytest.ExitCode) -> None:
        if self._session is not None:
            self._session.exitstatus = code

    def _remarks(self) -> dict[str, tuple[str, ...]]:
        return {who.name: who.refused for who in self.submissions}


class SpecFile(pytest.File):
    """A task."""

    def collect(self) -> Iterator[pytest.Collector]:
        """One collector a submission."""
        grading = self.config.stash[_GRADING]
        (read,) = load.read_all([self.path], grading.course)
        if read.task is None:
            raise self.CollectError("\n".join(map(str, read.findings)))
        for who in grading.submissions:
            yield SubmissionNode.from_parent(self, name=who.name, grading=grading.grading(read.task, who))


class SubmissionNode(pytest.Collector):
    """One submission's answer to a task."""

    def __init__(self, *, grading: TaskGrading, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.grading = grading

    def collect(self) -> Iterator[pytest.Item]:
        """One item a check, or a case of it."""
        for name in self.grading.items:
            yield CheckItem.from_parent(self, name=name, grading=self.grading)


class CheckItem(pytest.Item):
    """One graded check."""

    def __init__(self, *, grading: TaskGrading, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.grading = grading

    def setup(self) -> None:
        """Grade. A fault of labgrade's ends here, as an error."""
        graded = self.grading.graded(self.name)
        verdict = graded.verdict
        self.user_properties += [
            ("outcome", str(verdict.outcome)),
            ("points", f"{float(graded.points):g}"),
            ("earned", f"{float(graded.earned):g}"),
            ("reason", reason := full_reason(verdict, bonus=graded.bonus)),
            ("hint", hint(verdict)),
        ]
        if verdict.outcome is Outcome.FAULT:
            pytest.fail(f"{reason}: {verdict.facts.get('fault', '')}", pytrace=False)
        if verdict.outcome in _WAITING or (graded.bonus and verdict.outcome is Outcome.MISSING):
            pytest.skip(f"{verdict.outcome}: {reason}")

    def runtest(self) -> None:
        """Fail where the verdict is not CORRECT."""
        graded = self.grading.graded(self.name)
        if graded.verdict.outcome not in _PASSING:
            pytest.fail(_say(graded), pytrace=False)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The place of the check in its spec."""
        mark = self.grading.items[self.name].check.mark
        return (
            self.path,
            mark.line - 1 if mark else None,
            f"{self.path.stem}::{self.grading.submission.name}::{self.name}",
        )


def _say(graded: Graded) -> str:
    verdict = graded.verdict
    earned = f"{float(graded.earned):g} of {float(graded.points):g} points"
    reason, helps = full_reason(verdict, bonus=graded.bonus), hint(verdict)
    return f"{verdict.outcome}: {reason}" + (f" - {helps}" if helps else "") + f" ({earned})"
