"""Grading as a pytest run: one item a check, ids like `specs/lab/task.yaml::student42::total`.

A wrong answer fails its item; a fault of labgrade's is raised in `setup`, so that JUnit calls it an error. What grades
is the same worker that a class run has; its events say what each item came to.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from labgrade.core.errors import LabgradeError, SpecError, UsageError
from labgrade.core.results import Report, SubmissionReport
from labgrade.core.text import encodable
from labgrade.files import output
from labgrade.judging.items import items
from labgrade.ledger import course_key, read, unfinished
from labgrade.ledger.database import Ledger, LedgerError
from labgrade.ledger.verdict_memory import Recorded
from labgrade.pytest import options
from labgrade.reports import html
from labgrade.reports.summary import full_reason, hint
from labgrade.review import handed_in_times, results
from labgrade.run.events import SubmissionFailed
from labgrade.run.grader import Grader
from labgrade.run.plan import end
from labgrade.run.worker import GradingJob, Worker
from labgrade.spec import load
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from labgrade.core.results import Graded
    from labgrade.core.task import Task
    from labgrade.judging.items import Item
    from labgrade.run.plan import Plan

_PASSING = frozenset({Outcome.CORRECT})
_WAITING = frozenset({Outcome.SKIPPED, Outcome.MANUAL})
_GRADING = pytest.StashKey["Grading"]()


def begin(config: pytest.Config) -> None:
    """Find the submissions, and have specs collected in place of tests.

    Raises:
        pytest.UsageError: there is no such submission.
    """
    try:
        grading = Grading(config, options.plan(config))
        if not hasattr(config, "workerinput"):
            grading.protect()
    except (UsageError, SpecError) as error:
        raise pytest.UsageError(str(error)) from None
    options.leave_stdout(config)
    config.stash[_GRADING] = grading
    config.pluginmanager.register(grading, "labgrade-grading")
    config.option.continue_on_collection_errors = True  # one broken spec must not stop the others
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        there = grading.plan.course
        usual, every = load.chosen(there), load.files(there.specs)
        config.args = [str(there.specs)] if usual == every else [str(path) for path in usual]
    if config.option.tbstyle == "auto":  # the report at the end says it better than tracebacks and lists of names
        config.option.tbstyle = "no"
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.reportchars = ""
    if getattr(config.option, "dist", "no") == "load":
        config.option.dist = "loadscope"  # a task of a submission stays together, so its answers are obtained once


class Grading:
    """What a grading run shares, and the hooks that only a grading run has."""

    def __init__(self, config: pytest.Config, plan: Plan) -> None:
        self.config, self.plan = config, plan
        self.grader = Grader(
            plan.course,
            torch_home=plan.request.torch_home,
            shared=options.shared(config),
            secret=(plan.request.results, plan.request.source),
        )
        self.broken: dict[str, str] = {}
        self.protection: tuple[str, ...] = ()
        self.written: dict[str, str] = {}
        self._worker: Worker | None = None
        self._graded: dict[GradingJob, Graded] = {}
        self._reported: set[tuple[str, ...]] = set()
        self._session: pytest.Session | None = None
        self.grader.oracle.memory.watch()

    def protect(self) -> None:
        """Find out what protects the grader from submissions.

        Raises:
            UsageError: nothing does, and nobody said that this is all right.
        """
        try:
            self.protection = self.grader.protected_by(unsafe=self.config.getoption("unsafe"))
        except UsageError:
            self.grader.close()
            raise

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """The session whose exit code says that a task could not be graded, or a report not written."""
        self._session = session

    def graded(self, job: GradingJob) -> Graded:
        """What a check came to: the events of the run are heard until it is among them.

        Where the ledger fails, the run ends: what is kept is kept.
        """
        try:
            if job not in self._graded:
                self._worker = self._worker or Worker(self.plan, self.grader)
                for event in self._worker.events([job]):
                    match event:
                        case Recorded(place=place, graded=graded) if graded is not None:
                            self._graded[GradingJob(job.who, place)] = graded
                        case SubmissionFailed(why=why):
                            pytest.fail(f"'{encodable(job.who)}' can't be taken in: {why}", pytrace=False)
        except LedgerError as error:
            pytest.exit(f"labgrade: {error}", returncode=pytest.ExitCode.USAGE_ERROR)
        return self._graded[job]

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """A spec of a task."""
        spec_of_task = file_path.suffix == ".yaml" and file_path.name != "lab.yaml"
        return SpecFile.from_parent(parent, path=file_path) if spec_of_task else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Take in expected values: no student's code has run yet, under xdist not in another worker either."""
        chosen = {item.task.path: item.task for item in session.items if isinstance(item, CheckItem)}
        self.plan = replace(self.plan, tasks=tuple(chosen.values()))
        if self.plan.tasks:
            names = {item.job.who for item in session.items if isinstance(item, CheckItem)}
            places = {item.job.place for item in session.items if isinstance(item, CheckItem) and item.job.place}
            with Ledger(self.plan.request.results, write=True) as ledger:
                unfinished.expect(ledger, self.plan.run, names, self.plan.tasks, places)
                course_key.note(ledger, self.plan.run, self.plan.course, self.plan.tasks)
        self.grader.prepare(self.plan.tasks)

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """No Python of anybody's is collected while grading."""
        return True if collection_path.suffix == ".py" else None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep what is wrong with a spec; xdist's workers each collect, so it comes more than once."""
        if report.failed:
            self.broken[report.nodeid] = str(report.longrepr)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """Say in the report of the phase that ends a check which check it is: under xdist it travels."""
        report = yield
        if isinstance(item, CheckItem) and (call.when == "call" or (call.when == "setup" and not report.passed)):
            report.labgrade = [encodable(item.job.who), *(item.job.place or ())]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Under xdist this runs in the controller, with what the workers sent."""
        self._reported.add(tuple(getattr(report, "labgrade", ())))

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Hand the plan to an xdist worker, and where this process's servers are: one set serves all."""
        servers = self.grader.runner.share() if sys.platform == "linux" else None
        options.hand_over(node.workerinput, self.plan, servers)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """What a worker of xdist wrote among the remembered values, it says when it ends."""
        self.written |= getattr(node, "workeroutput", {}).get("labgrade_written", {})

    def pytest_sessionfinish(self) -> None:
        """Stop the processes behind the run. A worker of xdist leaves it to the controller to look after the memory."""
        output_of_worker = getattr(self.config, "workeroutput", None)
        if self._worker is not None:
            self._worker.close()
        if output_of_worker is None:
            self.grader.close(self.written)
        else:
            output_of_worker["labgrade_written"] = self.grader.oracle.memory.written
            self.grader.stop()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
        """The report for the TA; as JSON too where asked for."""
        if exitstatus == pytest.ExitCode.USAGE_ERROR:  # nothing was graded
            return
        from rich.console import Console

        from labgrade.reports import json as as_json
        from labgrade.reports import terminal

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
        try:
            if exitstatus != pytest.ExitCode.INTERRUPTED and not self._stopped():
                end(self.plan, self.protection)
            report = self._report()
            terminal.render(report, console=console, staff=True)
            self._as_json(as_json.render(report))
            self._as_page(report)
        except LabgradeError as error:
            console.print(f"labgrade: {error}", style="red", markup=False, soft_wrap=True)
            self._exit_with(pytest.ExitCode.INTERNAL_ERROR)
        if self.broken:
            self._exit_with(pytest.ExitCode.INTERRUPTED)

    def _report(self) -> Report:
        """The results folder's report of what this run was to grade, in the order in which submissions were named."""
        folder = self.plan.request.results
        graded = results.told_of(read.report_of(folder), results.secret_labs(self.plan.course.specs))
        whole = handed_in_times.noted(graded, folder)
        with Ledger(folder) as ledger:
            to_do = unfinished.not_reached(unfinished.unfinished(ledger))
        self._reported |= {(who, *place) for who, places in to_do.items() for place in places}
        there = {each.name: each for each in whole.submissions}
        names = map(encodable, self.plan.offered.names)
        found = tuple(self._reported_of(there.get(name) or SubmissionReport(name=name, tasks=())) for name in names)
        return Report(submissions=found, notes=whole.notes)

    def _reported_of(self, submission: SubmissionReport) -> SubmissionReport:
        tasks = (
            replace(
                task,
                checks=tuple(
                    each for each in task.checks if (submission.name, task.lab, task.id, each.id) in self._reported
                ),
            )
            for task in submission.tasks
        )
        return replace(submission, tasks=tuple(task for task in tasks if task.checks))

    def _stopped(self) -> bool:
        """Whether pytest ended before its last check, as `-x` has it."""
        return self._session is not None and bool(self._session.shouldfail or self._session.shouldstop)

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


