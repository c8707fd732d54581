"""`labgrade grade` and `labgrade regrade`: a whole class into a results folder, and again after something changed."""

from __future__ import annotations

import argparse
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade import commands, course, second_opinion, spec, torch_home
from labgrade.class_run import again, run
from labgrade.class_run.again import Again, Plans
from labgrade.class_run.run import Asked
from labgrade.errors import SpecError, UsageError
from labgrade.ledger.store import Ledger
from labgrade.people import times, whole
from labgrade.people.late import named
from labgrade.report import class_table
from labgrade.report.page import Page
from labgrade.values import show
from labgrade.verdict import PENDING, Outcome

if TYPE_CHECKING:
    from labgrade.class_run.run import Came
    from labgrade.ledger.reading import Change, Held
    from labgrade.results import Graded, Report

OK, NOT_RIGHT, FAULT = 0, 1, 3
_INTERRUPTED = 130
_MOST_CHANGES = 40


def add_to(verbs: Any) -> None:
    """Add the two commands to `labgrade`'s."""
    parser = verbs.add_parser("grade", help="grade a class into a results folder; goes on where it was interrupted")
    parser.add_argument("source", type=Path, metavar="DIR", help="a folder of submissions, or an archive of them")
    _out(parser, "where results are kept (default: results)")
    parser.add_argument("--lab", help="only this lab")
    parser.add_argument("--task", action="append", metavar="ID", help="only this task (may be given again)")
    parser.add_argument("--submission", action="append", metavar="NAME", help="only this one (may be given again)")
    parser.add_argument("--torch-home", type=Path, metavar="DIR", help=torch_home.HELP)
    parser.add_argument("--second-opinion", action="store_true", help=second_opinion.HELP)
    _how(parser)
    parser.set_defaults(run=grade)
    once_more = verbs.add_parser("regrade", help="grade again what changed since, and show before, after and why")
    once_more.add_argument(
        "named", type=Path, nargs="?", metavar="RESULTS", help="the results folder (default: results)"
    )
    _out(once_more, "the same")
    _how(once_more)
    once_more.set_defaults(run=regrade)


