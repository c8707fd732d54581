"""`labgrade return`: what was released, back into students' repositories."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from labgrade.commands.by_git.collect import HELD
from labgrade.commands.review import add_results_arguments, print_lines, submission
from labgrade.core.errors import NOT_RIGHT, OK, UsageError
from labgrade.core.text import listed_names
from labgrade.review.results import read
from labgrade.spec import course, load
from labgrade.submissions import git_run

if TYPE_CHECKING:
    import argparse


def add_return(parser: argparse.ArgumentParser) -> None:
    """The arguments of `return`."""
    add_results_arguments(parser)
    parser.add_argument(
        "--student", action="append", default=[], metavar="NAME", help="only this one (may be repeated)"
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would be pushed, and push nothing")
    parser.set_defaults(run=give_back)


def give_back(options: argparse.Namespace) -> int:
    """Push what was released and is not there yet; 1 where that was not possible."""
    from labgrade.collect import returned
    from labgrade.collect.giving_back import PUSHED, SAME, WOULD, Returning
    from labgrade.ledger import database

    found = read(options.results, options.roster)
    collection = found.collected
    if not collection.entries:
        message = f"nothing was collected into '{options.results}': labgrade collect {options.results}"
        raise UsageError(message)
    chosen = {submission(found, name).name for name in options.student} or set(found.releases)
    if not chosen & set(found.releases):
        message = f"nothing was released yet: labgrade release {options.results}"
        raise UsageError(message)
    address = load.labs(course.folders(found.root)[0]).get(collection.lab, {}).get("collect", {}).get("repository", "")
    access = git_run.access_to(address)
    run = Returning(lab=collection.lab, mirror=collection.mirror, access=access, dry=options.dry_run)
    with database.locked_folder(collection.mirror, *HELD):
        packages = list(returned.packages(found, chosen))
        places = {each.name: returned.addresses(found, each.name) for each in packages}
        came = run.give_all((each, to) for each in packages for to in places[each.name])
    counted = Counter(each.state for each in came)
    print_lines(", ".join(f"{count:,} {state}" for state, count in counted.most_common()) or "nothing to push")
    for each in came:
        if each.state == WOULD:
            print_lines(
                f"{each.name}: {each.address}, branch {run.branch.removeprefix('refs/heads/')}",
                *each.message.split("\n"),
            )
        elif each.state not in (PUSHED, SAME):
            print_lines(f"'{each.name}', {each.address}: {each.said}")
    if nowhere := [name for name, to in places.items() if not to]:
        print_lines(f"without a repository, so nothing is pushed: {listed_names(nowhere)}")
    return OK if all(each.state in (PUSHED, SAME, WOULD) for each in came) else NOT_RIGHT
