"""Masks: what has to stay, and how many of equal elements."""

from fractions import Fraction

import numpy as np

from checkers.keeps import keeps
from labgrade.verdict import Outcome

EXPECTED = {"a": np.array([1, 0, 0.5, 0.5]), "b": np.array([1.0, 0.0])}
RIGHT = {"a": np.array([3.0, 0, 0, 2.0]), "b": np.array([1, 0])}


def test_any_of_equal_ones_may_stay():
    assert keeps(RIGHT, EXPECTED).outcome is Outcome.CORRECT
    assert keeps({**RIGHT, "a": np.array([1, 0, 1, 0])}, EXPECTED, scope="all").outcome is Outcome.CORRECT


def test_a_layer_that_is_not_there_costs_its_own_share():
    found = keeps({"b": RIGHT["b"]}, EXPECTED)
    assert found.credit == Fraction(1, 2)
    assert found.reason == "'a': nothing was handed in under this name"
    assert keeps({"other": RIGHT["b"]}, EXPECTED).outcome is Outcome.INCORRECT


def test_too_many_of_equal_ones_cost_the_share_of_their_layer():
    found = keeps({**RIGHT, "a": np.array([1, 0, 1, 1])}, EXPECTED)
    assert found.credit == Fraction(1, 2)
    assert found.reason == "'a': of equal weights at the threshold 2 are kept, and 1 should be"
    in_all = keeps({**RIGHT, "a": np.array([1, 0, 1, 1])}, EXPECTED, scope="all")
    assert in_all.credit == 0
    assert in_all.reason == "of equal weights at the threshold 2 are kept, and 1 should be"
