"""What every report says in the same words: points, reasons, what is missing, and what to do first."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.core.points import NOT_SHOWN
from labgrade.values import show
from labgrade.verdict import OF_TOOL, PENDING, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from labgrade.core.points import Totals
    from labgrade.core.results import Graded, NotShown, SubmissionReport, TaskReport
    from labgrade.verdict import ComparedNumber, Diagnosis, Suggestion, Verdict


def checks(submission: SubmissionReport) -> Iterator[Graded]:
    """All checks of all tasks."""
    return (check for task in submission.tasks for check in task.checks)


def left_out(submission: SubmissionReport) -> tuple[str, ...]:
    """A sentence for everything that was handed in and does not count."""
    return (*submission.remarks, *(why for _, why in submission.others))


def counts(submission: SubmissionReport) -> Counter[Outcome]:
    """How many checks ended how: cases of a check that ended alike count once; no bonus is missed.

    So a page, a table and the report of one submission say the same numbers.
    """
    ended = {
        (task.id, check.id.partition("[")[0], check.verdict.outcome)
        for task in submission.tasks
        for check in task.checks
        if not (check.bonus and check.verdict.outcome is Outcome.MISSING)
    }
    return Counter(outcome for _, _, outcome in ended)


def moment(said: str) -> str:
    """When something was handed in, for people: `2026-11-20 23:59:00 +08:00`; what is no such moment as it is."""
    try:
        at = datetime.fromisoformat(said)
    except ValueError:
        return said
    return f"{at:%Y-%m-%d %H:%M:%S} {at.isoformat()[-6:] if at.tzinfo else ''}".rstrip()


def points(value: Fraction) -> str:
    """Points to hundredths: `86.4`."""
    return show(round(value, 2))


def worth(graded: Graded) -> str:
    """`PARTIAL 1.5 of 3`."""
    return f"{graded.verdict.outcome} {show(graded.earned)} of {show(graded.points)}"


def spread(low: Fraction, high: Fraction) -> str:
    """`86.4`, or `80 to 86.4` while something is pending."""
    return points(low) if low == high else f"{points(low)} to {points(high)}"


def not_shown(submission: SubmissionReport) -> Sequence[tuple[str, str]]:
    """Of each lab with checks that a student is not shown what they are, and what is known of their points.

    Before release that is what they are worth, and afterwards what was earned there: `10.5 / 14`.
    """
    several = len({task.lab for task in submission.tasks}) > 1
    return [
        (f"{each.lab}: {NOT_SHOWN}" if several else NOT_SHOWN, _hidden_in_words(each)) for each in submission.not_shown
    ]


def _hidden_in_words(each: NotShown) -> str:
    if each.earned is None or each.at_most is None:
        return f"{points(each.points)} more"
    got = spread(each.earned, each.at_most)
    return f"{got} / {points(each.points)}" if each.points else f"{got} as a bonus"


def of_points(total: Totals) -> str:
    """`86.4 / 100`, or `80 to 86.4 / 100`."""
    return f"{spread(total.earned, total.at_most)} / {points(total.points)}"


def reason(verdict: Verdict, *, bonus: bool = False, places: bool = True) -> str:
    """What was found, in words for the student.

    `bonus`: of a check that costs nothing where it is missing. `places`: with those that an answer was looked for in.
    """
    parts = [verdict.reason]
    if verdict.waits_for:
        named, waits = ", ".join(map(repr, verdict.waits_for)), verdict.outcome is Outcome.MANUAL
        first = f"waits for {named}, which a person has to look at first"
        parts.append(first if waits else f"needs full credit for {named} first")
    if verdict.looked_for and places:
        parts.append(f"looked for {'; '.join(verdict.looked_for)}")
    if verdict.rubric:
        lines = "; ".join(f"{float(worth):g} for {what}" for worth, what in verdict.rubric)
        parts.append(f"waits to be marked by a person: {lines}")
    free = " (a bonus: it costs nothing)" if bonus and verdict.outcome is Outcome.MISSING else ""
    return "; ".join(filter(None, parts)) + free


def full_reason(verdict: Verdict, *, bonus: bool = False) -> str:
    """The same with the lines below it, and with its picture in characters."""
    return "\n".join((reason(verdict, bonus=bonus), *verdict.lines, *verdict.picture))


def first_line(verdict: Verdict, *, bonus: bool = False) -> tuple[str, bool]:
    """The first line of what was found, and whether more stands below it; a checker may write several."""
    first, *others = reason(verdict, bonus=bonus).splitlines() or [""]
    return first, bool(others or verdict.lines)


def hint(verdict: Verdict) -> str:
    """What may help, in words for the student."""
    seen = diagnosis_in_words(verdict.diagnosis) if verdict.diagnosis else ""
    whole = " ".join(filter(None, (seen, verdict.hint)))  # what was seen ends as a sentence
    return "; ".join(filter(None, (whole, *verdict.suggestions)))


def cause(verdict: Verdict) -> str:
    """What of a hint says what is wrong, which several checks may have in common."""
    return _numbered(verdict.diagnosis.says) if verdict.diagnosis and verdict.diagnosis.says else hint(verdict)


def diagnosis_in_words(found: Diagnosis) -> str:
    """What a function does, on which evidence, and what to change, in words for the student."""
    if found.says:
        several = f"{_COUNTS[len(found.says)]} things at once: " if len(found.says) > 1 else ""
        besides = f" (Beside that it is {found.convention}, which is right, too.)" if found.convention else ""
        other = f" More mistakes, which cost nothing here: {_numbered(found.elsewhere)}" if found.elsewhere else ""
        seen = f"It is so on all {found.tried} {found.on} tried."
        if found.but:
            seen += f" On those with {_joined_words(found.but)} it is wrong in another way, too, which may "
            seen += "have the same cause: mend this first."
        if found.spared:
            seen += f" On those with {_joined_words(found.spared)} it is right all the same."
        return f"{several}{_numbered(found.says)}{besides} {seen}{other}"
    if found.wrong:
        small = "small networks" if found.on == "networks" else found.on
        where = f": on each with {', or with '.join(found.wrong_on[:_FEW])}" if found.wrong_on else ""
        apart = _joined_words([*found.but, *found.spared])
        told = f" On those without {apart} it does this: {_numbered(found.elsewhere)}" if apart else ""
        return f"Your function is wrong on {found.wrong} of {found.tried} {small}{where}.{told}"
    earlier = found.right_on or found.wrong_on  # written before it was counted on how many
    return f"Your function is wrong on some of {found.tried} {found.on}." if earlier else ""


def _numbered(says: Sequence[str]) -> str:
    return " ".join(f"({at}) {each}" if len(says) > 1 else each for at, each in enumerate(says, 1))


_COUNTS = {2: "Two", 3: "Three"}
_FEW = 3  # features of networks that a student reads; the facts have all


def _joined_words(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def facts(verdict: Verdict, *, kinds: bool = False, slips: bool = False) -> dict[str, str]:
    """What staff see of a verdict, by its names; with `kinds` on which networks a function is right, in full.

    With `slips` also those that labgrade thought of, by names of its own: these are for programs.
    """
    found = {name: text for name, text in verdict.facts.items() if name != OF_TOOL}
    if verdict.fits:
        found["fits several misconceptions"] = " / ".join(verdict.fits)
    found |= {each.name: beside_expected(each) for each in verdict.comparisons}
    if verdict.suggestion is not None:
        found["suggestion"] = suggested(verdict.suggestion)
    seen = verdict.diagnosis
    if seen and (kinds or slips):
        if len(seen.wrong_on) > _FEW:
            found["wrong on"] = ", ".join(seen.wrong_on)
        if slips and seen.fits:
            found["may be"] = " / ".join(seen.fits)
        if slips and seen.refuted:
            found["is not"] = ", ".join(seen.refuted)
    return found | ({"remarks": "; ".join(verdict.remarks)} if verdict.remarks else {})


def suggested(suggestion: Suggestion) -> str:
    """What labgrade would say, for staff: `CORRECT, 100 % (labelled value): 5 stands on report.md:3: ...`."""
    share = f"{float(100 * suggestion.credit):g} %"
    return f"{suggestion.outcome}, {share} ({suggestion.kind}): {suggestion.why}"


def beside_expected(number: ComparedNumber) -> str:
    """A number beside the expected one."""
    return f"got {number.got}; expected {number.expected}"


_PLACES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingTask:
    """A task of which nothing was handed in: the first reason, where all was looked for, what may help; each once."""

    reason: str
    places: tuple[str, ...]
    hints: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """In a sentence, with the best places: the others are in each check's own reason."""
        more = len(self.places) - _PLACES
        others = f" or {more} other {'place' if more == 1 else 'places'}" if more > 0 else ""
        looked = f"; looked for {', '.join(self.places[:_PLACES])}{others}" if self.places else ""
        return "; ".join((f"{self.reason}{looked}", *self.hints))


