"""A class graded by the machine, for the tests of what people decide about it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from labgrade.core.points import earned
from labgrade.core.results import Graded, MarkingText, Report, SubmissionReport, TaskReport
from labgrade.verdict import Outcome, Verdict, correct, incorrect, partial, without_value

RUBRIC = ((Fraction(3), "names the bottleneck"), (Fraction(1), "gives a number"))
FAULT = without_value(Outcome.FAULT, "labgrade failed here, not you", fault="KeyError: 'conv1'")


def graded(name: str, points: int | str, verdict: Verdict, **more: object) -> Graded:
    worth = Fraction(points)
    more.setdefault("basis", "files:1")
    return Graded(id=name, points=worth, earned=earned(worth, verdict.credit), verdict=verdict, **more)


def essay(name: str = "essay", text: str = "because of memory", *, basis: str = "", **more: object) -> Graded:
    """A check of 4 points that waits to be marked by its rubric."""
    waits = without_value(Outcome.MANUAL, "waits to be marked by a person: 3 for names the bottleneck")
    own = basis or f"text:{hash(text)}"
    return graded(
        name, 4, waits, basis=own, to_mark=MarkingText(rubric=RUBRIC, text=text), answer_from="report.md:7", **more
    )


def waits_for(name: str, points: int | str, need: str, once_met: Verdict, **more: object) -> Graded:
    """A check that waits for a person's look at another one, and what labgrade judged of it meanwhile."""
    verdict = replace(without_value(Outcome.MANUAL, ""), waits_for=(need,))
    return graded(name, points, verdict, needs=(need,), once_met=once_met, **more)


def task(*checks: Graded, name: str = "macs", lab: str = "lab2") -> TaskReport:
    points = sum((check.points for check in checks if not check.bonus), Fraction(0))
    return TaskReport(lab=lab, id=name, title="MACs", points=points, checks=checks)


def submission(name: str, *checks: Graded, **more: object) -> SubmissionReport:
    return SubmissionReport(name=name, tasks=(task(*checks),), **more)


def student(name: str = "ann", text: str = "because of memory", **more: object) -> SubmissionReport:
    """One of everything that people look at."""
    return submission(
        name,
        graded("total", 10, partial(Fraction(3, 5), "got 9 % less than expected", hint="look at ceil_mode", got="5")),
        essay(text=text),
        waits_for("depends", 2, "essay", correct("right", expected="57")),
        graded("broken", 3, FAULT),
        graded("secret", 5, incorrect("a secret subject fails", expected="57"), hidden=True),
        **more,
    )


def report(*submissions: SubmissionReport) -> Report:
    return Report(submissions=submissions)


CLASS = report(student("ann"), student("bob", "because of compute"), student("王小明", "=1+1 is why"))
