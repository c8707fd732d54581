"""Grading as a pytest run: one item a check, ids like `specs/lab/task.yaml::student42::total`.

A wrong answer fails its item; a fault of labgrade's is raised in `setup`, so that JUnit calls it an error. What grades
is the same worker that a class run has; its events say what each item came to.
"""

from __future__ import annotations

import gc
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from labgrade.core.errors import LabgradeError, SpecError, UsageError
from labgrade.core.results import Report, SubmissionReport
from labgrade.core.text import encodable
from labgrade.judging.items import items
from labgrade.ledger import course_key, read, unfinished
from labgrade.ledger.database import Ledger, LedgerError
from labgrade.ledger.memory import VerdictMemory
from labgrade.ledger.verdict_memory import Recorded
from labgrade.pytest import options
from labgrade.pytest.handed_in import HandedIn
from labgrade.pytest.showing import ToldItem, console, count_remembered, set_up, show, told_of
from labgrade.review import handed_in_times, results
from labgrade.run.events import SubmissionFailed
from labgrade.run.grader import Grader
from labgrade.run.plan import end
from labgrade.run.worker import GradingJob, Worker
from labgrade.spec import load

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from labgrade.core.task import Task
    from labgrade.judging.items import Item
    from labgrade.pytest.showing import Told
    from labgrade.pytest.unchanged import Unchanged
    from labgrade.run.plan import Plan

_GRADING = pytest.StashKey["Grading"]()


def begin(config: pytest.Config, unchanged: Unchanged | None) -> None:
    """Find the submissions, and have pytest collect specs in place of tests. `unchanged` remembers the outcomes.

    Raises:
        pytest.UsageError: there is no such submission.
    """
    try:
        grading = Grading(config, options.plan(config), unchanged)
        if not hasattr(config, "workerinput"):
            grading.protect()
    except (UsageError, SpecError) as error:
        raise pytest.UsageError(str(error)) from None
    set_up(config)
    config.stash[_GRADING] = grading
    config.pluginmanager.register(grading, "labgrade-grading")
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        there = grading.plan.course
        usual, every = load.chosen(there), load.files(there.specs)
        config.args = [str(there.specs)] if usual == every else [str(path) for path in usual]
    if getattr(config.option, "dist", "no") == "load":
        config.option.dist = "loadscope"  # a task of a submission stays together, so its answers are obtained once


