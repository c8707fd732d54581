"""The roster: read from YAML and CSV, every mistake at its place; whose a submission is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from labgrade.core.errors import SpecError, UsageError
from labgrade.review import roster
from labgrade.review.groups import Owners
from labgrade.review.roster import Student
from labgrade.spec.lab import MOMENT_LIKE

YAML = """students:
  - {id: b1, name: Anna Lee, group: A1, email: anna@x.edu}
  - {id: b2, name: 王小明, group: A1, extension: 2 days}
  - id: b3
    name: Max Pool
    submission: late one
    handed_in: 2026-11-20T12:00Z
    extension: {lab2: 36 h, lab3: 2026-12-01T23:59+08:00}
"""
CSV = """id,name,group,email,submission,handed_in,extension,extension lab2,extension:lab3
b1,Anna Lee,A1,anna@x.edu,,,,,
b2,王小明,A1,,,,2 days,,
,,,,,,,,
b3,Max Pool,,,late one,2026-11-20T12:00Z,,36 h,2026-12-01T23:59+08:00
"""


@pytest.fixture
def read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def made(text, name="roster.yaml", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return roster.read(path.relative_to(tmp_path), **options)

    return made


def mistakes(read, text, name="roster.yaml", **options):
    with pytest.raises(SpecError) as error:
        read(text, name, **options)
    return str(error.value)


def test_a_number_without_its_unit_is_named_at_its_place(read):
    text = "students:\n- {id: a, extension: 2}\n- {id: b, extension: {lab: 1.5}}\n"
    assert mistakes(read, text).splitlines() == [
        f"roster.yaml:{place}: '{value}' has no unit: write a span such as '15 min', '2 h' or '1 day', or {MOMENT_LIKE}"
        for place, value in (("2:22", "2"), ("3:28", "1.5"))
    ]


def test_yaml_and_csv_say_the_same(read):
    found = read(YAML, labs=["lab2", "lab3"])
    ann, ming, late = found.students
    assert (ann.id, ann.name, ann.group, ann.email) == ("b1", "Anna Lee", "A1", "anna@x.edu")
    assert ming.extension("lab2") == timedelta(days=2)
    assert (late.extension("lab2"), late.extension("lab1")) == (timedelta(hours=36), None)
    assert late.handed_in == datetime(2026, 11, 20, 12, tzinfo=UTC)
    assert found == read(CSV, "roster.csv", labs=["lab2", "lab3"])
    assert found == read(CSV.replace(",", ";").replace("\n", "\r\n").encode("utf-8-sig"), "roster.csv")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("students: [{name: Ann}]", "roster.yaml:1:12: a student needs 'id'"),
        ("students: [{id: 7}]", "'id' is text, and this is a number: put it in quotes, '7'"),
        ("students: [{id: b1, gruop: A}]", "roster.yaml:1:21: a student takes no 'gruop'; did you mean 'group'?"),
        (
            "students:\n  - {id: b1, group: A}\n  - {id: b1, group: B}",
            "roster.yaml:3:10: 'b1' is in two groups: in 'A' on line 2, in 'B' here; keep one",
        ),
        (
            "students:\n  - {id: b1, group: A}\n  - {id: B1}",
            "roster.yaml:3:10: 'B1' is in two groups: in 'A' on line 2, in no group here; keep one",
        ),
        ("students:\n  - {id: b1}\n  - {id: b1}", "roster.yaml:3:10: 'b1' is already given on line 2"),
        (
            "students:\n  - {id: b1, email: a@x}\n  - {id: b2, email: A@x}",
            "roster.yaml:3:21: the email 'A@x' is that of 'b1' (line 2), too",
        ),
        (
            "students:\n  - {id: b1, submission: w}\n  - {id: b2, submission: w}",
            "roster.yaml:3:26: the submission 'w' is that of 'b1' (line 2), too",
        ),
        ("students: [{id: b1, group: b1}]", "roster.yaml:1:28: a student has the id 'b1', so no group"),
        ("students: [{id: b1, extension: soon}]", "roster.yaml:1:32: 'soon' is no extension: write a span such as"),
        ("students: [{id: b1, extension: 2026-12-01}]", "'2026-12-01' is not a moment such as"),
        ("students: [{id: b1, extension: 2026-12-01T10:00}]", "has no time zone"),
        (
            "students: [{id: b1, extension: {lab9: 2 days}}]",
            "roster.yaml:1:39: there is no lab 'lab9'; did you mean 'lab2'?",
        ),
        ("students: [{id: b1, handed_in: yesterday}]", "'yesterday' is not a moment such as"),
    ],
)
def test_mistakes_in_yaml_are_placed(read, text, says):
    assert says in mistakes(read, text, labs=["lab2"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name,group\nAnn,A\n", "roster.csv:1:1: there is no column 'id'; the first line names the columns"),
        ("id,gruop\nb1,A\n", "roster.csv:1:1: there is no column 'gruop' in a roster; did you mean 'group'?"),
        ("id,id\nb1,b2\n", "roster.csv:1:1: two columns are called 'id'"),
        ("id,name\n,Ann\n", "roster.csv:2:1: this student has no 'id'"),
        ('id,name\nb1,"An\nna"\nb1,Bo\n', "roster.csv:4:1: 'b1' is already given on line 2"),
        ("id,group\nb1,A\nb1,B\n", "roster.csv:3:1: 'b1' is in two groups: in 'A' on line 2, in 'B' here"),
        ("id,extension lab9\nb1,2 days\n", "roster.csv:2:1: there is no lab 'lab9'; did you mean 'lab2'?"),
        ("id,extension\nb1,2\n", "roster.csv:2:1: '2' is no extension: write a span such as '15 min'"),
        ("id\n".encode("utf-16"), "this is not UTF-8 (byte 0); in Excel, save it as 'CSV UTF-8'"),
    ],
)
def test_mistakes_in_csv_are_placed(read, text, says):
    assert says in mistakes(read, text, "roster.csv", labs=["lab2"])


def test_all_mistakes_are_said_at_once(read):
    said = mistakes(read, "students: [{id: b1, extension: soon}, {id: b1, handed_in: now}]")
    assert len(said.splitlines()) == 3


def test_staff_are_no_students_and_are_called_by_their_names(read):
    found = read("id,name,role\nb1,Anna Lee,student\nAnn,Ann Wu,staff\nbob,,staff\nb2,Max Pool,\n", "roster.csv")
    assert [each.id for each in found.students] == ["b1", "b2"]
    assert [found.marker(said) for said in ("ann", "ANN ", "bob")] == ["Ann Wu (Ann)", "Ann Wu (Ann)", "bob"]
    assert roster.Roster().marker("anybody") == "anybody"
    with pytest.raises(UsageError, match="no person 'anne' in the roster's staff; did you mean 'ann'"):
        found.marker("anne")
    assert "roster.yaml:2:21: 'stuff' is no role" in mistakes(read, "students:\n  - {id: ann, role: stuff}\n")


def test_a_course_has_one_roster(tmp_path):
    assert roster.find(tmp_path) is None
    (tmp_path / "roster.csv").write_text("id\n")
    assert roster.find(tmp_path) == tmp_path / "roster.csv"
    (tmp_path / "roster.yaml").write_text("students: []\n")
    with pytest.raises(SpecError, match=r"there is a 'roster.yaml', too; keep one"):
        roster.find(tmp_path)


CLASS = roster.Roster(
    students=(
        Student(id="b1", name="Anna Lee", group="A1", email="annal@x.edu"),
        Student(id="b2", name="王小明", group="A1"),
        Student(id="12345", name="Jo Van Der Berg"),
        Student(id="b4", name="Max Pool", submission="work of max"),
        Student(id="b5", name="Anna Lee"),
        Student(id="b6", name="Ánna", email="twin@x.edu"),
    )
)


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("b1", "b1 b2"),
        ("B2", "b1 b2"),
        ("A1", "b1 b2"),
        ("a1_4711", "b1 b2"),
        ("annal", "b1 b2"),
        ("annal@x.edu", "b1 b2"),
        ("王小明_123456", "b1 b2"),
        ("work of max", "b4"),
        ("max pool", "b4"),
        ("poolmax_777", "b4"),
        ("vanderbergjo_12345", "12345"),
        ("derbergjovan_9", "12345"),
        ("A\u0301nna", "b6"),
        ("Anna Lee", ""),  # two students of that name, in different groups
        ("b7", ""),
        ("", ""),
        ("max", ""),
        ("_4", ""),
    ],
)
def test_whose_a_submission_is(name, ids):
    assert " ".join(student.id for student in Owners(CLASS).of(name)) == ids