def missing_task(task: TaskReport) -> MissingTask | None:
    """What is said of a task of which nothing was handed in; None where there was something to judge."""
    missing = [check.verdict for check in task.checks if check.verdict.outcome is Outcome.MISSING]
    if not missing or any(
        check.verdict.outcome not in (Outcome.MISSING, Outcome.SKIPPED) or check.decision for check in task.checks
    ):
        return None
    return MissingTask(
        reason=missing[0].reason,
        places=_each_once(place for verdict in missing for place in verdict.looked_for),
        hints=_each_once(each for verdict in missing for each in (verdict.hint, *verdict.suggestions)),
    )


def _each_once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(filter(None, dict.fromkeys(texts)))


_LONGEST = 240  # characters of what is said about a step
_SETTLED = PENDING | {Outcome.SKIPPED}
_NO_STEP = _SETTLED | {Outcome.CORRECT, Outcome.MISSING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Some checks of a task with one thing to do about them. `points` is what they could still earn.

    `missing`: nothing was handed in for them, and `says` may then be empty. `bonus`: they are bonus checks.
    """

    task: TaskReport
    checks: tuple[Graded, ...]
    points: Fraction
    says: str
    missing: bool
    bonus: bool = False

    @property
    def lost(self) -> Fraction:
        """What the most expensive of its checks costs."""
        return max(check.points - check.earned for check in self.checks)


def steps(submission: SubmissionReport) -> Sequence[Step]:
    """The steps in the order in which to take them: what is wrong, the most points first, then what is missing.

    Bonus checks that are wrong come last: cases that are not shown may be wrong for the same reason. A missing bonus is
    no step, nor is what waits for other checks.
    """
    found = []
    for task in submission.tasks:
        open_checks = [
            check
            for check in task.checks
            if not check.bonus and check.verdict.outcome not in _SETTLED and check.earned < check.points
        ]
        nothing = missing_task(task)
        if nothing is not None and open_checks:
            found.append(_step(task, open_checks, "; ".join(nothing.hints), missing=True))
            continue
        for (missing, says), same in itertools.groupby(sorted(open_checks, key=_comment_or_hint), key=_comment_or_hint):
            found.append(_step(task, list(same), says, missing=missing))
        wrong = [check for check in task.checks if check.bonus and check.verdict.outcome not in _NO_STEP]
        for (_, says), same in itertools.groupby(sorted(wrong, key=_comment_or_hint), key=_comment_or_hint):
            found.append(replace(_step(task, list(same), says, missing=False), bonus=True))
    return sorted(found, key=lambda step: (step.bonus, step.missing, Fraction(0) if step.missing else -step.lost))


def worth_of(step: Step) -> str:
    """What a step may still earn: `worth 4 more points`, or that it is a bonus."""
    said = f"{points(step.points)} more {'point' if step.points == 1 else 'points'}"
    return f"worth {said}" if not step.bonus else f"a bonus of {said}" if step.points else "a bonus"


def _step(task: TaskReport, checks: Sequence[Graded], says: str, *, missing: bool) -> Step:
    points = sum((check.points - check.earned for check in checks), Fraction(0))
    return Step(task=task, checks=tuple(checks), points=points, says=says, missing=missing)


def _comment_or_hint(check: Graded) -> tuple[bool, str]:
    """What a person wrote, or a hint; else of what is missing nothing, and what the verdict says."""
    verdict = check.verdict
    missing = verdict.outcome is Outcome.MISSING
    if check.decision is not None and check.decision.reason:
        return missing, _cut(check.decision.reason)
    return missing, hint(verdict) or ("" if missing else _short(verdict))


def _short(verdict: Verdict) -> str:
    """The reason without what stands below it, and cut: the check itself has all of it."""
    first, more = first_line(verdict)
    return f"{first[:_LONGEST]}..." if more else _cut(first)


def _cut(text: str) -> str:
    return f"{text[:_LONGEST]}..." if len(text) > _LONGEST else text