class Grading:
    """What a grading run shares, and the hooks that only a grading run has."""

    def __init__(self, config: pytest.Config, plan: Plan, unchanged: Unchanged | None) -> None:
        self.config, self.plan, self._unchanged = config, plan, unchanged
        self.grader = Grader(
            plan.course,
            runner=config.stash.get(options.RUNNER, None),
            torch_home=plan.request.torch_home,
            shared=options.shared(config),
            secret=(plan.request.results, plan.request.source),
        )
        self.broken: dict[str, str] = {}
        self.protection: tuple[str, ...] = ()
        self.written: dict[str, str] = {}
        self._worker: Worker | None = None
        self._graded: dict[GradingJob, Recorded] = {}
        self._reported: set[tuple[str, ...]] = set()
        self._session: pytest.Session | None = None
        self.grader.oracle.memory.watch()

    def protect(self) -> None:
        """Determine what protects the grader from submissions.

        Raises:
            UsageError: nothing does, and nobody said that this is all right.
        """
        try:
            self.protection = self.grader.protected_by(unsafe=self.config.getoption("unsafe"))
        except UsageError:
            self.grader.close()
            raise

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Keep the session, whose exit code says that a task could not be graded or a report not written."""
        self._session = session

    @property
    def _is_safe(self) -> bool:
        """Return whether students' code is kept from writing what is remembered."""
        return self.grader.runner.protection.tier != "D"

    def graded(self, job: GradingJob) -> Recorded:
        """Return the outcome of a check: read the run's events until it is among them.

        Where the ledger fails, the run ends: what is kept is kept.
        """
        try:
            if job not in self._graded:
                self._worker = self._worker or self._begun()
                for event in self._worker.events([job]):
                    match event:
                        case Recorded(place=place) as recorded:
                            self._graded[GradingJob(job.who, place)] = recorded
                        case SubmissionFailed(why=why):
                            pytest.fail(f"'{encodable(job.who)}' can't be taken in: {why}", pytrace=False)
        except LedgerError as error:
            pytest.exit(f"labgrade: {error}", returncode=pytest.ExitCode.USAGE_ERROR)
        return self._graded[job]

    def _begun(self) -> Worker:
        """Return the grader, started once. Expected values are loaded with the first check that has to be judged."""
        return Worker(
            self.plan,
            self.grader,
            before=lambda _: self.grader.prepare(self.plan.tasks),
            memory=VerdictMemory(lambda: self._is_safe),
        )

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect a task's spec."""
        spec_of_task = file_path.suffix == ".yaml" and file_path.name != "lab.yaml"
        return SpecFile.from_parent(parent, path=file_path) if spec_of_task else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Say what is to be graded.

        Where code could write over expected values, these are taken in: no student's code has run yet, under xdist not
        in another worker either.
        """
        chosen = {item.task.path: item.task for item in session.items if isinstance(item, CheckItem)}
        self.plan = replace(self.plan, tasks=tuple(chosen.values()))
        if self.plan.tasks:
            names = {item.job.who for item in session.items if isinstance(item, CheckItem)}
            places = {item.job.place for item in session.items if isinstance(item, CheckItem) and item.job.place}
            with Ledger(self.plan.request.results, write=True) as ledger:
                unfinished.plan_run(ledger, self.plan.run, names, self.plan.tasks, places)
                course_key.note_key(ledger, self.plan.run, self.plan.course, self.plan.tasks)
        if not self._is_safe:
            self.grader.prepare(self.plan.tasks)
        gc.freeze()  # none of that is garbage before the end, where pytest looks twice for some

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Ignore everything but specs: while grading no Python file is collected."""
        here = self.config.invocation_params.dir
        named = [here / argument.partition("::")[0] for argument in self.config.args]
        handed_in = HandedIn(here, self.config.getoption("submissions_dir"))
        beside = handed_in.beside(collection_path, self.plan.course.specs, named)
        return True if collection_path.suffix == ".py" or beside else None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep a spec's errors. Each worker of xdist collects, so they come more than once."""
        if report.failed:
            self.broken[report.nodeid] = str(report.longrepr)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """Name the check in the report of its last phase, which xdist sends to the controller."""
        report = yield
        if isinstance(item, CheckItem) and (call.when == "call" or (call.when == "setup" and not report.passed)):
            report.labgrade = [encodable(item.job.who), *(item.job.place or ())]
            report.labgrade_remembered = item.remembered
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in a check's outcome; under xdist the controller does, from what workers sent."""
        self._reported.add(tuple(getattr(report, "labgrade", ())))
        if getattr(report, "labgrade_remembered", False):
            count_remembered(self.config, report)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Give a worker of xdist the plan and the address of this process's servers, which all share."""
        servers = self.grader.runner.share() if sys.platform == "linux" else None
        options.hand_over(node.workerinput, self.plan, servers)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a worker of xdist computed, which it says when it ends."""
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
        gc.freeze()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
        """Print the report for the TA, and write it as JSON where asked for."""
        if exitstatus == pytest.ExitCode.USAGE_ERROR:  # nothing was graded
            return
        where = console(terminalreporter)
        for message in self.broken.values():
            where.print(message, style="red", markup=False, soft_wrap=True)
        try:
            whole = exitstatus != pytest.ExitCode.INTERRUPTED and not self._stopped()
            if whole:
                end(self.plan, self.protection)
            report = self._report()
            show(self.config, where, report)
            if whole and not self.broken and self._unchanged is not None and self._session is not None:
                self._unchanged.keep(self._session.items, report, self.protection)
        except LabgradeError as error:
            where.print(f"labgrade: {error}", style="red", markup=False, soft_wrap=True)
            self._exit_with(pytest.ExitCode.INTERNAL_ERROR)
        if self.broken:
            self._exit_with(pytest.ExitCode.INTERRUPTED)

    def _report(self) -> Report:
        """Return the report of what this run was to grade, in the order in which the submissions were named."""
        folder = self.plan.request.results
        graded = results.with_hidden_points(read.report_of(folder), results.secret_labs(self.plan.course.specs))
        whole = handed_in_times.with_noted_moments(graded, folder)
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
        """Return whether pytest stopped before the last check, as with `-x`."""
        return self._session is not None and bool(self._session.shouldfail or self._session.shouldstop)

    def _exit_with(self, code: pytest.ExitCode) -> None:
        if self._session is not None:
            self._session.exitstatus = code


class SpecFile(pytest.File):
    """A task."""

    def collect(self) -> Iterator[pytest.Collector]:
        """Yield a collector for each submission."""
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
        """Yield an item for each check, or for each case of it."""
        for item in items(self.task):
            yield CheckItem.from_parent(self, name=item.id, task=self.task, who=self.who, item=item)


class CheckItem(ToldItem):
    """One check that is graded."""

    def __init__(self, *, task: Task, who: str, item: Item, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.task, self.item, self.who = task, item, who
        self.job = GradingJob(who, (task.lab, task.id, item.id))
        self.line = item.check.mark.line - 1 if item.check.mark else None

    def told(self) -> Told:
        """Return what pytest is given about the outcome."""
        found = self.config.stash[_GRADING].graded(self.job)
        self.remembered = found.remembered
        assert found.graded is not None  # noqa: S101 - only other processes are not told
        return told_of(found.graded)
