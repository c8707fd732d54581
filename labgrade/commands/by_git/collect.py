"""`labgrade collect`: from students' repositories into a folder of results."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade.commands.review import add_results_arguments, console, print_lines
from labgrade.core.did_you_mean import look_up
from labgrade.core.errors import NOT_RIGHT, OK, UsageError
from labgrade.reports.plain_page import Page
from labgrade.review import pending
from labgrade.review import roster as rosters
from labgrade.spec import course, load
from labgrade.submissions import collected, git_run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from labgrade.collect.repositories import Repository
    from labgrade.submissions.collected import Collection

_INTERRUPTED = 130
_MIRROR = "mirror"
HELD = ("is at work in", "name another --mirror")
_SIZES = {"MB": 1 << 20, "GB": 1 << 30}
_TIMES = {"s": 1, "min": 60, "h": 3600}


def add_collect(parser: argparse.ArgumentParser) -> None:
    """The arguments of `collect`."""
    add_results_arguments(parser)
    parser.add_argument("--lab", default="", help="which lab (default: the only one with `collect` in its lab.yaml)")
    parser.add_argument(
        "--student", action="append", default=[], metavar="NAME", help="only this one (may be repeated)"
    )
    parser.add_argument(
        "--mirror", type=Path, metavar="DIR", help="where repositories are kept (default: RESULTS/mirror)"
    )
    parser.add_argument("--jobs", type=int, default=6, metavar="N", help="repositories at a time (default: 6)")
    said = "the most that is fetched of one, such as 500MB (default: 1GB)"
    parser.add_argument("--repository-size", type=_amount_parser(_SIZES), default=1 << 30, metavar="SIZE", help=said)
    said = "how long one may take, such as 90s (default: 10min)"
    parser.add_argument("--repository-time", type=_amount_parser(_TIMES), default=600, metavar="TIME", help=said)
    parser.set_defaults(run=collect)


def _amount_parser(units: dict[str, int]) -> Callable[[str], int]:
    def read(text: str) -> int:
        found = re.fullmatch(rf"([1-9]\d{{0,5}}) ?({'|'.join(units)})", text.strip())
        if found is None:
            message = f"'{text}' needs a number and a unit ({', '.join(units)})"
            raise argparse.ArgumentTypeError(message)
        return int(found[1]) * units[found[2]]

    return read


def collect(options: argparse.Namespace) -> int:
    """Fetch what is new; 1 where a repository could not be taken in."""
    from labgrade.collect import forges
    from labgrade.collect.collect import Collecting
    from labgrade.collect.repositories import repositories
    from labgrade.ledger import database

    if options.jobs < 1:
        message = "--jobs is 1 or more"
        raise UsageError(message)
    specs, root = course.folders(Path.cwd())
    lab, rules = _lab(load.labs(specs), options.lab)
    students = rosters.read(options.roster) if options.roster else rosters.of_course(root)
    wanted = _repositories_to_collect(repositories(students, lab, rules), options.student)
    mirror = options.mirror or options.results / _MIRROR
    with database.locked_folder(mirror, *HELD):
        run = Collecting(
            lab=lab,
            rules=rules,
            deadline=load.deadlines(specs).get(lab),
            mirror=mirror,
            folder=options.results / collected.FOLDER,
            access=git_run.access_to(rules.get("repository", "")),
            forge=forges.forge_of(rules),
            people={(each.login or each.id).casefold(): each.id for each in students.students},
            jobs=options.jobs,
            bounds=git_run.Bounds(seconds=options.repository_time, file_bytes=options.repository_size),
        )
        try:
            found = _run_with_progress(run.run, wanted)
        except KeyboardInterrupt:
            print_lines("stopped; what was fetched is kept: run the same command again to go on")
            return _INTERRUPTED
    return _print_outcome(found, [each.name for each in wanted], options.results)


def _lab(labs: dict[str, dict[str, Any]], asked: str) -> tuple[str, dict[str, Any]]:
    """Return the lab to collect and the `collect` settings of its lab.yaml.

    Raises:
        UsageError: it is not clear which is meant.
    """
    if asked:
        return asked, dict(look_up(asked, labs, "lab", "this course").get("collect", {}))
    found = {lab: data["collect"] for lab, data in labs.items() if "collect" in data}
    if len(found) != 1:
        there = f"there are {', '.join(found)}" if found else "no lab.yaml has 'collect'"
        message = f"say which --lab: {there}"
        raise UsageError(message)
    return next(iter(found.items()))


def _repositories_to_collect(there: list[Repository], names: list[str]) -> list[Repository]:
    if not names:
        return there
    known = {each.name: each for each in there}
    return list({name: look_up(name, known, "repository", "the roster") for name in names}.values())


def _run_with_progress(run: Callable[..., Collection], wanted: Sequence[Repository]) -> Collection:
    """Collect the repositories, with a progress bar on a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    errors = Console(highlight=False, stderr=True)
    with Progress(console=errors, disable=not errors.is_terminal) as bar:
        task = bar.add_task("collecting", total=len(wanted))
        return run(wanted, lambda _: bar.advance(task))


def _print_outcome(found: Collection, wanted: Sequence[str], results: Path) -> int:
    page = Page(console())
    states = Counter(found.entries[name]["state"] for name in wanted)
    taken = [found.entries[name] for name in wanted if found.entries[name]["state"] == collected.TAKEN]
    late = sum(bool(each["days_late"]) for each in taken)
    others = "".join(f", {count:,} {state}" for state, count in states.most_common() if state != collected.TAKEN)
    page.say(f"{len(taken):,} of {len(wanted):,} taken in ({late:,} late){others}")
    for text, style in pending.lines([*pending.collected_without(found), *pending.collected_with(found)]):
        page.line((text, style), hang=6)
    where = results / collected.FOLDER
    if found.names:
        page.say(f"labgrade grade {where} --lab {found.lab} --out {results}", label="next: ", style="cyan")
    troubled = any(each.get("trouble") for each in taken)
    return NOT_RIGHT if pending.collected_without(found) or troubled else OK
