"""The report with decisions in it: whose verdict counts, what is asked again, and what becomes of what needs it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from helpers.class_sample import CLASS, RUBRIC, essay, graded, report, student, submission, waits_for

from labgrade.core import points, student_view
from labgrade.core.results import MarkingText
from labgrade.reports.summary import reason
from labgrade.review.apply import EARLIER, credits_of, with_decisions
from labgrade.review.decisions import Decisions, Place, RubricLine, Ruling
from labgrade.verdict import Outcome, correct, incorrect, without_value


def skipped_for(need):
    return replace(without_value(Outcome.SKIPPED, ""), waits_for=(need,))


def ruling(graded_check, credit, who="ann", number=1, **more):
    place = Place(submission=who, lab="lab2", task="macs", check=graded_check.id)
    given = {"kind": "override", "basis": graded_check.basis, "worth": graded_check.points, "reason": "see mail"}
    made = {"by": "ta", "machine": "", "at": "2026-11-21T10:00:00+00:00"}
    return Ruling(place=place, credit=Fraction(credit), number=number, **{**given, **made, **more})


def checks(whole, who="ann"):
    (found,) = [each for each in whole.submissions if each.name == who]
    return {check.id: check for task in found.tasks for check in task.checks}


def after(one, *rulings):
    """The checks of a submission once these were decided."""
    return checks(with_decisions(report(one), Decisions(rulings)))


MARK = tuple(RubricLine(what=what, worth=worth, points=worth) for worth, what in RUBRIC)


def test_without_decisions_nothing_changes():
    assert with_decisions(CLASS, Decisions()) == CLASS
    elsewhere = ruling(checks(CLASS)["total"], 1, who="nobody")
    assert with_decisions(CLASS, Decisions([elsewhere])) == CLASS


def test_an_override_counts_and_the_machine_stands_beside_it():
    machine = checks(CLASS)["total"]
    found = after(student(), ruling(machine, "7/10"))
    total = found["total"]
    assert (total.verdict.outcome, total.earned, total.points) == (Outcome.PARTIAL, 7, 10)
    assert total.verdict.reason == "a person gave 7 of 10: see mail"
    assert total.verdict.hint == "look at ceil_mode"  # some of it is still wrong
    assert total.decision.machine == machine.verdict
    assert (total.decision.by, total.decision.reason) == ("ta", "see mail")
    assert {name: check for name, check in found.items() if name != "total"} == {
        name: check for name, check in checks(CLASS).items() if name != "total"
    }
    only_ann = with_decisions(CLASS, Decisions([ruling(machine, "7/10")]))
    assert only_ann.submissions[1:] == CLASS.submissions[1:]


@pytest.mark.parametrize(("credit", "outcome"), [("1", "CORRECT"), ("0", "INCORRECT"), ("1/3", "PARTIAL")])
def test_points_give_the_outcome(credit, outcome):
    total = after(student(), ruling(checks(CLASS)["total"], credit))["total"]
    assert total.verdict.outcome == outcome
    assert total.earned == round(Fraction(credit) * 10, 2)
    assert bool(total.verdict.hint) == (credit != "1")


def test_a_fault_is_settled_by_a_person():
    assert points.totals(checks(CLASS).values()).pending == 3
    found = after(student(), ruling(checks(CLASS)["broken"], "1/2"))
    assert found["broken"].earned == Fraction(3, 2)
    assert found["broken"].decision.machine.outcome is Outcome.FAULT
    assert points.totals(found.values()).pending == 2


def test_a_mark_says_what_was_given_for_what():
    half = (replace(MARK[0], points=Fraction(2)), replace(MARK[1], points=Fraction(0)))
    mark = ruling(checks(CLASS)["essay"], "1/2", kind="mark", lines=half, reason="say why")
    found = after(student(), mark)
    said = "a person gave 2 of 3 for names the bottleneck; 0 of 1 for gives a number: say why"
    assert found["essay"].verdict.reason == said
    assert found["essay"].earned == 2


def test_what_needs_a_mark_is_settled_by_it():
    essay_check = checks(CLASS)["essay"]
    full = after(student(), ruling(essay_check, 1, kind="mark", lines=MARK))
    assert (full["depends"].verdict, full["depends"].earned) == (correct("right", expected="57"), 2)
    assert full["depends"].once_met is None
    partly = after(student(), ruling(essay_check, "3/4", kind="mark"))
    assert partly["depends"].verdict.outcome is Outcome.SKIPPED
    assert reason(partly["depends"].verdict) == "needs full credit for 'essay' first"
    assert (partly["depends"].earned, partly["depends"].once_met) == (0, None)
    other = after(student(), ruling(checks(CLASS)["total"], 1))
    assert other["depends"] == checks(CLASS)["depends"]  # nothing that it needs was decided


def test_needs_are_settled_in_chains_whatever_their_order():
    last = waits_for("last", 1, "middle", correct("yes"))
    middle = waits_for("middle", 1, "essay", correct("yes"))
    chain = submission("ann", last, middle, essay())
    full = after(chain, ruling(essay(), 1))
    assert [full[name].verdict.outcome for name in ("last", "middle")] == [Outcome.CORRECT] * 2
    none = after(chain, ruling(essay(), 0))
    assert [full_.verdict.outcome for full_ in (none["last"], none["middle"])] == [Outcome.SKIPPED] * 2
    wrong = submission("ann", last, replace(middle, once_met=incorrect("no")), essay())
    found = after(wrong, ruling(essay(), 1))
    assert [found[name].verdict.outcome for name in ("last", "middle")] == [Outcome.SKIPPED, Outcome.INCORRECT]


def test_what_needs_two_waits_for_both_and_fails_with_one():
    other = essay("other", "more")
    both = replace(waits_for("both", 2, "essay", correct("yes")), needs=("essay", "other"))
    one = submission("ann", essay(), other, both)
    waits = after(one, ruling(essay(), 1))["both"]
    assert waits == replace(both, verdict=waits.verdict)
    assert (waits.verdict.outcome, waits.verdict.waits_for) == (Outcome.MANUAL, ("other",))
    assert after(one, ruling(essay(), 0))["both"].verdict.outcome is Outcome.SKIPPED
    assert after(one, ruling(essay(), 1), ruling(other, 1, number=2))["both"].earned == 2


def test_cases_of_a_need_all_count():
    cases = [graded(f"cases[{name}]", 1, without_value(Outcome.MANUAL, "look")) for name in ("a", "b")]
    one = submission("ann", *cases, waits_for("after", 1, "cases", correct("yes")))
    half = after(one, ruling(cases[0], 1))
    assert half["after"].verdict.outcome is Outcome.MANUAL
    assert after(one, *(ruling(case, 1, number=n) for n, case in enumerate(cases)))["after"].earned == 1


def test_what_was_skipped_is_graded_by_the_next_run_once_a_person_opens_it():
    need = graded("total", 10, incorrect("no"))
    skipped = graded("next", 2, skipped_for("total"), needs=("total",))
    one = submission("ann", need, skipped)
    opened = after(one, ruling(need, 1))["next"]
    assert opened.verdict.outcome is Outcome.MANUAL
    assert "'total'" in opened.verdict.reason
    assert "graded by the next run" in opened.verdict.reason
    assert after(one, ruling(need, "1/2"))["next"] == skipped


def test_what_a_mark_closed_is_open_again_once_it_is_taken_back():
    skipped = graded("after", 2, skipped_for("essay"), needs=("essay",))
    one = submission("ann", essay(), skipped)  # as the next run left it after a mark of 3 of 4
    assert after(one, ruling(essay(), "3/4"))["after"] == skipped
    back = after(one)["after"]
    assert (back.verdict.outcome, back.verdict.facts) == (Outcome.MANUAL, {"next": "labgrade grade"})
    assert "waits for 'essay'" in reason(back.verdict)
    assert after(one, ruling(essay(), 1))["after"].verdict.outcome is Outcome.MANUAL
    for need in (incorrect("no"), without_value(Outcome.MISSING, "no")):
        assert after(submission("ann", graded("essay", 4, need), skipped))["after"] == skipped


def test_no_run_opens_what_was_skipped_for_a_check_whose_decision_holds_no_longer():
    need = graded("total", 10, replace(incorrect("no"), outcome=Outcome.PARTIAL))
    skipped = graded("next", 2, skipped_for("total"), needs=("total",))
    later = submission("ann", replace(need, basis="files:2"), skipped)
    waits = after(later, ruling(replace(need, basis="files:1"), "1/2"))["next"]
    assert (waits.verdict.outcome, waits.verdict.facts) == (Outcome.MANUAL, {"next": "labgrade mark"})
    assert "waits for 'total'" in reason(waits.verdict)


def test_what_needs_a_check_that_is_not_there_stays_as_it_is():
    alone = graded("next", 2, without_value(Outcome.SKIPPED, "needs 'gone'"), needs=("gone",))
    assert after(submission("ann", alone))["next"] == alone


def test_a_decision_can_not_close_what_labgrade_found_right():
    need, dependent = graded("total", 10, correct()), graded("next", 2, correct(), needs=("total",))
    found = after(submission("ann", need, dependent), ruling(need, "9/10", reason="style"))
    assert found["total"].earned == 9
    assert found["next"] == dependent
    both = replace(waits_for("both", 2, "essay", correct("yes")), needs=("total", "essay"))
    lowered = ruling(need, "9/10", reason="style")
    assert after(submission("ann", need, essay(), both), lowered, ruling(essay(), 1, number=2))["both"].earned == 2


@pytest.mark.parametrize(
    ("now", "why"),
    [
        ({"basis": "text:other"}, "the text changed since"),
        ({"basis": "files:other"}, "what was handed in changed since"),
        ({"points": Fraction(8)}, "the check was worth 4 then, and is worth 8 now"),
        (
            {"to_mark": MarkingText(rubric=((Fraction(3), "names it"), (Fraction(1), "gives a number")))},
            "the rubric changed",
        ),
    ],
)
def test_a_mark_on_what_changed_since_is_asked_again_and_not_lost(now, why):
    mark = ruling(essay(), "3/4", kind="mark", lines=MARK)
    found = after(submission("ann", replace(essay(), **now)), mark)["essay"]
    assert found.verdict.outcome is Outcome.MANUAL
    assert found.earned == 0
    assert why in found.verdict.reason
    assert found.verdict.facts[EARLIER] == "3 of 4 by ta, 2026-11-21T10:00:00+00:00: see mail"
    assert found.decision is None
    seen = student_view.for_student(report(submission("ann", found)))
    assert "ta" not in seen.submissions[0].tasks[0].checks[0].verdict.reason
    assert after(submission("ann", essay()), mark)["essay"].earned == 3


def test_an_override_of_what_changed_since_is_no_silent_zero():
    then, now = graded("total", 10, incorrect("no")), graded("total", 10, incorrect("not this"), basis="files:2")
    found = after(submission("ann", now), ruling(then, 1))["total"]
    assert found.verdict.outcome is Outcome.MANUAL
    assert found.verdict.facts["machine"] == "INCORRECT: not this"
    faulty = graded("total", 10, without_value(Outcome.FAULT, "ours", fault="boom"), basis="files:2")
    still = after(submission("ann", faulty), ruling(then, 1))["total"]
    assert still.verdict.outcome is Outcome.FAULT
    assert set(still.verdict.facts) == {"fault", EARLIER}


def test_a_verdict_computed_again_leaves_decisions_in_force():
    then, now = graded("total", 10, incorrect("no")), graded("total", 10, correct("we were wrong"))
    found = after(submission("ann", now), ruling(then, "1/2"))["total"]
    assert (found.earned, found.decision.machine) == (5, now.verdict)


def test_the_next_run_is_told_what_still_holds():
    ask = credits_of(Decisions([ruling(essay(), "3/4")]), "ann", "lab2", "macs")
    assert ask(essay()) == Fraction(3, 4)
    assert ask(replace(essay(), basis="text:other")) is None
    assert ask(graded("total", 10, correct())) is None
    assert credits_of(Decisions([ruling(essay(), 1)]), "bob", "lab2", "macs")(essay()) is None


def test_a_student_sees_the_points_and_the_reason_and_neither_who_nor_the_machine():
    rulings = [ruling(checks(CLASS)["total"], "7/10"), ruling(checks(CLASS)["secret"], 1, number=2)]
    seen = student_view.for_student(with_decisions(report(student()), Decisions(rulings)))
    total = checks(seen)["total"]
    assert (total.earned, total.verdict.reason) == (7, "a person gave 7 of 10: see mail")
    assert total.decision.by == student_view.STAFF
    assert "got 9 % less" not in repr(seen)
    assert "57" not in repr(seen)  # nor what will be, once a person has marked
    assert "secret" not in checks(seen)
    assert all(check.to_mark is None and check.once_met is None for check in checks(seen).values())
