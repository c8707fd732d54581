"""The report for a terminal: what was right, what was not and why, what is missing, what to do first."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from labgrade.core.points import NOT_SHOWN, final_totals, totals
from labgrade.core.results import people
from labgrade.core.text import is_own
from labgrade.reports import class_table, in_short, summary
from labgrade.reports.plain_page import Page
from labgrade.reports.summary import facts, full_reason, hint, missing_task, steps
from labgrade.verdict import PENDING, Outcome, without_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console

    from labgrade.core.points import Totals
    from labgrade.core.results import Decision, Graded, Report, SubmissionReport, TaskReport
    from labgrade.reports.summary import MissingTask
    from labgrade.verdict import Verdict

# symbol, its stand-in where the encoding lacks it, style
LOOKS = {
    Outcome.CORRECT: ("✓", "+", "green"),
    Outcome.PARTIAL: ("~", "~", "yellow"),
    Outcome.INCORRECT: ("✗", "x", "red"),
    Outcome.MISSING: ("-", "-", "magenta"),
    Outcome.CRASHED: ("!", "!", "red"),
    Outcome.TIMEOUT: ("!", "!", "red"),
    Outcome.MEMORY: ("!", "!", "red"),
    Outcome.OUTPUT: ("!", "!", "red"),
    Outcome.SKIPPED: (".", ".", "dim"),
    Outcome.MANUAL: ("?", "?", "cyan"),
    Outcome.FAULT: ("#", "#", "bold magenta"),
}
WORD = max(len(outcome) for outcome in Outcome)
NAME = 2 + 2 + WORD + 2  # where the name of a check begins
BODY = 6  # where what is said about it begins, so that it has room
_PLAIN_NAME = re.compile(r"[\w.:/()',-]+(?: [\w.:/()',-]+){0,8}")  # of a file, which may stand in a row
MOST_REMARKS = 5
LONG_REASON = 60  # characters from which a reason is worth saying only once
REPEATED = frozenset({Outcome.INCORRECT, Outcome.CRASHED})
BROKEN = frozenset({Outcome.CRASHED, Outcome.TIMEOUT, Outcome.MEMORY, Outcome.OUTPUT, Outcome.FAULT})
_NONE = Fraction(0)
Told: TypeAlias = "dict[str, tuple[str, str, tuple[str, ...]]]"  # causes, where each was given, and by which lines
ORDINARY_FACTS = frozenset({"got", "expected", "off", "allowed", "tried", "seconds"})
_MOST_SKIPPED = 3  # cases that are named where nothing was looked at
_AS_FOR = "same hint as "


def render(report: Report, *, console: Console, staff: bool) -> None:
    """Print the report. `staff` also sees the facts of each verdict; a student sees what to do first.

    What a student may not see is taken out before (`student_view`): this prints all checks of the report.
    """
    page = Page(console)
    for note in report.notes:
        page.paragraph(note, indent=0, label="note: ")
    for submission in report.submissions:
        _submission(page, submission, staff=staff)
    if len(report.submissions) > 1:
        class_table.show(page, report.submissions)


def _submission(page: Page, submission: SubmissionReport, *, staff: bool) -> None:
    total = final_totals(submission)
    heading(page, submission, total)
    page.paragraph("", indent=0, label="do first: ", own=advice(submission, total))
    said: dict[str, tuple[str, str]] = {}
    told: Told = {}
    alone, short = len(submission.tasks) == 1, False
    for task in submission.tasks:
        nothing = None if alone else missing_task(task)
        if nothing is None:
            _task(page, _without_repeated_reasons(task, said), told, staff=staff)
        else:
            _missing_task(page, task, nothing, first=not short)
        short = nothing is not None
    page.blank()
    page.rule()
    outcome_line(page, submission, Outcome.MISSING, "missing: ")
    outcome_line(page, submission, Outcome.MANUAL, "waits to be marked by a person: ")
    outcome_line(page, submission, Outcome.FAULT, "failed on our side, waits for a person: ")
    total_line(page, submission, total)


def total_line(page: Page, submission: SubmissionReport, total: Totals) -> None:
    """Print the total, with points of checks that are not shown and late deductions."""
    for what, worth in summary.not_shown(submission):
        page.line((f"+ {what}", "dim"), right=(f"{worth} points", "dim"), hang=2)
    _deductions(page, submission, total)
    page.line(("total", "bold"), right=(f"{spread(total)} points", "bold"))


def heading(page: Page, submission: SubmissionReport, total: Totals) -> None:
    """Print the submission's name, its points, and what was left out of it."""
    page.blank()
    page.line(
        ("submission ", "dim"),
        (submission.name, "bold"),
        gutter=page.gutter,
        hang=11,
        right=(f"{spread(total)} points", "bold"),
    )
    page.rule()
    if submission.members and submission.members != (submission.name,):
        page.paragraph(", ".join(people(submission.members, submission.called)), indent=2, label="of: ", theirs=True)
    if submission.handed_in:
        at, by = summary.moment(submission.handed_in), submission.handed_in_by
        page.paragraph(f"({by})" if by else "", indent=2, label="handed in: ", own=f"{at} " if by else at)
    left_out = summary.left_out(submission)
    for remark in left_out[:MOST_REMARKS]:
        page.paragraph(remark, indent=2, label="left out: ", theirs=True)
    if len(left_out) > MOST_REMARKS:
        page.say(f"and {len(left_out) - MOST_REMARKS:,} more", indent=2, label="left out: ")


