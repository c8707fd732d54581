"""What students see before and after release, and what happens when results change afterwards."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from fractions import Fraction

import pytest
from helpers.class_sample import CLASS, graded, report, student

from labgrade.core.errors import UsageError
from labgrade.core.points import final_totals
from labgrade.core.results import Deduction
from labgrade.ledger import database
from labgrade.ledger.database import Ledger
from labgrade.reports import json as as_json
from labgrade.review import releases
from labgrade.review.apply import with_decisions
from labgrade.review.decisions import Decisions, Place
from labgrade.review.marking import mark
from labgrade.verdict import ComparedRow, correct, incorrect


def with_override(points, check="total", whole=CLASS):
    (found,) = [each for each in whole.submissions[0].tasks[0].checks if each.id == check]
    place = Place(submission="ann", lab="lab2", task="macs", check=check)
    made = mark(place, found, [Fraction(points) / found.points], by="ta", comment="mail", kind="override")
    return with_decisions(whole, Decisions([replace(made, number=1)]))


def ann(whole):
    return whole.submissions[0]


def checks(submission):
    return {check.id: check for task in submission.tasks for check in task.checks}


def seen(whole, *made):
    return releases.released(whole, {each.submission: each for each in made})


def test_before_release_nothing_of_hidden_checks_and_of_decisions():
    view = ann(seen(CLASS))
    assert set(checks(view)) == {"total", "essay", "depends", "broken"}
    text = repr(view) + as_json.render(report(view))
    for secret in ("secret", "57", "KeyError"):
        assert secret not in text
    assert final_totals(view).points == 19
    later = replace(ann(with_override(7)), deductions=(Deduction(lab="lab2", points=Fraction(1), why="late"),))
    assert releases.view_before_release(replace(later, tasks=ann(CLASS).tasks)) == view


def test_after_release_decisions_count_and_hidden_checks_stay_hidden():
    whole = with_override(7)
    made = releases.make_release(ann(whole), by="prof")
    view, other = seen(CLASS, made).submissions[:2]
    assert checks(view)["total"].earned == 7
    assert checks(view)["total"].verdict.reason == "a person gave 7 of 10: mail"
    assert "secret" not in checks(view)
    assert other == releases.view_before_release(CLASS.submissions[1])  # nobody else's changed


def test_hidden_checks_are_shown_where_asked_without_their_facts():
    made = releases.make_release(ann(CLASS), by="prof", hidden_too=True)
    view = ann(seen(CLASS, made))
    assert checks(view)["secret"].verdict.reason == "a secret subject fails"
    assert checks(view)["secret"].verdict.facts == {}
    assert final_totals(view).points == 24


def test_a_release_keeps_the_view_itself(tmp_path):
    rows = (ComparedRow(name="conv1", column="macs", got=1.0, expected=2.0, right=False),)
    rich = student("ann", handed_in="2026-11-20T23:59:00+08:00", handed_in_by="its last commit", members=("b1",))
    first = rich.tasks[0].checks[0]
    changed = replace(
        rich.tasks[0], checks=(replace(first, rows=rows, revealed=True, seconds=3.5), *rich.tasks[0].checks[1:])
    )
    cut = Deduction(lab="lab2", points=Fraction("1.9"), why="late", share=Fraction(1, 10))
    made = releases.make_release(replace(rich, tasks=(changed,), deductions=(cut,)), by="教授", reason="done")
    releases.add(tmp_path, [made])
    (kept,) = releases.read(tmp_path).values()
    assert replace(kept, at="") == made
    assert kept.at.endswith("+00:00")
    assert checks(kept.view)["total"].rows == rows
    assert checks(kept.view)["total"].seconds == 0  # time is no result


def test_the_last_release_counts_and_all_are_kept(tmp_path):
    releases.add(tmp_path, [releases.make_release(each, by="prof") for each in CLASS.submissions])
    releases.add(tmp_path, [releases.make_release(ann(with_override(7)), by="prof", reason="again")])
    found = releases.read(tmp_path)
    assert (found["ann"].reason, found["bob"].reason) == ("again", "")
    with Ledger(tmp_path) as ledger:
        assert ledger.rows("SELECT count(*) FROM releases") == [(4,)]


def test_the_digest_is_of_what_is_shown():
    plain = releases.make_release(ann(CLASS), by="prof")
    slower = [replace(check, seconds=9.0, basis="files:9") for check in ann(CLASS).tasks[0].checks]
    assert (
        releases.make_release(
            replace(ann(CLASS), tasks=(replace(ann(CLASS).tasks[0], checks=tuple(slower)),)), by="x"
        ).digest
        == plain.digest
    )
    assert releases.make_release(ann(with_override(7)), by="prof").digest != plain.digest


def test_fewer_points_than_were_released_are_found():
    high, low = releases.make_release(ann(with_override(7)), by="prof"), ann(CLASS)
    assert [(each.task, each.check, each.before, each.now) for each in releases.lowered(high, low)] == [
        ("macs", "total", 7, 6),
        ("", "", 7, 6),
    ]
    assert releases.lowered(releases.make_release(low, by="prof"), ann(with_override(7))) == []
    assert releases.lowered(high, ann(with_override(7))) == []


def test_points_lost_in_hidden_checks_and_through_deductions_are_found_in_the_total():
    best = releases.make_release(ann(with_override(5, "secret")), by="prof")
    (total,) = releases.lowered(best, ann(CLASS))
    assert (total.check, total.before, total.now) == ("", 11, 6)
    late = replace(ann(CLASS), deductions=(Deduction(lab="lab2", points=Fraction(1), why="late"),))
    (cut,) = releases.lowered(releases.make_release(ann(CLASS), by="prof"), late)
    assert (cut.before, cut.now) == (6, 5)


def test_a_check_that_is_gone_is_fewer_points():
    made = releases.make_release(ann(CLASS), by="prof")
    task = ann(CLASS).tasks[0]
    gone = replace(ann(CLASS), tasks=(replace(task, checks=task.checks[1:]),))
    assert [*map(str, releases.lowered(made, gone))] == [
        "macs total: 6 before, there is no such check any more",
        "all: 6 before, 0 now",
    ]


def test_one_check_may_fall_while_the_total_rises():
    one = replace(
        ann(CLASS),
        tasks=(
            replace(
                ann(CLASS).tasks[0],
                checks=(graded("a", 2, correct()), graded("b", 5, incorrect(""))),
            ),
        ),
    )
    other = replace(
        one,
        tasks=(
            replace(
                one.tasks[0],
                checks=(graded("a", 2, incorrect("")), graded("b", 5, correct())),
            ),
        ),
    )
    (only,) = releases.lowered(releases.make_release(one, by="prof"), other)
    assert (only.check, only.before, only.now) == ("a", 2, 0)


def test_a_view_that_was_tampered_with_is_found(tmp_path):
    releases.add(tmp_path, [releases.make_release(ann(CLASS), by="prof")])
    with sqlite3.connect(tmp_path / database.NAME) as connection:
        connection.execute("DROP TRIGGER releases_UPDATE")
        connection.execute("UPDATE releases SET view = x'00'")
    connection.close()
    with pytest.raises(UsageError, match=r"what was released to 'ann' is damaged in 'results.sqlite'"):
        releases.read(tmp_path)
