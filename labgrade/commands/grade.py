"""`labgrade grade` and `labgrade regrade`: a whole class into a results folder, and again after something changed."""

from __future__ import annotations

import argparse
import contextlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.authoring.new_course import keep_schemas
from labgrade.core.errors import FAULT, NOT_RIGHT, OK, SpecError, UsageError
from labgrade.core.text import listed_names
from labgrade.files import downloaded_weights
from labgrade.ledger import database
from labgrade.ledger.database import Ledger
from labgrade.reports import class_table
from labgrade.reports.plain_page import Page
from labgrade.reports.summary import worth
from labgrade.review.results import read
from labgrade.run import class_run
from labgrade.run.plan import RunRequest
from labgrade.run.regrade import Again, Plans, plans
from labgrade.spec import course
from labgrade.spec.load import chosen
from labgrade.values import show
from labgrade.verdict import PENDING, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from labgrade.core.results import Report
    from labgrade.ledger.read import Change, HeldCheck
    from labgrade.run.class_run import Elsewhere
    from labgrade.run.events import Finished
    from labgrade.spec.course import Course

_INTERRUPTED = 130
_MOST_CHANGES = 40


def add_grade(parser: argparse.ArgumentParser) -> None:
    """The arguments of `grade`."""
    parser.add_argument("source", type=Path, metavar="DIR", help="a folder of submissions, or an archive of them")
    _add_results_option(parser, "where results are kept (default: results)")
    parser.add_argument("--lab", help="only this lab")
    parser.add_argument("--task", action="append", metavar="ID", help="only this task (may be given again)")
    parser.add_argument("--submission", action="append", metavar="NAME", help="only this one (may be given again)")
    parser.add_argument("--torch-home", type=Path, metavar="DIR", help=downloaded_weights.HELP)
    _add_run_options(parser)
    said = "not this one, this time (may be given again)"
    parser.add_argument("--skip", action="append", metavar="NAME", help=said)
    parser.set_defaults(run=grade)


def add_regrade(parser: argparse.ArgumentParser) -> None:
    """The arguments of `regrade`."""
    parser.add_argument("named", type=Path, nargs="?", metavar="RESULTS", help="the results folder (default: results)")
    _add_results_option(parser, "the same")
    said = "judge everything anew; what people decided and released stays"
    parser.add_argument("--rebuild", action="store_true", help=said)
    _add_run_options(parser)
    parser.set_defaults(run=regrade)


def _add_results_option(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--out", "--results", type=Path, default=Path("results"), metavar="DIR", help=what)


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", type=_jobs, default=0, metavar="N", help="submissions at a time (default: the cores)")
    said = "what running the code of one submission may take; what that cuts off waits (default: as long as it takes)"
    parser.add_argument("--submission-time", type=_duration, default=0.0, metavar="TIME", help=said)
    said = "judge anew what is remembered of earlier runs, too"
    parser.add_argument("--fresh", action="store_true", help=said)
    said = "grade on other processes or machines: local:4, tls://host:8786, slurm:cluster.yaml"
    parser.add_argument("--cluster", metavar="WHERE", help=said)
    parser.add_argument("--insecure", action="store_true", help="--cluster tcp://... on a network of your own")
    parser.add_argument("--allow-lower", action="store_true", help="published results may fall")
    parser.add_argument(
        "--unsafe", action="store_true", help="grade others' code also where nothing protects you from it"
    )


def _jobs(text: str) -> int:
    if not text.isdigit() or not int(text):
        message = f"'{text}' is no number of submissions; say 1 or more"
        raise argparse.ArgumentTypeError(message)
    return int(text)


_UNITS = {"": 1, "s": 1, "min": 60, "h": 3600}


def _duration(text: str) -> float:
    """Seconds of `90`, `90s`, `10min`, `1h`."""
    found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?) ?(s|min|h|)", text.strip())
    if found is None or not float(found[1]):
        message = f"'{text}' is no time; say 300, 90s, 10min or 1h"
        raise argparse.ArgumentTypeError(message)
    return float(found[1]) * _UNITS[found[2]]


def grade(options: argparse.Namespace) -> int:
    """Grade a class. What the ledger has is not run again."""
    here = Path.cwd()
    request = RunRequest(
        source=options.source,
        results=options.out,
        root=here if (here / "specs").is_dir() else None,
        lab=options.lab,
        tasks=tuple(options.task or ()),
        names=tuple(options.submission or ()),
        jobs=options.jobs,
        torch_home=downloaded_weights.find(options.torch_home),
        unsafe=options.unsafe,
        lower=options.allow_lower,
        skip=tuple(options.skip or ()),
        seconds=options.submission_time,
        fresh=options.fresh,
    )

    def choose(found: Course) -> list[Path]:
        keep_schemas(found)
        return chosen(found, request.lab, request.tasks)

    code = _run_and_report(Plans(runs=(Again(request=request, choose=choose),)), options)
    if options.lab is None and not options.task:
        _print_labs(course.find(request.root))
    return code


def _print_labs(found: Course) -> None:
    """Say which labs were graded, where none was named and there are others."""
    graded = {path.parent.name for path in chosen(found)}
    if said := course.other_labs(found.specs, graded):
        print(said)  # noqa: T201


