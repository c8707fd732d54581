"""What a class tells staff to do: who is without a point, what waits, which mistake goes through tasks; and why."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from labgrade.core.results import Report, SubmissionReport
from labgrade.reports import figures, summary
from labgrade.verdict import Diagnosis, Outcome, correct, incorrect, partial, without_value
from tests.reports.sample import CLASS, graded, task

HINT = "you counted twice"
MISSING = without_value(Outcome.MISSING, "nothing called total")


def student(name, *verdicts, points=5, **more):
    checks = [graded(f"c{n}", points + n, verdict, **more) for n, verdict in enumerate(verdicts)]
    return SubmissionReport(name=name, tasks=(task("t", "T", *checks),))


def test_who_is_without_a_point_is_told_by_the_reason_that_costs_most():
    crashed = without_value(Outcome.CRASHED, "KeyError: 'x'\nline 3")
    report = Report(
        submissions=(
            student("none", MISSING, MISSING),
            student("too", MISSING, MISSING),
            student("tried", incorrect("too small"), crashed, MISSING),
            student("some", incorrect("no"), partial(Fraction(1, 2), "half")),
            student("waits", MISSING, without_value(Outcome.MANUAL, "a text")),
            student("fault", MISSING, without_value(Outcome.FAULT, "ours")),
            student("bonus", MISSING, bonus=True),
        )
    )
    first, second = figures.without_points(report)
    assert (first.names, first.what) == (("none", "too"), "nothing called total")
    assert (second.names, second.what, second.place[2]) == (("tried",), "CRASHED: KeyError: 'x' (6 points)", "c1")


def test_one_cause_of_many_checks_is_told_with_all_that_it_costs():
    blank = incorrect("answers.yaml can't be read: line 3 begins with a blank\nthe line")
    (cause,) = figures.without_points(Report(submissions=(student("ann", incorrect("no"), blank, blank, points=20),)))
    assert cause.what == "INCORRECT: answers.yaml can't be read: line 3 begins with a blank (43 points)"


def test_who_has_any_point_is_not_among_them():
    assert figures.without_points(Report(submissions=(student("a", correct(), incorrect("no")),))) == []


def test_a_mistake_that_goes_through_tasks_is_one_cause():
    wrong = incorrect("no", hint=HINT)
    one, other = task("one", "T", graded("a", 1, wrong)), task("other", "T", graded("a", 1, wrong))
    alone = task("one", "T", graded("a", 1, incorrect("no", hint="only here")))
    report = Report(
        submissions=(
            SubmissionReport(name="ann", tasks=(one, other)),
            SubmissionReport(name="bob", tasks=(one,)),
            SubmissionReport(name="eve", tasks=(alone,)),
        )
    )
    assert figures.causes(report) == [(HINT, ("one", "other"), ("ann", "bob"))]


def test_slips_that_a_function_follows_are_causes_each_for_itself_beside_the_hints_of_others():
    def seen(*says, elsewhere=()):
        return replace(incorrect("off"), diagnosis=Diagnosis(tried=9, causes=says, says=says, elsewhere=elsewhere))

    def student_of(name, one, other):
        tasks = tuple(task(each, "T", graded("a", 1, verdict)) for each, verdict in (("one", one), ("other", other)))
        return SubmissionReport(name=name, tasks=tasks)

    report = Report(
        submissions=(
            student_of("ann", seen("groups", "bias"), correct()),
            student_of("bob", correct(), seen("bias", elsewhere=("groups",))),
            student_of("eve", incorrect("off", hint="bias"), correct()),
        )
    )
    assert figures.causes(report) == [
        ("bias", ("one", "other"), ("ann", "eve", "bob")),
        ("groups", ("one", "other"), ("ann", "bob")),
    ]
    kinds = replace(incorrect("off"), diagnosis=Diagnosis(tried=9, wrong=3, wrong_on=("groups",)))
    assert figures.misconceptions(Report(submissions=(student_of("x", kinds, correct()),))) == []


def test_the_page_leads_to_students_pages_and_to_the_desk():
    pytest.importorskip("matplotlib", reason="pages need matplotlib")
    from labgrade.reports.html import classroom

    waits = student("<w>", without_value(Outcome.MANUAL, "'total' is followed by different values: 5 (line 3)"))
    more = student("v", without_value(Outcome.MANUAL, "'total' is followed by different values: 71 (line 9)"))
    report = Report(submissions=(*CLASS.submissions, waits, more))
    page = classroom.render(report, lambda name: "" if name == "v" else f"students/{len(name)}.html", marking="/")
    assert '<a href="students/3.html">&lt;w&gt;</a>' in page
    assert '<a href="/">Mark' in page
    assert '<td class="number">2</td><td>... is followed by different values: ... (line ...)</td>' in page
    assert "tall" not in page.partition("</style>")[2]
    assert "students/" not in classroom.render(report)


def test_a_page_of_thousands_says_where_the_others_are(monkeypatch):
    pytest.importorskip("matplotlib", reason="pages need matplotlib")
    from labgrade.reports.html import classroom

    who = [student(f"s{number}", without_value(Outcome.MANUAL, "a text")) for number in range(5)]
    report = Report(submissions=tuple(who))
    assert "labgrade export" not in classroom.render(report)
    monkeypatch.setattr(classroom, "_MOST", 3)
    monkeypatch.setattr(classroom, "_MOST_WAITING", 4)
    page = classroom.render(report)
    assert ">s2</th>" in page
    assert ">s3</th>" not in page
    for few in ("And 2 more.", "And 1 more."):
        assert f"{few} All are in the table that <code>labgrade export --format csv --out DIR</code> writes" in page


def test_of_many_kinds_of_networks_the_student_reads_the_first_and_staff_all():
    verdict = replace(incorrect("off"), diagnosis=Diagnosis(tried=9, wrong=8, wrong_on=tuple("wxyz")))
    assert "wrong on 8 of 9 small networks: on each with w, or with x, or with y." in summary.hint(verdict)
    assert "wrong on" not in summary.facts(verdict)
    facts = summary.facts(verdict, slips=True)  # of a program, or of who asks how it came about
    assert facts["wrong on"] == "w, x, y, z"
