"""The checker `between`."""

from __future__ import annotations

from fractions import Fraction

import pytest

from checkers.between import between
from labgrade.values import Number
from labgrade.verdict import Outcome


def number(value: int | str) -> Number:
    return Number(value=Fraction(value))


@pytest.mark.parametrize("value", [8, "10.5", 12])
def test_the_bounds_are_included(value):
    verdict = between(number(value), None, low=8, high=12)
    assert verdict.outcome is Outcome.CORRECT
    assert verdict.facts["allowed"] == "8 to 12"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("7.999", "got 7.999, which is not right"),
        ("12.001", "got 12.001, which is not right"),
        (10**400, "got about 10^400, which is too big, by a factor of more than 1,000,000,000"),
    ],
)
def test_just_outside(value, reason):
    verdict = between(number(value), None, low=8, high=12)
    assert (verdict.outcome, verdict.reason) == (Outcome.INCORRECT, reason)


def test_bounds_are_the_decimals_that_were_written():
    assert between(number("0.3"), None, low=0.1, high=0.3).credit == 1  # as a binary fraction, 0.3 is less than 3/10
    assert between(number("0.1"), None, low=0.1, high=0.3).credit == 1  # and 0.1 is more than 1/10


def test_bounds_may_be_infinite():
    assert between(number(10**400), None, low=8, high=float("inf")).credit == 1
    assert between(number(-1), None, low=float("-inf"), high=0.0).credit == 1
