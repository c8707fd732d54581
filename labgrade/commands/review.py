"""The commands for what people decide: `labgrade mark`, `desk`, `override`, `release`, `anonymous`."""

from __future__ import annotations

import getpass
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from labgrade.core.did_you_mean import did_you_mean, look_up
from labgrade.core.errors import NOT_RIGHT, OK, UsageError
from labgrade.core.points import final_totals
from labgrade.files import output
from labgrade.ledger.read import NOT_ENDED
from labgrade.reports.plain_page import Page
from labgrade.review import decisions, interview, marking, pseudonyms, releases, sheet
from labgrade.review.decisions import Place, in_words, points
from labgrade.review.results import marker, read

if TYPE_CHECKING:
    import argparse

    from labgrade.core.results import Graded, SubmissionReport
    from labgrade.review.results import Whole


def add_results_arguments(parser: argparse.ArgumentParser, *, more: bool = False) -> None:
    """Add the folder of results, which has to be named where `more` arguments follow, and the roster."""
    parser.add_argument(
        "results",
        type=Path,
        metavar="RESULTS",
        nargs=None if more else "?",
        default=Path("results"),
        help="the folder that `labgrade grade` wrote" + ("" if more else " (default: results)"),
    )
    parser.add_argument("--roster", type=Path, metavar="FILE", help="default: roster.yaml or roster.csv of the course")


def add_by_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that says who decides."""
    parser.add_argument("--by", default="", metavar="NAME", help="who decides (default: $LABGRADE_BY, or your login)")


def decider(options: argparse.Namespace) -> str:
    """Return who decides.

    Raises:
        UsageError: nobody knows, or the roster has staff and nobody of that id.
    """
    try:
        said = str(options.by or os.environ.get("LABGRADE_BY", "") or getpass.getuser())
    except (OSError, KeyError):
        message = "it is not known who you are; say --by NAME"
        raise UsageError(message) from None
    try:
        return marker(said, options.results, options.roster)
    except UsageError as error:
        message = f"{error}; say who you are with {'--as' if hasattr(options, 'handed_out') else '--by'}"
        raise UsageError(message) from None


def submission(found: Whole, said: str) -> SubmissionReport:
    """Find a submission by name, pseudonym, or the id of a member.

    Raises:
        UsageError: there is none.
    """
    names = found.names
    name = names.name(said)
    there = {each.name: each for each in found.staff.submissions}
    by_member = {member: each for each in found.staff.submissions for member in each.members}
    if name not in there and name not in by_member:
        others = dict(other for each in found.staff.submissions for other in each.others)
        if name in others and found.key is None:
            message = f"it does not count: {others[name]}"
            raise UsageError(message)
        shown = [names.of(each) for each in there]
        message = f"there is no submission '{said}' in these results{did_you_mean(said, shown)}"
        raise UsageError(message)
    return there.get(name) or by_member[name]


def print_lines(*texts: str) -> None:
    """Print lines in which nothing can act on the terminal."""
    page = Page(console())
    for text in texts:
        page.line((text, ""), hang=2)


def console() -> Console:
    """Return a console on stdout."""
    return Console(highlight=False)


_MOST_SAID = 20


def add_release(parser: argparse.ArgumentParser) -> None:
    """The arguments of `release`."""
    add_results_arguments(parser)
    parser.add_argument(
        "--student", action="append", default=[], metavar="NAME", help="only this one (may be repeated)"
    )
    parser.add_argument("--reveal-hidden", action="store_true", help="show hidden checks, too")
    parser.add_argument("--unfinished", action="store_true", help="even where something waits, or a run did not end")
    parser.add_argument("--lower", action="store_true", help="even where there are fewer points than before")
    parser.add_argument("--reason", default="", help="why results are released again")
    add_by_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Release results, unless something has to be looked at first."""
    found = read(options.results, options.roster)
    named = (submission(found, name) for name in options.student)
    chosen = list({each.name: each for each in named}.values()) or list(found.staff.submissions)
    by = decider(options)
    hidden = options.reveal_hidden
    made = [releases.make_release(each, by=by, reason=options.reason, hidden_too=hidden) for each in chosen]
    new = [each for each in made if releases.differs(each, found.releases.get(each.submission))]
    changing = [each for each in chosen if each.name in {one.submission for one in new}]
    if NOT_ENDED in found.machine.notes and not options.unfinished:
        message = f"{NOT_ENDED}; nothing was released: to release what there is, say --unfinished"
        raise UsageError(message)
    _refuse_open(found, changing, allowed=options.unfinished)
    _refuse_lower(found, changing, allowed=options.lower and bool(options.reason.strip()))
    releases.add(options.results, new)
    same = f"; {len(made) - len(new):,} had seen this before" if len(new) < len(made) else ""
    rising = releases.rising(new, found.releases, found.names.of)
    print_lines(f"{len(new):,} released by {by}{same}", *(["more points than before:"] if rising else []), *rising)
    return OK


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
        head = "students would have fewer points than they were shown; nothing was released"
        tail = "if this is right, say --lower and --reason"
        raise UsageError("\n".join([f"{head}:", *releases.first_lines(said), tail]))