def _deductions(page: Page, submission: SubmissionReport, total: Totals) -> None:
    """Print the points earned and what late rules deduct."""
    if not submission.deductions:
        return
    page.line(("earned", ""), right=(f"{spread(replace(total, deducted=_NONE, most_deducted=_NONE))} points", ""))
    for deduction in submission.deductions:
        page.line(
            ("late: ", "yellow"),
            (deduction.why, ""),
            right=(f"-{summary.points(deduction.points)} points", "yellow"),
            hang=6,
        )


def _task(page: Page, task: TaskReport, told: Told, *, staff: bool) -> None:
    page.blank()
    page.line((f"{task.id}  ", "bold"), (task.title, ""), right=(spread(totals(task.checks)), "bold"), hang=4)
    said: set[str] = set()
    for check in merged_cases(task.checks):
        check_lines(page, _without_repeated_cause(task, check, told), staff=staff, said=said)
    if not staff:
        not_shown(page, task)


def not_shown(page: Page, task: TaskReport) -> None:
    """Print what the task's hidden checks are worth."""
    if task.not_shown:
        page.line((f"  + {NOT_SHOWN}", "dim"), right=(f"{summary.points(task.not_shown)} more", "dim"))


def _missing_task(page: Page, task: TaskReport, nothing: MissingTask, *, first: bool) -> None:
    """Print a task without any answer."""
    if first:
        page.blank()
    kinds = " (bonus)" if all(check.bonus for check in task.checks) else ""
    symbol, _, style = LOOKS[Outcome.MISSING]
    page.line(
        (f"{task.id}  ", "bold"), (task.title, ""), (kinds, "dim"), right=(spread(totals(task.checks)), "bold"), hang=4
    )
    page.line(
        (f"  {symbol} {Outcome.MISSING:<{WORD}}  ", style), (nothing.sentence, "dim"), hang=NAME, gutter=page.gutter
    )


def _without_repeated_cause(task: TaskReport, check: Graded, told: Told) -> Graded:
    """Return the check without a cause that this report already gave, and without the program that shows it."""
    verdict, cause = check.verdict, hint(check.verdict)
    if not cause:
        return check
    before = next((at for known, at in told.items() if cause in known), None)
    if before is None:
        told[cause] = (task.id, check.id, verdict.lines)
        return check
    where, name, lines = before
    as_there = f"{_AS_FOR}{name if where == task.id else f'{where} {name}'}"
    short = as_there if len(as_there) < len(cause) else cause
    left = () if verdict.lines == lines else verdict.lines
    return replace(check, verdict=replace(verdict, hint=short, suggestions=(), diagnosis=None, lines=left))


