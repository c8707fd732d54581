"""What labgrade suggests where a person decides: shown, accepted one by one, of a check or of a kind."""

import io
from dataclasses import replace
from fractions import Fraction

import pytest
from helpers.class_sample import graded, report, submission
from rich.console import Console

from labgrade.core import student_view
from labgrade.core.serialise import from_plain, plain
from labgrade.reports import json as json_report
from labgrade.review import decisions, sheet
from labgrade.review.apply import with_decisions
from labgrade.review.decisions import Decisions
from labgrade.review.interview import Desk
from labgrade.review.marking import NoPointsError, accept_suggestion, waiting, with_suggestion
from labgrade.verdict import DOUBTFUL, OTHER_ROWS, Outcome, Suggestion, without_value


def waits(name, kind, credit, outcome=Outcome.CORRECT):
    said = Suggestion(outcome=outcome, credit=Fraction(credit), why="it is 5", place="report.md:3", kind=kind)
    return graded(name, 4, replace(without_value(Outcome.MANUAL, "not read"), suggestion=said))


CLASS = report(
    submission(
        "ann", waits("total", "labelled value", 1), waits("rows", "rows by their names", "1/2", Outcome.PARTIAL)
    ),
    submission(
        "bob", waits("total", "value without a label", 1), graded("rows", 4, without_value(Outcome.MANUAL, "?"))
    ),
    submission("eve", waits("total", "labelled value", 0, Outcome.INCORRECT)),
)


def names(found):
    return [str(each.place) for each in found]


@pytest.mark.parametrize(
    ("what", "whose"),
    [
        ("all", ["ann macs total", "bob macs total", "eve macs total", "ann macs rows"]),
        ("total", ["ann macs total", "bob macs total", "eve macs total"]),
        ("macs rows", ["ann macs rows"]),
        ("labelled value", ["ann macs total", "eve macs total"]),
        ("something", []),
    ],
)
def test_suggestions_of_a_check_of_a_kind_or_all(what, whose):
    assert sorted(names(with_suggestion(waiting(CLASS), what))) == sorted(whose)


@pytest.mark.parametrize("kind", [DOUBTFUL, OTHER_ROWS])
def test_what_is_to_be_looked_at_is_taken_by_its_kind_alone(kind):
    found = waiting(
        report(submission("ann", waits("total", kind, 1)), submission("bob", waits("total", "only number", 1)))
    )
    assert names(with_suggestion(found, "all")) == names(with_suggestion(found, "total")) == ["bob macs total"]
    assert names(with_suggestion(found, kind)) == ["ann macs total"]


def test_what_is_accepted_gives_the_suggested_share():
    (rows,) = with_suggestion(waiting(CLASS), "rows")
    ruling = accept_suggestion(rows, "ta")
    assert (ruling.credit, ruling.by, ruling.reason) == (Fraction(1, 2), "ta", "it is 5")
    (nothing,) = [each for each in waiting(CLASS) if str(each.place) == "bob macs rows"]
    with pytest.raises(NoPointsError):
        accept_suggestion(nothing, "ta")


def test_a_suggestion_alone_counts_nothing():
    assert [each.earned for one in CLASS.submissions for each in one.tasks[0].checks] == [0] * 5


def test_students_are_not_shown_it():
    seen = student_view.for_student(CLASS)
    assert all(each.verdict.suggestion is None for one in seen.submissions for each in one.tasks[0].checks)


@pytest.mark.parametrize(
    ("typed", "given"),
    [
        (["a", "q"], {"ann macs total": 1}),
        (["k", "q"], {"ann macs total": 1, "eve macs total": 0}),
        (["c", "q"], {"ann macs total": 1, "bob macs total": 1, "eve macs total": 0}),
        (["a", "b", "q"], {}),
    ],
)
def test_one_is_accepted_or_all_of_its_check_or_of_its_kind(tmp_path, typed, given):
    lines = iter(typed)
    shown = io.StringIO()
    desk = Desk(Console(file=shown, width=100), lambda _: next(lines), tmp_path, by="ta", called=str)
    desk.work(waiting(CLASS))
    found = decisions.read(tmp_path)
    held = {place: found.in_force(place) for place in found.places}
    assert {str(place): ruling.credit for place, ruling in held.items() if ruling is not None} == given
    assert "labgrade suggests: │ CORRECT, 100 % (labelled value): it is 5" in " ".join(shown.getvalue().split())


def test_the_table_says_it_and_takes_accept():
    table = sheet.render(waiting(CLASS), Decisions(), _Open())
    assert "CORRECT, 100 % (labelled value): it is 5" in table
    head, *rows = table.splitlines()
    filled = [row.replace('"4","",""', '"4","accept",""') if row.startswith('"ann"') else row for row in rows]
    taken = sheet.import_marks("\r\n".join([head, *filled]).encode("utf-8"), CLASS, Decisions(), _Open(), "ta")
    assert {str(ruling.place): ruling.credit for ruling, _ in taken} == {
        "ann macs total": 1,
        "ann macs rows": Fraction(1, 2),
    }


class _Open:
    """Names as they are."""

    def of(self, name):
        return name

    def name(self, name):
        return name


def test_it_is_kept_and_written_as_it_was():
    (check, *_) = CLASS.submissions[0].tasks[0].checks
    assert from_plain(plain(check)) == check
    again = json_report.read(json_report.render(CLASS), "it")
    assert again.submissions[0].tasks[0].checks[0].verdict.suggestion == check.verdict.suggestion


def test_a_mark_ends_the_wait():
    ruling = replace(accept_suggestion(with_suggestion(waiting(CLASS), "rows")[0], "ta"), number=1)
    assert "ann macs rows" not in names(waiting(with_decisions(CLASS, Decisions([ruling]))))
