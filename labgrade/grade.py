"""`labgrade grade` and `labgrade regrade`: a whole class into a results folder, and again after something changed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade import commands, torch_home
from labgrade.class_run import run
from labgrade.class_run.run import Asked
from labgrade.errors import SpecError, UsageError
from labgrade.ledger import reading
from labgrade.ledger.store import Ledger
from labgrade.report import terminal
from labgrade.values import show
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from rich.console import Console

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
    _how(parser)
    parser.set_defaults(run=grade)
    again = verbs.add_parser("regrade", help="grade again what changed since, and show before, after and why")
    _out(again, "the results folder (default: results)")
    _how(again)
    again.set_defaults(run=regrade)


def _out(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help=what)


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
    )
    return _go(asked)


def regrade(options: argparse.Namespace) -> int:
    """Grade again from where it was taken."""
    with Ledger(options.out, write=(options.out / "ledger.sqlite").is_file()) as ledger:
        plain = reading.asked(ledger)
    for asked in run.from_plain(plain, options.out, options):
        return _go(asked)
    message = f"nothing was graded into '{options.out}' yet: labgrade grade SUBMISSIONS --out {options.out}"
    raise UsageError(message)


def _go(asked: Asked) -> int:
    from rich.console import Console

    from labgrade.class_run.progress import Shown

    console, errors = Console(highlight=False), Console(highlight=False, stderr=True)
    try:
        with Shown(errors) as shown:
            came = run.grade(asked, lambda found: commands.chosen(found, asked.lab, list(asked.tasks)), shown.hear)
    except KeyboardInterrupt:
        errors.print("stopped; what was graded is kept: say the same again to go on", markup=False)
        return _INTERRUPTED
    report = reading.report_of(asked.results)
    terminal.render_class(report, console=console)
    _say_changes(came.changes, console)
    _say_held(came.held, asked.results, console)
    for name in came.lost:
        console.print(f"not graded: {name} ended the process that graded it, twice", style="red", markup=False)
    ran = (
        f"{came.ran:,} {'check was' if came.ran == 1 else 'checks were'} judged anew"
        if came.ran
        else "nothing had to be run"
    )
    console.print(f"results are in '{asked.results}'; {ran}", markup=False, soft_wrap=True)
    if came.broken:
        raise SpecError(came.broken)
    return _exit_code(report, lost=bool(came.lost), held=bool(came.held))


def _exit_code(report: Report, *, lost: bool, held: bool) -> int:
    checks = [check for who in report.submissions for task in who.tasks for check in task.checks]
    if lost or any(check.verdict.outcome is Outcome.FAULT for check in checks):
        return FAULT
    return NOT_RIGHT if held else OK


def _say_changes(changes: list[Change], console: Console) -> None:
    """Before and after for each student, and why."""
    if not changes:
        return
    console.print(f"\n{len(changes):,} {'verdict' if len(changes) == 1 else 'verdicts'} changed", style="bold")
    last = ""
    for change in changes[:_MOST_CHANGES]:
        if change.who != last:
            console.print(change.who, style="bold", markup=False)
            last = change.who
        after = worth(change.after) if change.after is not None else "asked for no more"
        _line(f"{' '.join(change.place[1:])}: {worth(change.before)} -> {after}, because {change.why}", console)
    if len(changes) > _MOST_CHANGES:
        _line(f"and {len(changes) - _MOST_CHANGES:,} more; `labgrade explain NAME TASK` tells each", console)


def _say_held(held: list[Held], results: Path, console: Console) -> None:
    """What was not lowered."""
    if not held:
        return
    console.print("\nnot changed, because it is published and would fall", style="bold yellow")
    for each in held:
        place = " ".join(each.place[1:])
        said = f"{show(each.published)} -> {worth(each.would_be)}"
        _line(f"{each.who}, {place}: {said}" + (f", because {each.why}" if each.why else ""), console)
    console.print(f"to lower them, say: labgrade regrade --out {results} --allow-lower", markup=False)


def worth(graded: Graded) -> str:
    """`PARTIAL 1.5 of 3`."""
    return f"{graded.verdict.outcome} {show(graded.earned)} of {show(graded.points)}"


def _line(text: str, console: Console) -> None:
    console.print(f"  {text}", markup=False, soft_wrap=True)