def _without_repeated_reasons(task: TaskReport, said: dict[str, tuple[str, str]]) -> TaskReport:
    """The task without reasons that an earlier check gave: one broken file is mentioned once, not once a check."""
    checks = []
    for check in task.checks:
        verdict, name = check.verdict, check.id.partition("[")[0]
        reason = full_reason(verdict)
        where, earlier = said.setdefault(reason, (f"{task.id} {check.id}", f"{task.id} {name}"))
        worth_it = verdict.outcome is Outcome.CRASHED or len(reason) >= LONG_REASON
        again = verdict.outcome in REPEATED and worth_it and earlier != f"{task.id} {name}"
        if again:
            short = without_value(verdict.outcome, f"the same as for {where}")
            verdict = replace(short, credit=verdict.credit, facts=facts(verdict), notes=verdict.notes)
        checks.append(replace(check, verdict=verdict))
    return replace(task, checks=tuple(checks))


def merged_cases(checks: Iterable[Graded]) -> Iterator[Graded]:
    """The checks; neighbouring cases of a check that say the same are on one line: `other-models[resnet18, vgg11]`."""
    for (name, *_), same in itertools.groupby(checks, _what_is_said):
        cases = list(same)
        if len(cases) == 1:
            yield cases[0]
        else:
            named = [case.id.partition("[")[2].removesuffix("]") for case in cases]
            if cases[0].verdict.outcome is Outcome.SKIPPED and len(named) > _MOST_SKIPPED:
                named = [*named[: _MOST_SKIPPED - 1], f"{len(named) - _MOST_SKIPPED + 1} more"]
            names = ", ".join(named)
            points, got = sum((case.points for case in cases), _NONE), sum((case.earned for case in cases), _NONE)
            yield replace(cases[0], id=f"{name}[{names}]", points=points, earned=got)


def _what_is_said(check: Graded) -> tuple[str, ...]:
    verdict = check.verdict
    for_staff = () if verdict.outcome is Outcome.CORRECT else (str(sorted(facts(verdict).items())),)
    return (
        check.id.partition("[")[0],
        verdict.outcome,
        full_reason(verdict, bonus=check.bonus),
        hint(verdict),
        check.answer_from,
        *verdict.notes,
        *for_staff,
    )


def check_lines(page: Page, check: Graded, *, staff: bool, said: set[str]) -> None:
    """One check. `said`: the notes of this task that were shown before, and need not be again."""
    verdict = check.verdict
    sign, style = mark(page, check)
    kinds = [word for word, is_so in (("bonus", check.bonus), ("hidden", check.hidden)) if is_so]
    helps, below = hint(verdict), [*in_short.lines(verdict.lines), *verdict.picture]
    beside = helps if helps.startswith(_AS_FOR) and verdict.reason else ""
    helps = "" if beside else helps
    reason = in_short.reason(summary.reason(verdict, bonus=check.bonus), check.answer_from, beside)
    right = verdict.outcome is Outcome.CORRECT  # else a file's name might say so
    short = _PLAIN_NAME.fullmatch(check.answer_from) is not None  # so that it may stand in the row
    page.line(
        (sign, style),
        (check.id, ""),
        (f" ({', '.join(kinds)})" if kinds else "", "dim"),
        (f"  from: {'' if right else page.gutter}{check.answer_from}" if short else "", "dim"),
        right=(
            f"{'?' if verdict.outcome in PENDING else summary.points(check.earned)} / {summary.points(check.points)}",
            style,
        ),
        hang=NAME,
        gutter=page.gutter,
    )
    if reason:  # what is added to the verdict's own is the task's
        _quoted(page, reason, own=is_own(verdict.reason) or not verdict.reason)
    if below:
        page.paragraph("\n".join(below), indent=BODY)
    if helps:  # what small networks tell of the function has no word of a student's
        _quoted(page, helps, label="hint: ", own=not (verdict.hint or verdict.suggestions))
    for note in verdict.notes:
        if note not in said:
            page.paragraph(note, indent=BODY, label="note: ")
    said.update(verdict.notes)
    if staff and check.decision is not None:
        _decided(page, check.decision)
    if check.answer_from and not short:
        page.paragraph(check.answer_from, indent=BODY, label="from: ", style="dim", theirs=True)
    if staff:
        _facts(page, verdict)


