"""What the commands for people's decisions are asked in common: whose results, which submission, who decides."""

from __future__ import annotations

import getpass
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from labgrade.errors import UsageError, did_you_mean
from labgrade.report.page import Page

if TYPE_CHECKING:
    import argparse

    from labgrade.people.whole import Whole
    from labgrade.results import SubmissionReport


def results(verbs: Any, name: str, said: str, *, more: bool = False) -> argparse.ArgumentParser:
    """A command on a folder of results, which has to be named where `more` stands behind it."""
    parser: argparse.ArgumentParser = verbs.add_parser(name, help=said)
    parser.add_argument(
        "results",
        type=Path,
        metavar="RESULTS",
        nargs=None if more else "?",
        default=Path("results"),
        help="the folder that `labgrade grade` wrote" + ("" if more else " (default: results)"),
    )
    parser.add_argument("--roster", type=Path, metavar="FILE", help="default: roster.yaml or roster.csv of the course")
    return parser


def by(parser: argparse.ArgumentParser) -> None:
    """The option that says who decides."""
    parser.add_argument("--by", default="", metavar="NAME", help="who decides (default: $LABGRADE_BY, or your login)")


def who(options: argparse.Namespace) -> str:
    """Who decides.

    Raises:
        UsageError: nobody knows.
    """
    try:
        return str(options.by or os.environ.get("LABGRADE_BY", "") or getpass.getuser())
    except (OSError, KeyError):
        message = "nobody knows who you are; say --by NAME"
        raise UsageError(message) from None


def submission(found: Whole, said: str) -> SubmissionReport:
    """A submission by its name, its pseudonym, or the id of one of its members.

    Raises:
        UsageError: there is none.
    """
    names = found.names
    name = names.name(said)
    there = {each.name: each for each in found.staff.submissions}
    by_member = {member: each for each in found.staff.submissions for member in each.members}
    if name not in there and name not in by_member:
        others = (remark for each in found.staff.submissions for remark in each.remarks)
        said_so = next((remark for remark in others if found.key is None and remark.startswith(f"'{name}' (")), "")
        if said_so:
            message = f"it does not count: {said_so}"
            raise UsageError(message)
        shown = [names.of(each) for each in there]
        message = f"there is no submission '{said}' in these results{did_you_mean(said, shown)}"
        raise UsageError(message)
    return there.get(name) or by_member[name]


def say(*texts: str) -> None:
    """Print lines in which nothing can act on the terminal."""
    page = Page(console())
    for text in texts:
        page.line((text, ""), hang=2)


def console() -> Console:
    """The terminal, or whatever stdout is."""
    return Console(highlight=False)
