"""A value up to the limit is right, one above is not, by however little."""

from fractions import Fraction

import pytest

from checkers.at_most import at_most
from labgrade.values import Number
from labgrade.verdict import Outcome


@pytest.mark.parametrize(("value", "right"), [(64, True), (63, True), (65, False), (-1, True), (0, True)])
def test_the_limit_is_included(value, right):
    verdict = at_most(Number(value=Fraction(value)), None, limit=64)
    assert (verdict.credit == 1) == right
    assert verdict.reason == (f"{value} is not above 64" if right else f"got {value}, which is above 64")


def test_a_decimal_limit_is_the_one_that_was_written():
    assert at_most(Number(value=Fraction(3, 10)), None, limit=0.3).credit == 1
    assert at_most(Number(value=Fraction(3, 10) + Fraction(1, 10**30)), None, limit=0.3).credit == 0


def test_what_is_no_number_is_refused():
    verdict = at_most("many", None, limit=64)
    assert verdict.outcome is Outcome.INCORRECT
    assert verdict.reason == "got 'many', expected a number of at most 64"
