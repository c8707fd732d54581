"""`labgrade release`: what students may see from now on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labgrade.commands.review import by, results_argument, submission, tell, who
from labgrade.core.errors import OK, UsageError
from labgrade.core.points import final_totals
from labgrade.ledger.read import NOT_ENDED
from labgrade.review import releases
from labgrade.review.results import read

if TYPE_CHECKING:
    import argparse

    from labgrade.core.results import SubmissionReport
    from labgrade.review.results import Whole

_MOST_SAID = 20


def add_release(parser: argparse.ArgumentParser) -> None:
    """The arguments of `release`."""
    results_argument(parser)
    parser.add_argument(
        "--student", action="append", default=[], metavar="NAME", help="only this one (may be repeated)"
    )
    parser.add_argument("--reveal-hidden", action="store_true", help="show hidden checks, too")
    parser.add_argument("--unfinished", action="store_true", help="even where something waits, or a run did not end")
    parser.add_argument("--lower", action="store_true", help="even where there are fewer points than before")
    parser.add_argument("--reason", default="", help="why results are released again")
    by(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Keep what students may see from now on. Nothing is released where it should be looked at first."""
    found = read(options.results, options.roster)
    named = (submission(found, name) for name in options.student)
    chosen = list({each.name: each for each in named}.values()) or list(found.staff.submissions)
    by = who(options)
    made = [releases.made(each, by=by, reason=options.reason, hidden_too=options.reveal_hidden) for each in chosen]
    new = [each for each in made if _changed(found, each)]
    changing = [each for each in chosen if each.name in {one.submission for one in new}]
    if NOT_ENDED in found.machine.notes and not options.unfinished:
        message = f"{NOT_ENDED}; nothing was released: to release what there is, say --unfinished"
        raise UsageError(message)
    _refuse_open(found, changing, allowed=options.unfinished)
    _refuse_lower(found, changing, allowed=options.lower and bool(options.reason.strip()))
    releases.add(options.results, new)
    same = f"; {len(made) - len(new):,} had seen this before" if len(new) < len(made) else ""
    tell(f"{len(new):,} released by {by}{same}")
    return OK


def _changed(found: Whole, made: releases.Release) -> bool:
    last = found.releases.get(made.submission)
    return last is None or (last.digest, last.final) != (made.digest, made.final)


def _refuse_open(found: Whole, chosen: list[SubmissionReport], *, allowed: bool) -> None:
    waiting = [each for each in chosen if final_totals(each).pending]
    if waiting and not allowed:
        called = found.names
        names = ", ".join(called.of(each.name) for each in waiting[:_MOST_SAID])
        more = f" and {len(waiting) - _MOST_SAID:,} more" if len(waiting) > _MOST_SAID else ""
        message = (
            f"{len(waiting):,} of {len(chosen):,} still wait for a person: {names}{more}; nothing was released: see "
            f"'labgrade standing {found.folder}', or say --unfinished"
        )
        raise UsageError(message)


def _refuse_lower(found: Whole, chosen: list[SubmissionReport], *, allowed: bool) -> None:
    called = found.names
    said = [
        f"  {called.of(each.name)} {one}"
        for each in chosen
        if each.name in found.releases
        for one in releases.lowered(found.releases[each.name], each)
    ]
    if said and not allowed:
        more = [f"  and {len(said) - _MOST_SAID:,} more"] if len(said) > _MOST_SAID else []
        head = "students would have fewer points than they were shown; nothing was released"
        tail = "if this is right, say --lower and --reason"
        raise UsageError("\n".join([f"{head}:", *said[:_MOST_SAID], *more, tail]))
