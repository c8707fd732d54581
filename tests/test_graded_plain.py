"""Graded checks as plain data: what goes in comes out, through JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

from labgrade import graded_plain, policy
from labgrade.results import Decision, Graded, Report, SubmissionReport, TaskReport
from labgrade.verdict import ComparedRow, Outcome, TileGrid, correct, partial, without_value

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
        by="ta", at="2026-11-21T10:00:00Z", reason="read", machine=without_value(Outcome.MANUAL, "waits", why="words")
    ),
)


def test_every_field_survives_json():
    assert graded_plain.from_plain(json.loads(json.dumps(graded_plain.plain(MARKED)))) == MARKED
    bare = Graded(id="total", points=Fraction(1), earned=Fraction(1), verdict=correct("right"))
    assert graded_plain.from_plain(json.loads(json.dumps(graded_plain.plain(bare)))) == bare


def _seen_by_student(graded: Graded) -> Graded:
    task = TaskReport(lab="l", id="t", title="T", points=graded.points, checks=(graded,))
    report = policy.for_student(Report(submissions=(SubmissionReport(name="s", tasks=(task,)),)))
    return report.submissions[0].tasks[0].checks[0]


def test_a_student_sees_rows_only_where_revealed_and_never_facts():
    public = replace(MARKED, hidden=False)
    seen = _seen_by_student(public)
    assert seen.rows == public.rows
    assert seen.verdict.facts == {}
    assert seen.decision is not None
    assert seen.decision.machine.facts == {}
    assert "waits" not in repr(seen)
    assert _seen_by_student(replace(public, revealed=False)).rows == ()
