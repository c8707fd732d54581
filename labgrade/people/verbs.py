"""The commands for what people decide: `labgrade mark`, `override`, `release`, `standing`, `anonymous`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade import output
from labgrade.errors import UsageError, did_you_mean
from labgrade.people import asked, asking, decisions, marking, pseudonyms, releasing, sheet, standing, whole
from labgrade.people.decisions import Place, points, say
from labgrade.report.page import Page

if TYPE_CHECKING:
    import argparse

    from labgrade.people.whole import Whole
    from labgrade.results import Graded

OK, WAITS = 0, 1


def add_to(verbs: Any) -> None:
    """Add the commands to the parser of `labgrade`."""
    _mark(asked.results(verbs, "mark", "mark what waits for a person: the text, the rubric, the points"))
    said = "decide about a check yourself; labgrade's verdict stays beside it"
    _override(asked.results(verbs, "override", said, more=True))
    releasing.options(asked.results(verbs, "release", "let students see their results, with all that people decided"))
    found = asked.results(verbs, "standing", "what still waits for a person")
    found.set_defaults(run=show_standing)
    hide = asked.results(verbs, "anonymous", "show pseudonyms for names until results are released")
    hide.add_argument("--off", action="store_true", help="show names again")
    hide.set_defaults(run=anonymous)


def _mark(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--task", default="", metavar="ID", help="only this task")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--next", action="store_true", help="only the next one")
    how.add_argument("--export", metavar="FILE", help="write what waits as a table; `-` is stdout")
    how.add_argument("--import", dest="take", type=Path, metavar="FILE", help="take in a table that was filled in")
    asked.by(parser)
    parser.set_defaults(run=mark)


def _override(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("student", help="the submission's name, or its pseudonym")
    parser.add_argument("task", help="such as 2-1-4-macs")
    parser.add_argument("check", help="such as total, or other-models[resnet18]")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--points", metavar="N", help="how many; or `full`, `none`")
    what.add_argument("--undo", action="store_true", help="take back the last decision about it")
    parser.add_argument("--reason", default="", help="why; the student reads it")
    asked.by(parser)
    parser.set_defaults(run=override)


# ---- mark ------------------------------------------------------------------------------------------------------


def mark(options: argparse.Namespace) -> int:
    """Mark in the terminal or through a table. 0 where nothing is left to be marked, else 1."""
    if options.export:
        output.refuse_unwritable(options.export, "--export")
    found = whole.read(options.results, options.roster)
    _refuse_task(found, options.task)
    if options.take is not None:
        return _take(options, found)
    waiting = marking.waiting(found.staff, options.task)
    if found.key is not None:  # an order that tells nothing
        names = found.names
        waiting.sort(
            key=lambda each: (each.place.lab, each.place.task, each.place.check, names.of(each.place.submission))
        )
    if options.export:
        return _export(options.export, found, waiting)
    if not waiting:
        asked.say("nothing waits to be marked")
        return OK
    desk = asking.Desk(asked.console(), input, options.results, by=asked.who(options), called=found.names.of)
    desk.work(waiting[:1] if options.next else waiting, of=len(waiting))
    left = marking.waiting(whole.read(options.results, options.roster).staff, options.task)
    return WAITS if left else OK


def _export(target: str, found: Whole, waiting: list[marking.ToDecide]) -> int:
    text = sheet.render(waiting, found.decisions, found.names)
    if target == "-":
        sys.stdout.write(text)
        return OK
    try:
        Path(target).write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        message = f"'{target}' could not be written: {(error.strerror or str(error)).lower()}"
        raise UsageError(message) from error
    asked.say(f"{len(waiting):,} to be marked, in '{target}': fill in 'points' and 'comment'")
    return OK


def _take(options: argparse.Namespace, found: Whole) -> int:
    try:
        data = options.take.read_bytes()
    except OSError as error:
        message = f"'{options.take}' can't be read: {(error.strerror or str(error)).lower()}"
        raise UsageError(message) from error
    rulings = sheet.take(data, found.staff, found.decisions, found.names, asked.who(options))
    decisions.add(options.results, rulings)
    left = len(marking.waiting(whole.read(options.results, options.roster).staff))
    asked.say(f"{len(rulings):,} marks taken in; {left:,} left to be marked")
    return WAITS if left else OK


def _refuse_task(found: Whole, task: str) -> None:
    there = {each.id for submission in found.machine.submissions for each in submission.tasks}
    if task and task not in there:
        message = f"there is no task '{task}' in these results{did_you_mean(task, there)}"
        raise UsageError(message)


# ---- override --------------------------------------------------------------------------------------------------


def override(options: argparse.Namespace) -> int:
    """Decide about one check, or take a decision back."""
    found = whole.read(options.results, options.roster)
    place, check = _find(found, options)
    if options.undo:
        taken, left = decisions.undo(options.results, place, by=asked.who(options), reason=options.reason)
        now = say(left) if left is not None else "labgrade's own verdict"
        asked.say(f"taken back: {say(taken)}", f"now holds: {now}")
        return OK
    if not options.reason.strip():
        message = "say why with --reason; the student reads it"
        raise UsageError(message)
    try:
        share = marking.given(options.points, check.points)
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
        by=asked.who(options),
        machine=f"{machine.outcome} {points(machine.credit * check.points)}",
    )
    decisions.add(options.results, [(ruling, found.decisions.last(place))])
    name = found.names.of(place.submission)
    worth = f"{points(share * check.points)} of {points(check.points)}"
    asked.say(f"{name} {place.task} {place.check}: {worth}; labgrade says {ruling.machine}")
    if place.submission in found.releases:
        asked.say(f"'{name}' was released before and still sees the old result; labgrade release shows the new one")
    return OK


def _find(found: Whole, options: argparse.Namespace) -> tuple[Place, Graded]:
    """The check that is meant, with the decision that is in force."""
    who = asked.submission(found, options.student)
    tasks = {task.id: task for task in who.tasks}
    if options.task not in tasks:
        message = f"there is no task '{options.task}' in these results{did_you_mean(options.task, tasks)}"
        raise UsageError(message)
    task = tasks[options.task]
    checks = {check.id: check for check in task.checks}
    if options.check not in checks:
        more = did_you_mean(options.check, checks) or f"; it has {', '.join(checks)}"
        message = f"'{task.id}' has no check '{options.check}'{more}"
        raise UsageError(message)
    place = Place(submission=who.name, lab=task.lab, task=task.id, check=options.check)
    return place, checks[options.check]


# ---- standing, anonymous ---------------------------------------------------------------------------------------


def show_standing(options: argparse.Namespace) -> int:
    """What waits for a person. 0 where nothing does, else 1."""
    found = whole.read(options.results, options.roster)
    waits = standing.standing(found)
    page = Page(asked.console())
    for note in found.shown.notes:
        page.paragraph(note, indent=0, label="note: ")
    for text, style in standing.lines(waits):
        page.line((text, style), hang=6)
    if not waits:
        page.line(("nothing waits for a person", ""))
    return WAITS if waits else OK


def anonymous(options: argparse.Namespace) -> int:
    """Keep names back, or show them again."""
    found = whole.read(options.results, options.roster)
    if options.off:
        pseudonyms.put_aside(options.results)
        asked.say("names are shown")
        return OK
    pseudonyms.make_key(options.results)
    asked.say(
        f"{len(found.staff.submissions):,} submissions are shown under pseudonyms until they are released; the key is "
        f"'{options.results / pseudonyms.FILE}'",
        "a name that students wrote into their work stays where it is",
    )
    return OK