def regrade(options: argparse.Namespace) -> int:
    """Grade everybody again from where each was taken."""
    results = options.named or options.out
    how = RunRequest(
        source=Path(),
        results=results,
        jobs=options.jobs,
        unsafe=options.unsafe,
        lower=options.allow_lower,
        seconds=options.submission_time,
        fresh=options.fresh or options.rebuild,
    )
    with Ledger(results) as ledger:
        found = plans(ledger, how)
    if not found.runs:
        message = f"nothing was graded into '{results}' yet: labgrade grade SUBMISSIONS --out {results}"
        raise UsageError(message)
    if options.rebuild:
        with database.locked_folder(results), Ledger(results, write=True) as ledger:
            database.rebuild(ledger)
    return _run_and_report(found, options)


def _run_and_report(wanted: Plans, options: argparse.Namespace) -> int:
    from rich.console import Console

    from labgrade.run.progress import RunProgress

    results = wanted.runs[0].request.results
    errors = Console(highlight=False, stderr=True)
    came = []
    try:
        with _cluster_machines(options) as elsewhere:
            for each in wanted.runs:
                with RunProgress(errors) as shown:
                    came.append(shown.follow(class_run.grade(each.request, each.choose, elsewhere)))
    except KeyboardInterrupt:
        errors.print("stopped; what was graded is kept: run the same command again to go on", markup=False)
        return _INTERRUPTED
    report = read(results).shown
    console = Console(highlight=False)
    class_table.render(report, console=console)
    _print_outcome(came, wanted, report, Page(console))
    if any(each.broken for each in came):
        raise SpecError(finding for each in came for finding in each.broken)
    return _exit_code(report, lost=any(each.lost for each in came), held=bool(came[-1].held))


@contextlib.contextmanager
def _cluster_machines(options: argparse.Namespace) -> Iterator[Elsewhere | None]:
    """The machines of `--cluster`."""
    if options.cluster is None:
        yield None
        return
    from labgrade.cluster import connect

    with connect.connected(options.cluster, insecure=options.insecure) as client:
        from labgrade.cluster.workers import ClusterMachines

        with contextlib.closing(ClusterMachines(client)) as machines:
            yield machines


def _print_outcome(came: list[Finished], wanted: Plans, report: Report, page: Page) -> None:
    """Print what the runs did, besides the report."""
    results = wanted.runs[0].request.results
    _print_changes([change for each in came for change in each.changes], page)
    _print_held(came[-1].held, results, page)
    if wanted.gone:
        message = f"{listed_names(list(wanted.gone))}: their source no longer exists"
        page.paragraph(message, indent=0, label="not graded again: ", style="yellow")
    broken = [finding for each in came for finding in each.broken]
    if broken:
        files = ", ".join(dict.fromkeys(finding.mark.file for finding in broken))
        page.paragraph(f"{files}, which can't be read: see below", indent=0, label="not graded: ", style="red")
    ran = sum(each.ran for each in came)
    anew = f"{ran:,} {'check was' if ran == 1 else 'checks were'} judged anew" if ran else "nothing had to be run"
    page.say(f"results are in '{results}'; {anew}")
    page.say(_next_step(report, results), label="next: ", style="cyan")


def _next_step(report: Report, results: Path) -> str:
    """Return what to do next with the results."""
    checks = (check for who in report.submissions for task in who.tasks for check in task.checks)
    if any(check.verdict.outcome in PENDING for check in checks):
        return f"labgrade standing {results} (what waits for a person)"
    return f"labgrade export --results {results} --format all --out exported"


def _exit_code(report: Report, *, lost: bool, held: bool) -> int:
    checks = [check for who in report.submissions for task in who.tasks for check in task.checks]
    if lost or any(check.verdict.outcome is Outcome.FAULT for check in checks):
        return FAULT
    return NOT_RIGHT if held else OK


def _print_changes(changes: Sequence[Change], page: Page) -> None:
    """Print what changed for each student, and why."""
    counted = [change for change in changes if change.counts]
    if changes:
        page.blank()
        others = len(changes) - len(counted)
        changed = f"{len(counted):,} {'verdict' if len(counted) == 1 else 'verdicts'} changed" if counted else ""
        reworded = f"{others:,} {'is' if others == 1 else 'are'} reported in other words" if others else ""
        page.line(("; ".join(filter(None, (changed, reworded))), "bold"))
    last = ""
    for change in counted[:_MOST_CHANGES]:
        if change.who != last:
            page.line(("submission ", "dim"), (change.who, "bold"), hang=11, gutter=page.gutter)
            last = change.who
        after = worth(change.after) if change.after is not None else "asked for no more"
        place = " ".join(change.place[1:])
        page.paragraph(change.why, indent=2, own=f"{place}: {worth(change.before)} -> {after}, because ")
    if len(counted) > _MOST_CHANGES:
        more = f"and {len(counted) - _MOST_CHANGES:,} more; `labgrade explain STUDENT TASK` tells each"
        page.paragraph(more, indent=2)


def _print_held(held: Sequence[HeldCheck], results: Path, page: Page) -> None:
    """Print which points were not lowered."""
    if not held:
        return
    page.blank()
    page.line(("not changed, because it is published and would fall", "bold yellow"))
    for each in held:
        place = " ".join(each.place[1:])
        own = f"{each.who}, {place}: {show(each.published)} -> {worth(each.would_be)}{', because ' if each.why else ''}"
        page.paragraph(each.why, indent=2, own=own)
    page.say(f"to lower them, say: labgrade regrade {results} --allow-lower")