def add_anonymous(parser: argparse.ArgumentParser) -> None:
    """The arguments of `anonymous`."""
    add_results_arguments(parser)
    parser.add_argument("--off", action="store_true", help="show names again")
    parser.set_defaults(run=anonymous)


def add_mark(parser: argparse.ArgumentParser) -> None:
    """The arguments of `mark`."""
    add_results_arguments(parser)
    parser.add_argument("--task", default="", metavar="ID", help="only this task")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--next", action="store_true", help="only the next one")
    how.add_argument("--export", metavar="FILE", help="write what waits as a table; `-` is stdout")
    how.add_argument("--import", dest="take", type=Path, metavar="FILE", help="take in a table that was filled in")
    how.add_argument(
        "--accept",
        metavar="WHAT",
        help="accept what labgrade suggests: of a check (`total`, `2-1-4-macs total`), of a kind (`labelled value`), "
        "or `all`; a kind that one should look at (`doubtful value`) only by its name",
    )
    add_by_option(parser)
    parser.set_defaults(run=mark)


def add_desk(parser: argparse.ArgumentParser) -> None:
    """The arguments of `desk`."""
    add_results_arguments(parser)
    parser.add_argument(
        "--as", dest="by", default="", metavar="NAME", help="who marks (default: as for --by of `mark`)"
    )
    parser.add_argument("--port", type=int, default=0, metavar="N", help="default: a free one")
    parser.add_argument(
        "--handed-out",
        type=Path,
        metavar="DIR",
        help="what students were given, such as a kit: code in it is nobody's own where hand-ins are compared",
    )
    parser.set_defaults(run=desk)


def add_override(parser: argparse.ArgumentParser) -> None:
    """The arguments of `override`."""
    add_results_arguments(parser, more=True)
    parser.add_argument("student", help="the submission's name, or its pseudonym")
    parser.add_argument("task", help="such as 2-1-4-macs")
    parser.add_argument("check", help="such as total, or other-models[resnet18]")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--points", metavar="N", help="how many; or `full`, `none`")
    what.add_argument("--undo", action="store_true", help="take back the last decision about it")
    parser.add_argument("--reason", default="", help="why; the student reads it")
    add_by_option(parser)
    parser.set_defaults(run=override)


# ---- mark ------------------------------------------------------------------------------------------------------


def mark(options: argparse.Namespace) -> int:
    """Mark in the terminal or through a table. 0 where nothing is left to be marked, else 1."""
    if options.export:
        output.refuse_unwritable(options.export, "--export")
    found = read(options.results, options.roster)
    _refuse_task(found, options.task)
    if options.take is not None:
        return _import_table(options, found)
    waiting = marking.waiting(found.staff, options.task)
    if found.key is not None:  # an order that tells nothing
        names = found.names
        waiting.sort(key=lambda one: (one.place.lab, one.place.task, one.place.check, names.of(one.place.submission)))
    if options.export:
        return _export_table(options.export, found, waiting)
    if not waiting:
        print_lines("nothing waits to be marked")
        return OK
    if options.accept:
        return _accept_suggestions(options, found, waiting)
    desk = interview.Desk(console(), input, options.results, by=decider(options), called=found.names.of)
    desk.work(waiting[:1] if options.next else waiting, of=len(waiting))
    left = marking.waiting(read(options.results, options.roster).staff, options.task)
    return NOT_RIGHT if left else OK


def _accept_suggestions(options: argparse.Namespace, found: Whole, waiting: list[marking.ToDecide]) -> int:
    """Accept suggestions as marks, each of which `override --undo` takes back."""
    chosen = marking.with_suggestion(waiting, options.accept)
    if not chosen:
        kinds = sorted({each.kind for row in waiting if (each := row.graded.verdict.suggestion) is not None})
        there = f"there are kinds {', '.join(map(repr, kinds))}" if kinds else "nothing that waits has one"
        if kinds and set(kinds) <= set(marking.TO_LOOK_AT):
            there = f"what waits has kinds to look at first, accepted only by name: {', '.join(map(repr, kinds))}"
        message = f"no suggestion is of '{options.accept}'; {there}"
        raise UsageError(message)
    by = decider(options)
    made = [(marking.accept_suggestion(each, by), found.decisions.last(each.place)) for each in chosen]
    decisions.add(options.results, made)
    left = len(marking.waiting(read(options.results, options.roster).staff, options.task))
    print_lines(f"{len(chosen):,} suggestions accepted; {left:,} left to be marked")
    for kind in marking.TO_LOOK_AT:
        if kind != options.accept and (doubted := len(marking.with_suggestion(waiting, kind))):
            print_lines(f"look at {doubted:,} of the kind '{kind}' first: --accept '{kind}' takes them, too")
    return NOT_RIGHT if left else OK


