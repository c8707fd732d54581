"""What pytest is given about a check, and what people are shown at the end, of checks judged now or remembered."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from _pytest.config import create_terminal_writer

from labgrade.core.text import encodable
from labgrade.files import output
from labgrade.reports.summary import full_reason, hint
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from labgrade.core.results import Graded, Report

_PASSING = frozenset({Outcome.CORRECT})
_WAITING = frozenset({Outcome.SKIPPED, Outcome.MANUAL})


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What pytest is given about a check: its properties, and why it is an error, skipped or failed."""

    properties: tuple[tuple[str, str], ...]
    error: str = ""
    skipped: str = ""
    failed: str = ""


def told_of(graded: Graded) -> Told:
    """Return what pytest is given about a check's outcome. A fault of labgrade's is an error."""
    verdict, bonus = graded.verdict, graded.bonus
    reason, helps = full_reason(verdict, bonus=bonus), hint(verdict)
    earned, points = f"{float(graded.earned):g}", f"{float(graded.points):g}"
    properties = {"outcome": str(verdict.outcome), "points": points, "earned": earned, "reason": reason, "hint": helps}
    error = skipped = failed = ""
    if verdict.outcome is Outcome.FAULT:
        error = f"{reason}: {verdict.facts.get('fault', '')}"
    elif verdict.outcome in _WAITING or (bonus and verdict.outcome is Outcome.MISSING):
        skipped = f"{verdict.outcome}: {reason}"
    elif verdict.outcome not in _PASSING:
        failed = f"{verdict.outcome}: {reason}" + (f" - {helps}" if helps else "") + f" ({earned} of {points} points)"
    return Told(properties=tuple(properties.items()), error=error, skipped=skipped, failed=failed)


class ToldItem(pytest.Item):
    """One check with a known outcome; an error is raised in `setup`, so that JUnit reports an error."""

    line: int | None = None  # of the check in its spec
    who = ""
    remembered = False  # it was judged in an earlier run

    def told(self) -> Told:
        """Return what pytest is given about it."""
        raise NotImplementedError

    def setup(self) -> None:
        """Judge."""
        told = self.told()
        self.user_properties += told.properties
        if told.error:
            pytest.fail(told.error, pytrace=False)
        if told.skipped:
            pytest.skip(told.skipped)

    def runtest(self) -> None:
        """Fail where the verdict is not CORRECT."""
        if failed := self.told().failed:
            pytest.fail(failed, pytrace=False)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The place of the check in its spec."""
        return self.path, self.line, f"{self.path.stem}::{encodable(self.who)}::{self.name}"


def set_up(config: pytest.Config) -> None:
    """Make pytest's own output short: the report at the end replaces tracebacks and lists of names.

    Where stdout is for the JSON, all that pytest says goes to stderr.
    """
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if config.getoption("labgrade_json") == "-" and reporter is not None:
        reporter._tw = create_terminal_writer(config, sys.stderr)  # noqa: SLF001 - made anew, as pytest itself does
    config.option.continue_on_collection_errors = True  # one broken spec must not stop the others
    if config.option.tbstyle == "auto":
        config.option.tbstyle = "no"
        if reporter is not None:
            reporter.reportchars = ""


def count_remembered(config: pytest.Config, report: pytest.TestReport) -> None:
    """Add to pytest's last line how many checks were judged in an earlier run."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.stats.setdefault("remembered", []).append(report)


def console(reporter: pytest.TerminalReporter) -> Console:
    """Return a console that prints where pytest does."""
    from rich.console import Console

    writer = reporter._tw  # noqa: SLF001 - the only way to its width and colours
    reporter.ensure_newline()
    return Console(
        file=writer._file,  # noqa: SLF001
        width=writer.fullwidth,
        no_color=not writer.hasmarkup,
        force_terminal=writer.hasmarkup,
        highlight=False,
    )


def labs_graded(report: Report, width: int) -> str:
    """Return the labs that were graded, as many as fit into a line: no other line of the report names one."""
    from rich.cells import cell_len

    tasks = Counter(lab for lab, _ in {(task.lab, task.id) for who in report.submissions for task in who.tasks})
    labs = [f"{lab} ({count} task{'s' * (count != 1)})" for lab, count in sorted(tasks.items())]
    for shown in range(len(labs), 0, -1):
        left = len(labs) - shown
        said = f"graded: {', '.join(labs[:shown])}" + (f" and {left} more lab{'s' * (left != 1)}" if left else "")
        if shown == 1 or cell_len(said) <= width:
            return said
    return ""


def show(config: pytest.Config, where: Console, report: Report) -> None:
    """Print the report for the TA, and write it as JSON and as a page where asked for.

    Raises:
        LabgradeError: one can't be written.
    """
    from labgrade.reports import json as as_json
    from labgrade.reports import terminal
    from labgrade.reports.plain_page import Page

    page = Page(where)
    if labs := labs_graded(report, page.width):
        page.line((labs, ""))
    terminal.render(report, console=where, staff=True)
    text, target, html_to = as_json.render(report), config.getoption("labgrade_json"), config.getoption("report_html")
    if target == "-":
        sys.stdout.write(text + "\n")
    elif target:
        output.write(str(config.invocation_params.dir / target), text)
    if html_to:
        from labgrade.reports import html

        output.write(str(config.invocation_params.dir / html_to), html.page_of(report))
