"""A time that was written without a unit."""

import pytest
from helpers import own_course

SPEC = """
id: t
title: Time
points: 1
statement: Measure.
answers:
  runs: {type: {table: {row: run, columns: {latency: time}}}, from: [{file: runs.csv}]}
  slowest: {type: time, from: [{entry: slowest}]}
checks:
  - {id: slowest, points: 1, answer: slowest, checker: equal, expected: {answer: runs, take: max, of: latency}}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("slowest", "more"), [("1.65", "; yours has no unit and is read as seconds"), ("1.92 ms", "")])
def test_it_is_said_that_seconds_were_read(tmp_path, slowest, more):
    files = {
        "specs/lab/t.yaml": SPEC,
        "submissions/who/runs.csv": "run,latency\na,1.25 ms\nb,1.65 ms\n",
        "submissions/who/answers.yaml": f"slowest: {slowest}\n",
    }
    with own_course.grading(own_course.write(tmp_path, files)) as grade:
        assert grade("who")["t.slowest"].hint == f"Your own 'runs' says 1.65 ms, the max of latency{more}."
