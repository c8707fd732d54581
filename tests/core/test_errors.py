"""Names that are looked up: what is there is found, and a message for what is not offers what is near."""

from __future__ import annotations

import pytest

from labgrade.core.did_you_mean import look_up, offer
from labgrade.core.errors import UsageError


def test_what_is_there_is_found():
    assert look_up("b", {"a": 1, "b": 2}, "task") == 2


def test_the_closest_name_is_offered():
    with pytest.raises(UsageError, match=r"^there is no task 'macz' in 'results'; did you mean 'macs'\?$"):
        look_up("macz", {"macs": 1, "params": 2}, "task", "'results'")


def test_without_a_close_name_the_first_are_listed():
    many = [f"n{number}" for number in range(20)]
    with pytest.raises(UsageError, match=r"^there is no lab 'x'; there is n0, n1, n2, n3, n4, n5, n6, n7, [.]{3}$"):
        look_up("x", dict.fromkeys(many), "lab")
    assert offer("x", many[:2], 2) == "; there is n0, n1"
    assert offer("x", []) == ""
