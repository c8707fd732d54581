"""Points merged into exported gradebooks: the right rows, nothing but the column, nothing guessed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from labgrade.core.errors import UsageError
from labgrade.core.results import Report, SubmissionReport
from labgrade.reports import lms
from labgrade.verdict import Outcome, correct, partial, without_value
from tests.reports.sample import graded, task

CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,HW 1 (10),HW 2 (4711),Final Score\r\n"
    "    Points Possible,,,,,10,100,(read only)\r\n"
    '"Lee, Anna",101,B07501001,anna,"A ""x"", B",9.50,,\r\n'
    '"王, 小明",102,B07501002,ming,A,,"12",80.00\r\n'
    '"=cmd()|A1",103,B07501003,eve,A,,,\r\n'
    '"Multi\r\nLine",104,B07501004,multi,A,,-,\r\n'
)
MOODLE = (
    "\ufeffIdentifier;Full name;Email address;Grade;Feedback comments\n"
    "Participant 123456;Anna Lee;anna@example.edu;;\n"
    'Participant 123457;Bob Ray;bob@example.edu;;"a;b"\n'
)


def report(**points):
    return Report(
        submissions=tuple(
            SubmissionReport(name=name.replace("__", " "), tasks=(task("t", "T", graded("c", 100, _worth(worth))),))
            for name, worth in points.items()
        )
    )


def _worth(worth):
    if worth is None:
        return without_value(Outcome.MANUAL, "waits")
    return correct() if worth == 100 else partial(Fraction(str(worth)) / 100, "")


def merged(who, text=CANVAS, column="HW 2", **more):
    found = lms.merge(who, text.encode(), "canvas.csv", column, **more)
    return found, found.text.decode()


def test_points_go_into_their_rows_and_all_else_stays_byte_for_byte():
    found, text = merged(report(B07501001=74.4, ming=100, eve=0, B07501004=50))
    assert text == (
        CANVAS.replace('B",9.50,,', 'B",9.50,74.4,')
        .replace('"12"', '"100"')
        .replace("eve,A,,,", "eve,A,,0,")
        .replace("multi,A,,-,", "multi,A,,50,")
    )
    assert (found.written, found.unknown, found.left) == (4, (), 1)


@pytest.mark.parametrize(
    "name", ["B07501001", "b07501001", "anna", "Lee, Anna", "Anna Lee", "anna  lee", "leeanna_101", "Anna Lee_999"]
)
def test_a_student_is_found_by_any_of_the_ids(name):
    found, text = merged(report(**{name: 7}))
    assert found.written == 1
    assert 'B",9.50,7,' in text


def named(**people):
    """A report of folders, each with a student of the roster that is called so."""
    found = report(**dict.fromkeys(people, 7)).submissions
    called = (replace(each, members=(f"id-{each.name}",), called=(people[each.name],)) for each in found)
    return Report(submissions=tuple(called))


def test_where_no_id_is_known_the_rosters_name_tells_the_row():
    found, text = merged(named(x="Anna Lee", y="bob ray", z="Nobody", none=""), MOODLE, "Grade")
    assert "anna@example.edu;7;" in text
    assert 'bob@example.edu;7;"a;b"' in text
    assert found.unknown == ("id-z", "id-none")
    twins, text = merged(named(x="Anna Lee", y="Anna Lee"), MOODLE, "Grade")
    assert (text, twins.ambiguous) == (MOODLE, ("id-x", "id-y"))


def test_where_an_id_is_known_no_name_stands_for_another_id():
    one, other = named(x="Bob Ray").submissions[0], report(anna=5).submissions[0]
    found, text = merged(Report(submissions=(one, other)), MOODLE, "Grade")
    assert found.unknown == ("id-x",)
    assert "bob@example.edu;;" in text


def test_who_is_in_no_row_is_listed_and_changes_nothing():
    found, text = merged(report(nobody=5, Ann=6))
    assert text == CANVAS
    assert found.unknown == ("nobody", "Ann")
    assert found.left == 5


def test_what_fits_two_rows_is_listed_and_changes_nothing():
    twins = CANVAS + '"Lee, Anna",105,B07501005,anna2,A,,,\r\n'
    found, text = merged(report(Anna__Lee=5), twins)
    assert (text, found.ambiguous) == (twins, ("Anna Lee",))


def test_two_hand_ins_of_one_student_are_listed_and_neither_counts():
    found, text = merged(report(anna=5, B07501001=6))
    assert (text, found.ambiguous) == (CANVAS, ("anna", "B07501001"))


def test_a_number_of_the_platform_is_not_taken_for_a_students():
    text = (
        MOODLE.replace("Identifier;", "ID number;")
        .replace("Participant 123456", "7")
        .replace("Participant 123457", "123456")
    )
    found, after = merged(report(Someone__Else_123456=5), text, "Grade")
    assert (after, found.unknown) == (text, ("Someone Else_123456",))


def test_what_waits_is_listed_and_written_only_when_asked():
    found, text = merged(report(anna=None))
    assert (text, found.pending) == (CANVAS, ("anna",))
    found, text = merged(report(anna=None), with_pending=True)
    assert 'B",9.50,0,' in text


def test_moodles_worksheet_with_semicolons_and_a_mark_of_utf_8():
    found, text = merged(report(Anna__Lee_123456=74.4, bob=100), MOODLE, "Grade")
    assert text == MOODLE.replace("anna@example.edu;;", "anna@example.edu;74.4;").replace(
        "bob@example.edu;;", "bob@example.edu;100;"
    )
    assert found.written == 2


def test_utf_16_stays_utf_16():
    raw = b"\xff\xfe" + MOODLE.removeprefix("\ufeff").encode("utf-16-le")
    found = lms.merge(report(bob=1), raw, "x.csv", "Grade")
    assert found.text == raw.replace("bob@example.edu;;".encode("utf-16-le"), "bob@example.edu;1;".encode("utf-16-le"))


def test_a_group_gets_the_points_in_each_row():
    pair = SubmissionReport(name="g1", members=("anna", "ming"), tasks=(task("t", "T", graded("c", 100, correct())),))
    found, text = merged(Report(submissions=(pair,)))
    assert (found.written, text.count("100")) == (2, CANVAS.count("100") + 2)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        (CANVAS, "HW2", "canvas.csv: there is no column 'HW2'"),
        (CANVAS.replace("HW 1 (10)", "HW 2 (10)"), "HW 2", "canvas.csv: 2 columns are called 'HW 2'"),
        ("a,b\n1,2\n", "b", "canvas.csv: no column tells who a row is about"),
        ("", "b", "canvas.csv: there is nothing in it"),
    ],
)
def test_what_cannot_be_merged_is_refused(text, column, message):
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        merged(report(anna=1), text, column)


def test_bytes_that_are_no_text_are_refused():
    with pytest.raises(UsageError, match="neither UTF-8 nor UTF-16"):
        lms.merge(report(), b"\xff\x00abc", "x.csv", "Grade")