def _export_table(target: str, found: Whole, waiting: list[marking.ToDecide]) -> int:
    text = sheet.render(waiting, found.decisions, found.names)
    if target == "-":
        sys.stdout.write(text)
        return OK
    try:
        output.replace(Path(target), text.encode())
    except OSError as error:
        message = f"'{target}' could not be written: {(error.strerror or str(error)).lower()}"
        raise UsageError(message) from error
    print_lines(f"{len(waiting):,} to be marked, in '{target}': fill in 'points' and 'comment'")
    return OK


def _import_table(options: argparse.Namespace, found: Whole) -> int:
    try:
        data = options.take.read_bytes()
    except OSError as error:
        message = f"'{options.take}' can't be read: {(error.strerror or str(error)).lower()}"
        raise UsageError(message) from error
    rulings = sheet.import_marks(data, found.staff, found.decisions, found.names, decider(options))
    decisions.add(options.results, rulings)
    left = len(marking.waiting(read(options.results, options.roster).staff))
    print_lines(f"{len(rulings):,} marks taken in; {left:,} left to be marked")
    return NOT_RIGHT if left else OK


def _refuse_task(found: Whole, task: str) -> None:
    if task:
        there = {each.id: each for submission in found.machine.submissions for each in submission.tasks}
        look_up(task, there, "task", "these results")


_DESK = ("starlette", "uvicorn", "jinja2", "markdown_it", "matplotlib", "nh3")  # modules of labgrade[desk]


def desk(options: argparse.Namespace) -> int:
    """Serve the marker's page until Ctrl-C."""
    missing = [name for name in _DESK if find_spec(name) is None]
    if missing:
        message = f"the desk needs what is not installed ({', '.join(missing)}): python -m pip install 'labgrade[desk]'"
        raise UsageError(message)
    from labgrade.desk.serve import HOST, serve

    by = decider(options)

    def say_where(link: str, port: int, left: int) -> None:
        print_lines(
            f"{left:,} {'answer waits' if left == 1 else 'answers wait'} for a mark by {by}",
            "only this machine's browser opens the link below; from another machine, run there first: "
            f"ssh -L {port}:{HOST}:{port} THIS-MACHINE",
        )
        print(link, flush=True)  # noqa: T201 - in one piece, to be clicked

    if options.handed_out is not None and not options.handed_out.is_dir():
        message = f"--handed-out: there is no folder '{options.handed_out}'"
        raise UsageError(message)
    serve(options.results, options.roster, by, say_where, port=options.port, handed_out=options.handed_out)
    return OK


# ---- override --------------------------------------------------------------------------------------------------


def override(options: argparse.Namespace) -> int:
    """Decide about one check, or take a decision back."""
    found = read(options.results, options.roster)
    place, check = _find_check(found, options)
    if options.undo:
        taken, left = decisions.undo(options.results, place, by=decider(options), reason=options.reason)
        now = in_words(left) if left is not None else "labgrade's own verdict"
        print_lines(f"taken back: {in_words(taken)}", f"now holds: {now}")
        return OK
    if not options.reason.strip():
        message = "say why with --reason; the student reads it"
        raise UsageError(message)
    try:
        share = marking.parse_share(options.points, check.points)
    except marking.NoPointsError as error:
        message = f"--points: {error}"
        raise UsageError(message) from None
    machine = check.decision.machine if check.decision is not None else check.verdict
    ruling = decisions.Ruling(
        place=place,
        kind="override",
        basis=check.basis,
        worth=check.points,
        credit=share,
        reason=options.reason.strip(),
        by=decider(options),
        machine=f"{machine.outcome} {points(machine.credit * check.points)}",
    )
    decisions.add(options.results, [(ruling, found.decisions.last(place))])
    name = found.names.of(place.submission)
    worth = f"{points(share * check.points)} of {points(check.points)}"
    print_lines(f"{name} {place.task} {place.check}: {worth}; labgrade says {ruling.machine}")
    if place.submission in found.releases:
        print_lines(f"'{name}' was released before and still sees the old result; labgrade release shows the new one")
    return OK


def _find_check(found: Whole, options: argparse.Namespace) -> tuple[Place, Graded]:
    """Find the check that the options name, and the decision in force about it."""
    who = submission(found, options.student)
    task = look_up(options.task, {task.id: task for task in who.tasks}, "task", "these results")
    checks = {check.id: check for check in task.checks}
    if options.check not in checks:
        more = did_you_mean(options.check, checks) or f"; it has {', '.join(checks)}"
        message = f"'{task.id}' has no check '{options.check}'{more}"
        raise UsageError(message)
    place = Place(submission=who.name, lab=task.lab, task=task.id, check=options.check)
    return place, checks[options.check]


# ---- anonymous --------------------------------------------------------------------------------------------------


def anonymous(options: argparse.Namespace) -> int:
    """Hide names, or show them again."""
    found = read(options.results, options.roster)
    if options.off:
        pseudonyms.show_names(options.results)
        print_lines("names are shown")
        return OK
    pseudonyms.make_key(options.results)
    print_lines(
        f"{sum(each.name not in found.releases for each in found.staff.submissions):,} submissions are shown under "
        f"pseudonyms until they are released; the key is '{options.results / pseudonyms.FILE}'",
        "a name that students wrote into their work stays where it is",
    )
    return OK