class SpecFile(pytest.File):
    """A task."""

    def collect(self) -> Iterator[pytest.Collector]:
        """One collector a submission."""
        plan = self.config.stash[_GRADING].plan
        (spec,) = load.read_all([self.path], plan.course)
        if spec.task is None:
            raise self.CollectError("\n".join(map(str, spec.findings)))
        for who in plan.offered.names:
            yield SubmissionNode.from_parent(self, name=encodable(who), task=spec.task, who=who)


class SubmissionNode(pytest.Collector):
    """One submission's answer to a task."""

    def __init__(self, *, task: Task, who: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.task, self.who = task, who

    def collect(self) -> Iterator[pytest.Item]:
        """One item a check, or a case of it."""
        for item in items(self.task):
            yield CheckItem.from_parent(self, name=item.id, task=self.task, who=self.who, item=item)


class CheckItem(pytest.Item):
    """One graded check."""

    def __init__(self, *, task: Task, who: str, item: Item, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.task, self.item = task, item
        self.job = GradingJob(who, (task.lab, task.id, item.id))

    def setup(self) -> None:
        """Grade. A fault of labgrade's ends here, as an error."""
        graded = self._graded()
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
        graded = self._graded()
        if graded.verdict.outcome not in _PASSING:
            pytest.fail(_say(graded), pytrace=False)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The place of the check in its spec."""
        mark = self.item.check.mark
        line = mark.line - 1 if mark else None
        return self.path, line, f"{self.path.stem}::{encodable(self.job.who)}::{self.name}"

    def _graded(self) -> Graded:
        return self.config.stash[_GRADING].graded(self.job)


def _say(graded: Graded) -> str:
    verdict = graded.verdict
    earned = f"{float(graded.earned):g} of {float(graded.points):g} points"
    reason, helps = full_reason(verdict, bonus=graded.bonus), hint(verdict)
    return f"{verdict.outcome}: {reason}" + (f" - {helps}" if helps else "") + f" ({earned})"
