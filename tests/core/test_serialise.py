"""Graded checks as plain data: what goes in comes out, through JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from labgrade.core import serialise, student_view
from labgrade.core.results import Decision, Deduction, Graded, Report, SubmissionReport, TaskReport
from labgrade.verdict import ComparedNumber, ComparedRow, Outcome, TileGrid, correct, partial, without_value

MARKED = Graded(
    id="discussion",
    points=Fraction(4),
    earned=Fraction("1.33"),
    verdict=partial(Fraction(1, 3), "one of three", hint="name the others", got="x"),
    answer_from="report.md:12",
    hidden=True,
    bonus=True,
    seconds=0.25,
    printed="layers: 57\n",
    rows=(
        ComparedRow(name="conv1", got=1.0, expected=2.5, right=False),
        ComparedRow(name="fc", got=None, expected=3.0, right=False, column="shape", expected_text="1x3"),
    ),
    grids=(TileGrid(layer="fc", block=0, tiles=(1, 2, 2), scale=(1, 1), lines=("#.", ".."), picture=("fc: 2x2",)),),
    revealed=True,
    decision=Decision(
        by="ta", at="2026-11-21T10:00:00Z", reason="read", machine=without_value(Outcome.MANUAL, "unread", why="words")
    ),
)


def test_every_field_survives_json():
    assert serialise.from_plain(json.loads(json.dumps(serialise.plain(MARKED)))) == MARKED
    verdict = replace(
        without_value(Outcome.MANUAL, "no value"),
        looked_for=("'f' in a.py", "b"),
        rubric=((Fraction(5, 2), "style"),),
        comparisons=(ComparedNumber(name="MACs", got="1", expected="2"),),
    )
    waits = replace(MARKED, verdict=verdict)
    assert serialise.from_plain(json.loads(json.dumps(serialise.plain(waits)))) == waits
    bare = Graded(id="total", points=Fraction(1), earned=Fraction(1), verdict=correct("right"))
    assert serialise.from_plain(json.loads(json.dumps(serialise.plain(bare)))) == bare


def _seen_by_student(graded: Graded) -> Graded:
    task = TaskReport(lab="l", id="t", title="T", points=graded.points, checks=(graded,))
    report = student_view.for_student(Report(submissions=(SubmissionReport(name="s", tasks=(task,)),)))
    return report.submissions[0].tasks[0].checks[0]


def test_a_student_sees_expected_cells_only_where_revealed_and_never_facts():
    public = replace(MARKED, hidden=False)
    seen = _seen_by_student(public)
    assert seen.rows == public.rows
    assert seen.verdict.facts == {}
    assert seen.decision is not None
    assert seen.decision.machine.facts == {}
    assert "unread" not in repr(seen)
    own = _seen_by_student(replace(public, revealed=False)).rows
    assert [(row.got, row.right) for row in own] == [(row.got, row.right) for row in public.rows[:1]]
    assert not any(row.expected is not None or row.expected_text for row in own)


OF_OLDER = {  # what version 1 wrote, before `basis`, `needs`, `once_met` and `to_mark` were there
    "id": "total",
    "points": "4",
    "earned": "4/3",
    "answer_from": "report.md:3",
    "hidden": False,
    "bonus": False,
    "seconds": 0.5,
    "printed": "",
    "rows": [["conv1", 1.0, None, False, "macs", "", "x"]],
    "grids": [{"layer": "fc", "block": 0, "tiles": [1, 2, 2], "scale": [1, 1], "lines": ["#."], "picture": []}],
    "revealed": True,
    "decision": ["ta", "2026-11-21T10:00:00Z", "read", {**serialise.plain(without_value(Outcome.MANUAL, "waits"))}],
    "verdict": {
        "outcome": "PARTIAL",
        "credit": "1/3",
        "reason": "one of three",
        "hint": "",
        "facts": {"got": "1"},
        "agrees": False,
        "notes": ["beside"],
    },
}


def test_what_an_older_labgrade_wrote_is_read_and_written_the_same():
    found = serialise.from_plain(OF_OLDER)
    assert found.earned == Fraction(4, 3)
    assert found.rows == (
        ComparedRow(name="conv1", got=1.0, expected=None, right=False, column="macs", expected_text="x"),
    )
    assert found.grids[0].tiles == (1, 2, 2)
    assert found.decision == Decision(
        by="ta", at="2026-11-21T10:00:00Z", reason="read", machine=without_value(Outcome.MANUAL, "waits")
    )
    assert found.verdict.notes == ("beside",)
    written = json.loads(json.dumps(serialise.plain(found)))
    assert {key: written[key] for key in OF_OLDER} == OF_OLDER
    assert {key: written[key] for key in written.keys() - OF_OLDER.keys()} == {
        "basis": "",
        "needs": [],
        "once_met": None,
        "to_mark": None,
    }


def test_a_submission_survives_with_its_deductions():
    late = Deduction(lab="hw2", points=Fraction("0.4"), why="a day late", share=Fraction(1, 10), of_earned=True)
    plain = Deduction(lab="hw2", points=Fraction(1), why="by hand")
    task = TaskReport(lab="hw2", id="t", title="T", points=Fraction(4), checks=(MARKED,))
    whole = SubmissionReport(name="s", tasks=(task,), members=("a", "b"), deductions=(late, plain))
    back = json.loads(json.dumps(serialise.plain(whole)))
    assert back["deductions"] == [["hw2", "2/5", "a day late", "1/10", True], ["hw2", "1", "by hand", None, False]]
    assert serialise.from_plain(back, SubmissionReport) == whole


def test_what_can_be_drawn_of_a_verdict_is_not_kept_beside_its_check():
    drawn = replace(MARKED.verdict, rows=MARKED.rows, grids=MARKED.grids)
    kept = serialise.plain(replace(MARKED, verdict=drawn, rows=(), grids=()))
    assert "conv1" not in json.dumps(kept)
    assert serialise.from_plain(kept).verdict == MARKED.verdict


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {**OF_OLDER, "points": "four"},
        {**OF_OLDER, "rows": [["conv1", 1.0, None, False, "", "", "", "one too many"]]},
        {**OF_OLDER, "verdict": {**OF_OLDER["verdict"], "outcome": "PERFECT"}},
    ],
)
def test_what_is_no_result_is_refused(broken):
    with pytest.raises((KeyError, TypeError, ValueError)):
        serialise.from_plain(broken)
