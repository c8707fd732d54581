"""`pytest --submission=NAME` grades: one item a check, ids like `specs/lab/task.yaml::student42::total`.

Without `--submission` the plug-in does nothing, and plain `pytest` runs the project's own tests. A wrong answer fails
its item; a fault of ours is raised in `setup`, so that JUnit calls it an error.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from labgrade import course, graded_plain, pipeline, spec, submission, torch_home
from labgrade.errors import UsageError
from labgrade.results import Submission
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from labgrade.model import Task
    from labgrade.results import Graded

REFUSED = "nothing protects you from the submissions' code; grade in a virtual machine, or say --unsafe if you trust it"
UNSAFE = (
    "unsafe: others' code was run with nothing around it, which --unsafe allowed; verdicts may have been tampered with"
)
_PASSING = frozenset({Outcome.CORRECT})
_WAITING = frozenset({Outcome.SKIPPED, Outcome.MANUAL})
_GRADING = pytest.StashKey["Grading"]()
_TAKEN = "labgrade_submissions"


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
    group.addoption(
        "--submissions-dir",
        metavar="DIR",
        help="where submissions are: a folder, or an archive such as Moodle's and Canvas' (default: submissions/)",
    )
    group.addoption("--torch-home", metavar="DIR", help=torch_home.HELP)
    group.addoption("--unsafe", action="store_true", help="grade others' code also where nothing protects you from it")
    group.addoption("--labgrade-json", metavar="FILE", help="write the report as JSON; `-` is stdout")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Where submissions are asked for: find them, and collect specs in place of tests."""
    if not config.getoption("submission"):
        return
    try:
        grading = Grading(config)
        if not hasattr(config, "workerinput"):
            grading.protect()
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
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
        taken = _submissions(config)
        self.submissions = taken.submissions
        self.left_out = taken.left_out
        offered = config.getoption("torch_home")
        home = torch_home.find(config.invocation_params.dir / Path(offered).expanduser() if offered else None)
        self.grader = pipeline.Grader(self.course, torch_home=home, shared=_shared(config))
        self.gradings: dict[tuple[Path, str], pipeline.TaskGrading] = {}
        self.results: list[dict[str, Any]] = []
        self.broken: dict[str, str] = {}
        self.notes: tuple[str, ...] = ()

    def protect(self) -> None:
        """Find out what protects the grader from submissions.

        Raises:
            UsageError: nothing does, and nobody said that this is all right.
        """
        protection = self.grader.runner.protection
        self.notes = protection.lines
        if protection.tier == "D":
            if not self.config.getoption("unsafe"):
                self.grader.close()
                raise UsageError("\n".join((*self.notes, REFUSED)))
            self.notes = (UNSAFE, *self.notes)

    def grading(self, task: Task, who: Submission) -> pipeline.TaskGrading:
        """The grading of one task of one submission, shared by its items."""
        key = (task.path, who.name)
        if key not in self.gradings:
            self.gradings[key] = pipeline.TaskGrading(self.grader, task, who)
        return self.gradings[key]

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """All of xdist's workers use one set of servers and one copy of the submissions: this process's."""
        if sys.platform == "linux":
            node.workerinput["labgrade_shared"] = str(self.grader.runner.share())
        node.workerinput[_TAKEN] = json.dumps(
            [[who.name, str(who.folder), who.files, who.refused] for who in self.submissions]
        )

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

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The report for the TA; as JSON too where asked for."""
        from rich.console import Console

        from labgrade.report import json as as_json
        from labgrade.report import terminal

        notes = (*self.notes, *(f"left out: {remark}" for remark in self.left_out))
        report = graded_plain.assemble(self.results, [who.name for who in self.submissions], self._remarks(), notes)
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
        if target == "-":
            terminalreporter.write_line(as_json.render(report))
        elif target:
            Path(target).write_text(as_json.render(report) + "\n", encoding="utf-8")

    def _remarks(self) -> dict[str, tuple[str, ...]]:
        return {who.name: who.refused for who in self.submissions}


def _shared(config: pytest.Config) -> Path | None:
    """In one of xdist's workers: where the servers of its controller are to be had."""
    told = getattr(config, "workerinput", {}).get("labgrade_shared")
    return Path(told) if told else None


def _submissions(config: pytest.Config) -> submission.Taken:
    told = getattr(config, "workerinput", {}).get(_TAKEN)
    if told is not None:
        plain = [(name, Path(folder), tuple(files), tuple(out)) for name, folder, files, out in json.loads(told)]
        return submission.Taken(
            submissions=tuple(
                Submission(name=name, folder=folder, files=files, refused=out) for name, folder, files, out in plain
            )
        )
    given = config.getoption("submissions_dir")
    folder = config.rootpath / "submissions"
    if given:
        folder = config.invocation_params.dir / Path(given).expanduser()
    store = tempfile.TemporaryDirectory(prefix="labgrade-store-", ignore_cleanup_errors=True)
    config.add_cleanup(store.cleanup)
    taken = submission.find(folder, config.getoption("submission"), Path(store.name), grader=config.rootpath.resolve())
    if not taken.submissions:
        message = f"there is no submission in '{folder}'"
        raise UsageError(message)
    return taken


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