def _decided(page: Page, decision: Decision) -> None:
    own = f"{decision.machine.outcome}: {full_reason(decision.machine)}"
    page.paragraph(f"by {decision.by}, {decision.at}", indent=BODY, label="decided: ", style="dim")
    page.paragraph(own, indent=BODY, label="labgrade says: ", style="dim")


def mark(page: Page, check: Graded) -> tuple[str, str]:
    """How a check ended, as it stands at the left of its line, and its style."""
    outcome = check.verdict.outcome
    symbol, plain, style = LOOKS[outcome]
    return f"  {symbol if page.can_show(symbol) else plain} {outcome:<{WORD}}  ", style


def _quoted(page: Page, text: str, *, own: bool, label: str = "") -> None:
    write = page.say if own else page.paragraph
    write(text, indent=BODY, label=label)


def _facts(page: Page, verdict: Verdict) -> None:
    """What staff see: what is expected and the like on one line where the answer was not right, anything else below."""
    found = facts(verdict)
    ordinary: dict[str, list[str]] = {}
    for key, fact in [*found.items()]:
        name, _, of = key.partition(" ")
        if name in ORDINARY_FACTS and (not of or "(" in of):
            del found[key]
            if verdict.outcome is not Outcome.CORRECT and not _is_redundant(name, fact, verdict):
                ordinary.setdefault(of, []).append(f"{name} {fact}")
    for of, parts in ordinary.items():
        said = "; ".join(parts)
        page.paragraph(f"{of}: {said}" if of else said, indent=BODY, label="facts: ", style="dim")
    for key, fact in found.items():
        label, said = ("", f"{key}: {fact}") if "(" in key else (f"{key}: ", fact)  # a row may have a student's name
        page.paragraph(said, indent=BODY, label=label, style="dim")


def _is_redundant(name: str, fact: str, verdict: Verdict) -> bool:
    """Return whether a fact repeats the reason, follows from it, or allows 0."""
    if name in ("expected", "off"):
        return "; expected: " in verdict.reason
    return (name == "got" and f"got {fact}" in verdict.reason) or (name == "allowed" and fact == "0")


def outcome_line(page: Page, submission: SubmissionReport, outcome: Outcome, label: str) -> None:
    """Print one line with all checks of an outcome; a missing bonus is left out."""
    tasks = []
    for task in submission.tasks:
        ended = [check for check in task.checks if check.verdict.outcome is outcome]
        names = [check.id for check in merged_cases(ended) if not (check.bonus and outcome is Outcome.MISSING)]
        whole = outcome is Outcome.MISSING and missing_task(task) is not None
        if names:
            tasks.append(task.id if whole else f"{task.id} ({', '.join(names)})")
    if tasks:
        page.line((label, LOOKS[outcome][2]), ("; ".join(tasks), ""), hang=2)


def advice(submission: SubmissionReport, total: Totals) -> str:
    """What to do first, as the student's page has it: mend what is wrong, then hand in what is missing."""
    if not submission.tasks:
        return "nothing, no task was graded"
    done = "nothing, you are done" if total.pending == 0 else "nothing, the rest waits for a person"
    return first_step(submission) or done


def first_step(submission: SubmissionReport) -> str:
    """Which checks to mend, or to hand in something for, first; nothing where all that counts is done."""
    first = next(iter(steps(submission)), None)
    if first is None:
        return ""
    names = ", ".join(check.id for check in first.checks)
    return f"{first.task.id} {names}, {summary.worth_of(first)}"


def spread(total: Totals) -> str:
    """`86.4 / 100`, or `80 to 86.4 / 100` while something is pending."""
    low, high = summary.points(total.final), summary.points(total.final_at_most)
    return f"{low if low == high else f'{low} to {high}'} / {summary.points(total.points)}"
