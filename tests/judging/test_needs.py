"""What needs another check: the rule itself, and that deciding afterwards comes to the same as deciding before."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import pytest

from labgrade.core import points
from labgrade.core.results import Report, Submission, SubmissionReport
from labgrade.core.task import Check, Limits, Task
from labgrade.judging.graded_items import Judged, graded_so_far
from labgrade.judging.needs import AGAIN, NeedsGate, resolve
from labgrade.reports.summary import reason
from labgrade.review.apply import NEXT, RUN, credits_of, with_decisions
from labgrade.review.decisions import Decisions, Place, Ruling
from labgrade.run.task import TaskGrading
from labgrade.verdict import PENDING, Outcome, correct, incorrect, without_value

MANUAL = without_value(Outcome.MANUAL, "waits to be marked by a person")
FAULT = without_value(Outcome.FAULT, "labgrade failed here", fault="boom")
RIGHT, WRONG = correct("right"), incorrect("wrong")
WHO = Submission(name="ann", folder=Path("ann"), files=())


class Machine:
    """In place of a grader, and of the book: its own verdicts are those that it was made with."""

    def __init__(self, own):
        self.own, self.judged = own, []
        self.reader = self.course = self
        self.key = b""  # of the course, by which variants are dealt

    def expect(self, *_):
        pass

    def digest(self, _):
        return "files:1"

    def graded(self, item, _):
        self.judged.append(item.id)
        return graded_so_far(item, Judged(verdict=self.own[item.id], basis="files:1"))

    def enter(self, *_):
        pass


def task(needs, worth=2):
    checks = tuple(
        Check(id=name, points=Fraction(worth), answer="x", needs=tuple(wanted)) for name, wanted in needs.items()
    )
    whole = Fraction(worth * len(needs))
    return Task(
        lab="lab",
        id="task",
        title="A task",
        statement="?",
        points=whole,
        subject=None,
        answers={},
        checks=checks,
        limits=Limits(),
        path=Path("task.yaml"),
    )


def graded(needs, own, decisions):
    """The report of a run that knows these decisions, with them; and which checks it judged."""
    machine = Machine(own)
    run = TaskGrading(machine, task(needs), WHO, machine, decided=credits_of(decisions, "ann", "lab", "task")).report()
    return Report(submissions=(SubmissionReport(name="ann", tasks=(run,)),)), machine.judged


def by_name(report):
    (each,) = report.submissions[0].tasks
    return {check.id: check for check in each.checks}


def rulings(shares):
    return Decisions(
        Ruling(
            place=Place(submission="ann", lab="lab", task="task", check=name),
            kind="override",
            basis="files:1",
            worth=Fraction(2),
            credit=credit,
            reason="see mail",
            by="ta",
            machine="",
            at="2026-11-21T10:00:00+00:00",
            number=number,
        )
        for number, (name, credit) in enumerate(shares.items(), 1)
    )


def test_what_failed_closes_a_check_although_another_need_waits():
    needs = {"a": (), "b": (), "c": ("a", "b")}
    report, judged = graded(needs, {"a": WRONG, "b": MANUAL, "c": RIGHT}, Decisions())
    closed = by_name(report)["c"].verdict
    assert (closed.outcome, reason(closed)) == (Outcome.SKIPPED, "needs full credit for 'a' first")
    assert "c" not in judged
    assert points.totals(by_name(report).values()).at_most == 2


def test_what_needs_a_waiting_check_that_is_wrong_already_is_closed():
    needs = {"a": (), "b": ("a",), "c": ("b",)}
    report, _ = graded(needs, {"a": MANUAL, "b": WRONG, "c": RIGHT}, Decisions())
    found = by_name(report)
    assert [found[name].verdict.outcome for name in "abc"] == [Outcome.MANUAL, Outcome.MANUAL, Outcome.SKIPPED]
    assert reason(found["c"].verdict) == "needs full credit for 'b' first"


@pytest.mark.parametrize(
    ("own", "decision", "gate"),
    [
        (RIGHT, None, NeedsGate()),
        (RIGHT, Fraction(1, 2), NeedsGate()),  # a decision closes nothing that labgrade found right
        (FAULT, None, NeedsGate()),
        (WRONG, Fraction(1), NeedsGate()),
        (WRONG, None, NeedsGate(failed=("a",))),
        (WRONG, AGAIN, NeedsGate(waits=("a",))),
        (MANUAL, None, NeedsGate(waits=("a",))),
        (MANUAL, Fraction(1, 2), NeedsGate(failed=("a",))),
        (None, None, NeedsGate(waits=("a",))),  # opened since, and not judged yet
    ],
)
def test_one_need(own, decision, gate):
    verdicts = {"a": own} if own is not None else {}
    given = {"a": decision} if decision is not None else {}
    assert resolve({"a": (), "b": ("a",)}, verdicts, given)["b"] == gate


def test_every_case_of_a_need_counts_and_one_that_is_not_there_asks_for_nothing():
    cases = {"a[x]": (), "a[y]": (), "b": ("a", "gone")}
    assert resolve(cases, {"a[x]": RIGHT, "a[y]": MANUAL}, {})["b"] == NeedsGate(waits=("a",))
    assert resolve(cases, {"a[x]": WRONG, "a[y]": MANUAL}, {})["b"] == NeedsGate(failed=("a",))
    assert resolve(cases, {"a[x]": RIGHT, "a[y]": RIGHT}, {})["b"].verdict() is None


def classes(count):
    """Checks that need earlier ones, in any order of the spec; what labgrade finds, and what a person says of some."""
    draw = random.Random(7)  # noqa: S311 - the same ones each time
    for _ in range(count):
        names = [f"c{number}" for number in range(draw.randint(2, 6))]
        needs = {
            name: tuple(draw.sample(names[:place], draw.randint(0, min(place, 3)))) for place, name in enumerate(names)
        }
        own = {name: draw.choice([RIGHT, WRONG, MANUAL, FAULT]) for name in names}
        decided_too = draw.sample(names, draw.randint(0, min(4, len(names))))
        shares = {name: draw.choice([Fraction(0), Fraction(1, 2), Fraction(1)]) for name in decided_too}
        yield {name: needs[name] for name in draw.sample(names, len(names))}, own, shares


def said(check):
    return check.verdict, check.earned, check.once_met, check.decision


@pytest.mark.slow
def test_deciding_after_grading_comes_to_the_same_as_grading_what_was_decided():
    for needs, own, shares in classes(400):
        either_way(needs, own, shares)


def either_way(needs, own, shares):
    decisions = rulings(shares)
    first, judged = graded(needs, own, Decisions())
    again, _ = graded(needs, own, decisions)
    after, before = by_name(with_decisions(first, decisions)), by_name(with_decisions(again, decisions))
    for name, check in after.items():
        if check.verdict.facts.get(NEXT) == RUN:  # it was skipped: only a run can say what it comes to
            assert name not in judged
        elif name in judged:
            assert said(check) == said(before[name])
        else:  # which of several needs failed, too, may wait for the next run
            assert (check.verdict.outcome, check.earned) == (before[name].verdict.outcome, before[name].earned)


def reach(check):
    """What a check that waits may still earn; what labgrade found meanwhile is not a person's to change."""
    if check.verdict.outcome not in PENDING:
        return Fraction(0)
    sure = check.once_met is not None and check.once_met.outcome not in PENDING
    return check.points * check.once_met.credit if sure else check.points


def test_marks_alone_can_reach_what_is_said_to_be_the_most():
    """Who marks all in full, again and again as checks open, earns what was pending: no point is out of reach."""
    for needs, own, _ in classes(200):
        marked_in_full(needs, own)


def marked_in_full(needs, own):
    first, _ = graded(needs, own, Decisions())
    least = points.totals(by_name(first).values()).earned
    most = least + sum(map(reach, by_name(first).values()))
    shares: dict[str, Fraction] = {}
    while True:
        now = by_name(with_decisions(first, rulings(shares)))
        found = [name for name, each in now.items() if each.verdict.outcome in PENDING and each.once_met is None]
        if not found:
            break
        shares |= dict.fromkeys(found, Fraction(1))
    assert points.totals(now.values()).earned == most