def _out(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--out", "--results", type=Path, default=Path("results"), metavar="DIR", help=what)


def _how(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", type=_jobs, default=0, metavar="N", help="submissions at a time (default: the cores)")
    parser.add_argument("--allow-lower", action="store_true", help="published results may fall")
    parser.add_argument(
        "--unsafe", action="store_true", help="grade others' code also where nothing protects you from it"
    )


def _jobs(text: str) -> int:
    if not text.isdigit() or not int(text):
        message = f"'{text}' is no number of submissions; say 1 or more"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def grade(options: argparse.Namespace) -> int:
    """Grade a class. What the ledger has is not run again."""
    here = Path.cwd()
    asked = Asked(
        source=options.source,
        results=options.out,
        root=here if (here / "specs").is_dir() else None,
        lab=options.lab,
        tasks=tuple(options.task or ()),
        names=tuple(options.submission or ()),
        jobs=options.jobs,
        torch_home=torch_home.find(options.torch_home),
        unsafe=options.unsafe,
        lower=options.allow_lower,
        second_opinions=options.second_opinion,
    )
    choose = functools.partial(commands.chosen, lab=asked.lab, ids=list(asked.tasks))
    return _go(Plans(runs=(Again(asked=asked, choose=choose),)))


def regrade(options: argparse.Namespace) -> int:
    """Grade everybody again from where each was taken."""
    results = options.named or options.out
    how = Asked(source=Path(), results=results, jobs=options.jobs, unsafe=options.unsafe, lower=options.allow_lower)
    with Ledger(results, write=(results / "ledger.sqlite").is_file()) as ledger:
        found = again.plans(ledger, how)
    if not found.runs:
        message = f"nothing was graded into '{results}' yet: labgrade grade SUBMISSIONS --out {results}"
        raise UsageError(message)
    return _go(found)


def _go(wanted: Plans) -> int:
    from rich.console import Console

    from labgrade.class_run.progress import Shown

    results = wanted.runs[0].asked.results
    errors = Console(highlight=False, stderr=True)
    came = []
    try:
        for each in wanted.runs:
            with Shown(errors) as shown:
                came.append(run.grade(each.asked, each.choose, shown.hear))
            specs, _ = course.folders(each.asked.root or Path.cwd())
            times.note(results, each.asked.source, came[-1].names, spec.deadlines(specs))
    except KeyboardInterrupt:
        errors.print("stopped; what was graded is kept: say the same again to go on", markup=False)
        return _INTERRUPTED
    report = whole.read(results).shown
    console = Console(highlight=False)
    class_table.render(report, console=console)
    _say(came, wanted, report, Page(console))
    if any(each.broken for each in came):
        raise SpecError(finding for each in came for finding in each.broken)
    return _exit_code(report, lost=any(each.lost for each in came), held=bool(came[-1].held))


def _say(came: list[Came], wanted: Plans, report: Report, page: Page) -> None:
    """What the runs came to, beside the report."""
    results = wanted.runs[0].asked.results
    _say_changes([change for each in came for change in each.changes], page)
    _say_held(came[-1].held, results, page)
    for told in (told for each in came for told in each.lost):
        page.paragraph(told, indent=0, label="not graded: ", style="red")
    if wanted.gone:
        message = f"{named(list(wanted.gone))}: where they were taken from, they are no more"
        page.paragraph(message, indent=0, label="not graded again: ", style="yellow")
    broken = [finding for each in came for finding in each.broken]
    if broken:
        files = ", ".join(dict.fromkeys(finding.mark.file for finding in broken))
        page.paragraph(f"{files}, which can't be read: see below", indent=0, label="not graded: ", style="red")
    ran = sum(each.ran for each in came)
    anew = f"{ran:,} {'check was' if ran == 1 else 'checks were'} judged anew" if ran else "nothing had to be run"
    page.paragraph(f"results are in '{results}'; {anew}", indent=0)
    page.paragraph(_next(report, results), indent=0, label="next: ", style="cyan")


def _next(report: Report, results: Path) -> str:
    """What to do with the results."""
    checks = (check for who in report.submissions for task in who.tasks for check in task.checks)
    if any(check.verdict.outcome in PENDING for check in checks):
        return f"labgrade standing {results} (what waits for a person)"
    return f"labgrade export --results {results} --format all --out exported"


def _exit_code(report: Report, *, lost: bool, held: bool) -> int:
    checks = [check for who in report.submissions for task in who.tasks for check in task.checks]
    if lost or any(check.verdict.outcome is Outcome.FAULT for check in checks):
        return FAULT
    return NOT_RIGHT if held else OK


def _say_changes(changes: list[Change], page: Page) -> None:
    """Before and after for each student, and why."""
    counted = [change for change in changes if change.counts]
    if changes:
        page.blank()
        others = len(changes) - len(counted)
        changed = f"{len(counted):,} {'verdict' if len(counted) == 1 else 'verdicts'} changed" if counted else ""
        reworded = f"{others:,} {'is' if others == 1 else 'are'} told in other words" if others else ""
        page.line(("; ".join(filter(None, (changed, reworded))), "bold"))
    last = ""
    for change in counted[:_MOST_CHANGES]:
        if change.who != last:
            page.line((change.who, "bold"))
            last = change.who
        after = worth(change.after) if change.after is not None else "asked for no more"
        place = " ".join(change.place[1:])
        page.paragraph(f"{place}: {worth(change.before)} -> {after}, because {change.why}", indent=2)
    if len(counted) > _MOST_CHANGES:
        more = f"and {len(counted) - _MOST_CHANGES:,} more; `labgrade explain STUDENT TASK` tells each"
        page.paragraph(more, indent=2)


def _say_held(held: list[Held], results: Path, page: Page) -> None:
    """What was not lowered."""
    if not held:
        return
    page.blank()
    page.line(("not changed, because it is published and would fall", "bold yellow"))
    for each in held:
        place = " ".join(each.place[1:])
        why = f", because {each.why}" if each.why else ""
        page.paragraph(f"{each.who}, {place}: {show(each.published)} -> {worth(each.would_be)}{why}", indent=2)
    page.paragraph(f"to lower them, say: labgrade regrade {results} --allow-lower", indent=0)


def worth(graded: Graded) -> str:
    """`PARTIAL 1.5 of 3`."""
    return f"{graded.verdict.outcome} {show(graded.earned)} of {show(graded.points)}"
