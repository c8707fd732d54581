"""`pytest --submission=NAME` grades: one item a check, ids like `specs/lab/task.yaml::student42::total`.

Without `--submission` the plug-in does nothing, and plain `pytest` runs the project's own tests. A wrong answer fails
its item; a fault of ours is raised in `setup`, so that JUnit calls it an error.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.config import create_terminal_writer

from labgrade import course, graded_plain, output, pipeline, spec, submission
from labgrade.errors import UsageError, did_you_mean
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from labgrade.model import Task
    from labgrade.results import Graded, Submission

PROTECTION = (
    "students' code runs in a process of its own with limits on time, memory and output, but without a jail: "
    "it can read the files that you can read"
)
_PASSING = frozenset({Outcome.CORRECT})
_WAITING = frozenset({Outcome.SKIPPED, Outcome.MANUAL})
_GRADING = pytest.StashKey["Grading"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options that turn pytest into a grader."""
    group = parser.getgroup("labgrade", "grading submissions")
    group.addoption(
        "--submission",
        action="append",
        default=[],
        metavar="NAME",
        help="grade this submission; `all` grades every one",
    )
    group.addoption("--submissions-dir", metavar="DIR", help="where submissions are (default: submissions/)")
    group.addoption(
        "--labgrade-json", metavar="FILE", help="write the report as JSON; `-` is stdout, and all else goes to stderr"
    )


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Where submissions are asked for: find them, and collect specs in place of tests."""
    if not config.getoption("submission"):
        return
    try:
        grading = Grading(config)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    if config.getoption("labgrade_json") == "-":
        _leave_stdout(config)
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


def _leave_stdout(config: pytest.Config) -> None:
    """All that pytest says goes to stderr, so that stdout holds nothing but the JSON."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter._tw = create_terminal_writer(config, sys.stderr)  # noqa: SLF001 - made anew, as pytest itself does


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A spec of a task, where submissions are graded."""
    if _GRADING not in parent.config.stash or file_path.suffix != ".yaml" or file_path.name == "lab.yaml":
        return None
    return SpecFile.from_parent(parent, path=file_path)


class Grading:
    """What a grading run shares, and the hooks that only a grading run has."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.course = course.find(config.rootpath)
        if target := config.getoption("labgrade_json"):
            output.refuse_unwritable(target, "--labgrade-json")
        _refuse_unknown_specs(config, self.course)
        self.submissions = _submissions(config)
        self.grader = pipeline.Grader(self.course)
        self.gradings: dict[tuple[Path, str], pipeline.TaskGrading] = {}
        self.results: list[dict[str, Any]] = []
        self.broken: dict[str, str] = {}
        self._session: pytest.Session | None = None

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """The session whose exit code says that a task could not be graded, or a report not written."""
        self._session = session

    def grading(self, task: Task, who: Submission) -> pipeline.TaskGrading:
        """The grading of one task of one submission, shared by its items."""
        key = (task.path, who.name)
        if key not in self.gradings:
            self.gradings[key] = pipeline.TaskGrading(self.grader, task, who)
        return self.gradings[key]

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """No Python of anybody's is collected while grading."""
        return True if collection_path.suffix == ".py" else None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep what is wrong with a spec; xdist's workers each collect, so it comes more than once."""
        if report.failed:
            self.broken[report.nodeid] = str(report.longrepr)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Under xdist this runs in the controller, with what the workers sent."""
        found = getattr(report, "labgrade", None)
        if found is not None:
            self.results.append(found)

    def pytest_sessionfinish(self) -> None:
        """Stop the processes behind the run."""
        self.grader.close()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
        """The report for the TA; as JSON too where asked for."""
        if exitstatus == pytest.ExitCode.USAGE_ERROR:  # nothing was graded
            return
        from rich.console import Console

        from labgrade.report import json as as_json
        from labgrade.report import terminal

        report = graded_plain.assemble(
            self.results, [who.name for who in self.submissions], self._remarks(), (PROTECTION,)
        )
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
        target = self.config.getoption("labgrade_json")
        try:
            if target == "-":
                sys.stdout.write(as_json.render(report) + "\n")
            elif target:
                output.write(str(self.config.invocation_params.dir / target), as_json.render(report))
        except UsageError as error:
            console.print(f"labgrade: {error}", style="red", markup=False, soft_wrap=True)
            self._exit_with(pytest.ExitCode.INTERNAL_ERROR)
        if self.broken:
            self._exit_with(pytest.ExitCode.INTERRUPTED)

    def _exit_with(self, code: pytest.ExitCode) -> None:
        if self._session is not None:
            self._session.exitstatus = code

    def _remarks(self) -> dict[str, tuple[str, ...]]:
        return {who.name: who.refused for who in self.submissions}


def _refuse_unknown_specs(config: pytest.Config, found: course.Course) -> None:
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        return
    for argument in config.args:
        path = config.invocation_params.dir / argument.partition("::")[0]
        if path.suffix == ".yaml" and not path.exists():
            there = [file.stem for file in spec.files(found.specs)]
            message = f"there is no spec '{argument}'{did_you_mean(path.stem, there)}"
            raise UsageError(message)


def _submissions(config: pytest.Config) -> list[Submission]:
    names = config.getoption("submission")
    if "" in names:
        message = "--submission names nobody; it takes the name of a submission, or `all`"
        raise UsageError(message)
    given = config.getoption("submissions_dir")
    folder = config.rootpath / "submissions"
    if given:
        folder = config.invocation_params.dir / Path(given).expanduser()
    found = submission.find(folder, names)
    if not found:
        message = f"there is no submission in '{folder}'"
        raise UsageError(message)
    root = config.rootpath.resolve()
    for who in found:
        if root.is_relative_to(who.folder.resolve()):
            message = f"'{who.name}' holds the grader itself; in a student's own folder say: labgrade check ."
            raise UsageError(message)
    return found


class SpecFile(pytest.File):
    """A task."""

    def collect(self) -> Iterator[pytest.Collector]:
        """One collector a submission."""
        grading = self.config.stash[_GRADING]
        (read,) = spec.read_all([self.path], grading.course)
        if read.task is None:
            raise self.CollectError("\n".join(map(str, read.findings)))
        for who in grading.submissions:
            yield SubmissionNode.from_parent(self, name=who.name, grading=grading.grading(read.task, who))


class SubmissionNode(pytest.Collector):
    """One submission's answer to a task."""

    def __init__(self, *, grading: pipeline.TaskGrading, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.grading = grading

    def collect(self) -> Iterator[pytest.Item]:
        """One item a check, or a case of it."""
        for name in self.grading.items:
            yield CheckItem.from_parent(self, name=name, grading=self.grading)


class CheckItem(pytest.Item):
    """One graded check."""

    def __init__(self, *, grading: pipeline.TaskGrading, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.grading = grading

    def setup(self) -> None:
        """Grade. A fault of ours ends here, as an error."""
        graded = self.grading.graded(self.name)
        verdict = graded.verdict
        self.user_properties += [
            ("outcome", str(verdict.outcome)),
            ("points", f"{float(graded.points):g}"),
            ("earned", f"{float(graded.earned):g}"),
            ("reason", verdict.reason),
            ("hint", verdict.hint),
        ]
        if verdict.outcome is Outcome.FAULT:
            pytest.fail(f"{verdict.reason}: {verdict.facts.get('fault', '')}", pytrace=False)
        if verdict.outcome in _WAITING or (graded.bonus and verdict.outcome is Outcome.MISSING):
            pytest.skip(f"{verdict.outcome}: {verdict.reason}")

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
    return f"{verdict.outcome}: {verdict.reason}" + (f" - {verdict.hint}" if verdict.hint else "") + f" ({earned})"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Attach the graded check to the report of the phase that ends it, as plain data: under xdist it travels."""
    report = yield
    if isinstance(item, CheckItem) and (call.when == "call" or (call.when == "setup" and not report.passed)):
        grading = item.grading
        report.labgrade = graded_plain.to_plain(grading.task, grading.submission.name, grading.graded(item.name))
    return report
