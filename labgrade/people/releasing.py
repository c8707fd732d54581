"""The command `labgrade release`: what students see from now on, and what has to be looked at before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labgrade.errors import UsageError
from labgrade.ledger.released import mark_released
from labgrade.people import asked, releases, whole
from labgrade.people.decisions import points
from labgrade.policy import settled

if TYPE_CHECKING:
    import argparse

    from labgrade.people.whole import Whole
    from labgrade.results import SubmissionReport

OK = 0
_MOST_SAID = 20


def options(parser: argparse.ArgumentParser) -> None:
    """What `labgrade release` takes."""
    parser.add_argument(
        "--student", action="append", default=[], metavar="NAME", help="only this one (may be repeated)"
    )
    parser.add_argument("--reveal-hidden", action="store_true", help="show hidden checks, too")
    parser.add_argument("--unfinished", action="store_true", help="even where something waits for a person")
    parser.add_argument("--lower", action="store_true", help="even where there are fewer points than before")
    parser.add_argument("--reason", default="", help="why results are released again")
    asked.by(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Keep what students may see from now on. Nothing is released where it should be looked at first."""
    found = whole.read(options.results, options.roster)
    chosen = [asked.submission(found, name) for name in options.student] or list(found.staff.submissions)
    by = asked.who(options)
    made = [releases.made(each, by=by, reason=options.reason, hidden_too=options.reveal_hidden) for each in chosen]
    new = [each for each in made if _changed(found, each)]
    changing = [each for each in chosen if each.name in {one.submission for one in new}]
    _refuse_open(found, changing, allowed=options.unfinished)
    _refuse_lower(found, changing, allowed=options.lower and bool(options.reason.strip()))
    releases.add(options.results, new)
    mark_released(options.results, [each.submission for each in new])
    same = f"; {len(made) - len(new):,} had seen this before" if len(new) < len(made) else ""
    asked.say(f"{len(new):,} released by {by}{same}")
    return OK


def _changed(found: Whole, made: releases.Release) -> bool:
    last = found.releases.get(made.submission)
    return last is None or (last.digest, last.final) != (made.digest, made.final)


def _refuse_open(found: Whole, chosen: list[SubmissionReport], *, allowed: bool) -> None:
    waiting = [each for each in chosen if settled(each).pending]
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
        f"  {called.of(each.name)} {one.task or 'all'} {one.check}".rstrip()
        + f": {points(one.before)} before, {points(one.now)} now"
        for each in chosen
        if each.name in found.releases
        for one in releases.lowered(found.releases[each.name], each)
    ]
    if said and not allowed:
        more = [f"  and {len(said) - _MOST_SAID:,} more"] if len(said) > _MOST_SAID else []
        head = "students would have fewer points than they were shown; nothing was released"
        tail = "if this is right, say --lower and --reason"
        raise UsageError("\n".join([f"{head}:", *said[:_MOST_SAID], *more, tail]))
