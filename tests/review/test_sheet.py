"""Marks through a spreadsheet: what goes out comes back, and whatever was done to it meanwhile is found."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from fractions import Fraction

import pytest
from helpers.class_sample import CLASS, essay, graded, report, student, submission
from hypothesis import given
from hypothesis import strategies as st

from labgrade.core.errors import UsageError
from labgrade.core.results import MarkingText
from labgrade.core.text import unguarded
from labgrade.review import sheet
from labgrade.review.apply import with_decisions
from labgrade.review.decisions import Decisions
from labgrade.review.marking import waiting
from labgrade.review.pseudonyms import Pseudonyms
from labgrade.verdict import ComparedNumber, Outcome, without_value

OPEN_NAMES = Pseudonyms(b"", [], [])
KEPT_BACK = Pseudonyms(b"k" * 32, ["ann", "bob", "王小明"])


def export(whole=CLASS, rulings=Decisions(), names=OPEN_NAMES):  # noqa: B008 - nothing changes it
    return sheet.render(waiting(with_decisions(whole, rulings)), rulings, names)


def table(text):
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))


def filled(change, text=None, between=",", encoding="utf-8-sig"):
    """The table with `change(rows)` done to it, as bytes."""
    rows = table(text or export())
    changed = change(rows)
    rows = rows if changed is None else changed
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(rows[0]), delimiter=between)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode(encoding)


def give(**points):
    """Fill in points for everybody named: `ann=("3", "1")`."""

    def change(rows):
        for row in rows:
            if row["submission"] in points:
                row["points"] = points[row["submission"]][0 if row["line"].startswith("names") else 1]

    return change


def take(data, whole=CLASS, rulings=Decisions(), names=OPEN_NAMES):  # noqa: B008 - nothing changes it
    return sheet.import_marks(data, with_decisions(whole, rulings), rulings, names, "ta")


def refused(data, **more):
    with pytest.raises(UsageError) as error:
        take(data, **more)
    head, *found = str(error.value).splitlines()
    assert head == "nothing was imported:" or not found
    return found or [head]


def numbered(rulings):
    return Decisions(replace(each, number=number) for number, (each, _) in enumerate(rulings, 1))


def test_the_table_is_one_row_a_line_of_the_rubric():
    text = export()
    assert text.startswith('\ufeff"submission","lab",')
    rows = table(text)
    assert [(row["submission"], row["line"], row["worth"]) for row in rows][:3] == [
        ("ann", "names the bottleneck", "3"),
        ("ann", "gives a number", "1"),
        ("bob", "names the bottleneck", "3"),
    ]
    assert [row["text"] for row in rows] == ["because of memory", "", "because of compute", "", "'=1+1 is why", ""]
    assert all(row["points"] == row["comment"] == "" for row in rows)


def test_numbers_stand_above_the_text_next_to_what_is_right():
    compared = ComparedNumber(name="MACs", got="3 (from a)", expected="4")
    verdict = replace(without_value(Outcome.MANUAL, "r", **{"handed in": "so."}), comparisons=(compared,))
    row = table(export(report(submission("ann", replace(essay(text="so."), verdict=verdict)))))[0]
    assert row["text"] == "MACs: got 3 (from a); expected 4\n\nso."


def test_what_goes_out_comes_back():
    data = filled(give(ann=("3", "0.5"), 王小明=("none", "full")))
    found = take(data)
    assert [(each.place.submission, each.credit, each.by, seen) for each, seen in found] == [
        ("ann", Fraction(7, 8), "ta", 0),
        ("王小明", Fraction(1, 4), "ta", 0),
    ]
    assert [line.points for line in found[0][0].lines] == [3, Fraction(1, 2)]
    assert take(filled(lambda _: None)) == []


def test_comments_are_kept_each_once():
    def change(rows):
        give(ann=("3", "1"))(rows)
        rows[0]["comment"], rows[1]["comment"] = '很好, "nice"\nreally', " =SUM(A1) "

    ((ruling, _),) = take(filled(change))
    assert ruling.reason == '很好, "nice"\nreally; =SUM(A1)'


@pytest.mark.parametrize("between", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-8", "utf-16"])
def test_whatever_excel_makes_of_it(between, encoding):
    found = take(filled(give(ann=("3", "1"), 王小明=("1", "1")), between=between, encoding=encoding))
    assert [each.place.submission for each, _ in found] == ["ann", "王小明"]


def test_numbers_may_have_commas():
    ((ruling, _),) = take(filled(give(ann=("2,5", "1")), between=";"))
    assert ruling.credit == Fraction(7, 8)
    ((ruling, _),) = take(filled(give(ann=("2,5", "1"))))
    assert ruling.credit == Fraction(7, 8)


def test_rows_may_be_sorted_and_left_out():
    data = filled(lambda rows: give(ann=("3", "1"))(rows) or sorted(rows, key=lambda row: row["line"]))
    assert len(take(data)) == 1
    assert len(take(filled(lambda rows: give(ann=("3", "1"))(rows) or rows[:2]))) == 1


def test_a_table_that_was_taken_in_may_be_taken_again():
    data = filled(give(ann=("3", "1")))
    rulings = numbered(take(data))
    assert take(data, rulings=rulings) == []
    assert refused(filled(give(ann=("3", "0"))), rulings=rulings) == [
        "  line 2: it was marked meanwhile by somebody else; export anew"
    ]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda rows: rows[0].update(submission="anm"), "line 2: there is no submission 'anm'; did you mean 'ann'?"),
        (lambda rows: rows[0].update(task="mac"), "line 2: there is no task 'mac'; did you mean 'macs'?"),
        (lambda rows: rows[0].update(check="esay"), "line 2: there is no check 'esay'; did you mean 'essay'?"),
        (lambda rows: rows[0].update(lab="lab3"), "line 2: there is no lab 'lab3'; did you mean 'lab2'?"),
        (lambda rows: rows[1].update(line="gives"), "line 3: the rubric of 'essay' has no line 'gives'"),
        (lambda rows: rows[1].update(points="1.5"), "line 3: 1.5 is more than the 1 that this is worth"),
        (lambda rows: rows[1].update(points="x"), "line 3: 'x' is no number of points: 0 to 1"),
        (
            lambda rows: rows[1].update(points=""),
            "line 3: no points are given for 'gives a number', but for other lines",
        ),
        (
            lambda rows: rows[0].update(text="because"),
            "line 2: the text differs from the exported one; edit 'points'",
        ),
        (lambda rows: rows[0].update(text=""), "line 2: the text differs from the exported one"),
        (lambda rows: rows[1].update(worth="2"), "line 3: 'gives a number' is worth 1, not '2'"),
        (lambda rows: rows[0].update(version="abc.0"), "line 2: what was handed in changed since the export, or"),
        (lambda rows: rows.pop(1), "line 2: the line 'gives a number' of the rubric is missing"),
        (lambda rows: rows.insert(1, dict(rows[0])), "line 3: the line 'names the bottleneck' stands twice"),
    ],
)
def test_what_was_done_to_it_is_found(change, says):
    def both(rows):
        give(ann=("3", "1"), bob=("3", "1"))(rows)
        change(rows)

    found = refused(filled(both))
    assert any(line.strip().startswith(says) for line in found), found


def test_all_mistakes_are_said_and_nothing_is_taken():
    found = refused(filled(give(ann=("9", "1"), bob=("3", "x"), 王小明=("3", "1"))))
    assert [line.strip().partition(":")[0] for line in found] == ["line 2", "line 5"]


def test_texts_that_were_sorted_alone_are_found():
    def change(rows):
        give(ann=("3", "1"), bob=("0", "0"))(rows)
        rows[0]["text"], rows[2]["text"] = rows[2]["text"], rows[0]["text"]

    assert [line.strip().partition(":")[0] for line in refused(filled(change))] == ["line 2", "line 4"]


def test_lines_are_counted_as_an_editor_counts_them():
    long = report(student("ann", "one\ntwo\nthree"), student("bob", "short"))
    data = filled(give(bob=("9", "1")), text=export(long))
    assert refused(data, whole=long)[0].strip().startswith("line 6: 9 is more than")
    data = filled(give(ann=("9", "1")), text=export(long))
    assert refused(data, whole=long)[0].strip().startswith("line 2: 9 is more than")


def test_a_text_that_changed_since_the_export_is_found():
    data = filled(give(ann=("3", "1")))
    now = report(student("ann", "because of something else"), *CLASS.submissions[1:])
    assert any("changed since the export" in line or "exported one" in line for line in refused(data, whole=now))
    again = report(replace(CLASS.submissions[0]), *CLASS.submissions[1:])
    assert len(take(data, whole=again)) == 1


def test_what_does_not_wait_is_not_marked_through_a_table():
    def change(rows):
        give(ann=("3", "1"))(rows)
        for row in rows[:2]:
            row.update(
                check="total", line="the whole check", worth="10", points="10", text="got 9 % less than expected"
            )
        del rows[1]
        rows[0]["version"] = "1.0"

    assert (
        "'total' does not wait to be marked; for a decision of your own: labgrade override"
        in refused(filled(change))[0]
    )


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "line 1: there is no column 'submission'; --export writes submission, lab"),
        (b"submission,lab\nann,lab2\n", "line 1: there is no column 'task'"),
        ("submission\n王".encode("cp950"), "line 2: this is not UTF-8; in Excel, save it as 'CSV UTF-8'"),
        (export().encode() + b'"open', "this is no table: unexpected end of data"),
    ],
)
def test_what_is_no_such_table_is_said(data, says):
    assert says in refused(data)[0]


def test_pseudonyms_go_out_and_come_back():
    text = export(names=KEPT_BACK)
    assert not re.search("ann|bob|王小明", text)
    who = KEPT_BACK.of("bob")
    ((ruling, _),) = take(filled(give(**{who: ("3", "1")}), text=text), names=KEPT_BACK)
    assert ruling.place.submission == "bob"
    strange = filled(lambda rows: rows[0].update(submission=KEPT_BACK.of("ann")[:-1] + "x"), text=text)
    assert f"did you mean '{KEPT_BACK.of('ann')}'?" in refused(strange, names=KEPT_BACK)[0]


@given(st.text(max_size=60), st.text(max_size=30))
def test_no_cell_is_a_formula_and_every_text_comes_back(text, comment):
    text = text.strip() or "x"
    text = text.encode("utf-8", "replace").decode()
    waits = replace(essay(), to_mark=MarkingText(rubric=essay().to_mark.rubric, text=text))
    one = report(submission("ann", waits))
    rows = table(export(one))
    assert all(
        not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")) for row in rows for cell in row.values()
    )
    comment = comment.encode("utf-8", "replace").decode()

    def change(rows):
        give(ann=("3", "1"))(rows)
        rows[0]["comment"] = comment

    ((ruling, _),) = take(filled(change, text=export(one)), whole=one)
    assert ruling.reason == unguarded(comment).strip()


def test_a_text_too_long_for_a_cell_is_cut_and_comes_back():
    one = report(student("ann", "word " * 20_000))
    data = filled(give(ann=("3", "1")), text=export(one))
    assert max(len(cell) for row in table(export(one)) for cell in row.values()) < 32_767
    assert len(take(data, whole=one)) == 1


def test_a_check_without_text_shows_why_it_waits():
    bare = graded("proof", 10, without_value(Outcome.MANUAL, "the proof does not cover 'Loop'"))
    one = report(submission("ann", bare))
    (row,) = table(export(one))
    assert (row["line"], row["text"]) == ("the whole check", "the proof does not cover 'Loop'")
    ((ruling, _),) = take(filled(lambda rows: rows[0].update(points="7"), text=export(one)), whole=one)
    assert ruling.credit == Fraction(7, 10)
