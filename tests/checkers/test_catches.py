"""A verification is worth the share of wrong files that it rejects, once it accepts the right ones."""

from fractions import Fraction

import pytest

from checkers.catches import catches
from labgrade.values import Number, Row, Table
from labgrade.verdict import Outcome


def said(**verdicts):
    rows = [Row(name=name.replace("_", ": ", 1), cells={"verdict": verdict}) for name, verdict in verdicts.items()]
    return Table(rows=tuple(rows))


def test_all_told_apart_is_right():
    verdict = catches(said(right_a="accepted", wrong_b="rejected", wrong_c="rejected"), None)
    assert verdict.outcome is Outcome.CORRECT
    assert verdict.reason == "2 of 2 wrong files are rejected, and the right one accepted"


def test_where_there_is_no_right_file_nothing_is_said_of_one():
    assert catches(said(wrong_b="rejected"), None).reason == "1 of 1 wrong files is rejected"


def test_what_is_let_through_is_named_and_costs_its_share():
    verdict = catches(said(right_a="accepted", wrong_b="rejected", wrong_c="accepted", wrong_d="failed: X"), None)
    assert verdict.credit == Fraction(1, 3)
    assert verdict.reason.endswith("let through: 'c', 'd'")


@pytest.mark.parametrize("refusal", ["rejected", "failed: ValueError", "neither true nor false"])
def test_rejecting_a_right_file_costs_everything(refusal):
    verdict = catches(said(right_a=refusal, right_b="accepted", wrong_c="rejected"), None)
    assert verdict.outcome is Outcome.INCORRECT
    assert verdict.reason == f"1 of 2 right files is not accepted: 'a ({refusal})'"


def test_a_verification_that_accepts_everything_catches_nothing():
    assert catches(said(right_a="accepted", wrong_b="accepted"), None).outcome is Outcome.INCORRECT


def test_what_is_no_table_is_refused():
    assert catches(Number(value=Fraction(1)), None).outcome is Outcome.INCORRECT
