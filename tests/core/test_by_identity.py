"""What is kept for the very objects that a function was called with."""

import pytest

from labgrade.core.by_identity import ByIdentity


def test_the_same_objects_are_worked_on_once_and_equal_ones_are_others():
    called = []
    length = ByIdentity(lambda some, _: called.append(some) or len(some), most=9)
    kind, some, equal = "rows", [1, 2], [1, 2]
    assert [length(some, kind), length(some, kind), length(equal, kind), length(some, kind)] == [2] * 4
    assert [id(each) for each in called] == [id(some), id(equal)]


def test_an_object_that_is_gone_lends_its_identity_to_no_other():
    total = ByIdentity(sum, most=2)
    assert [total([number]) for number in range(50)] == [*range(50)]


def test_those_used_last_are_kept():
    called = []
    same = ByIdentity(lambda each: called.append(each) or each, most=2)
    one, two, three = ["one"], ["two"], ["three"]
    for each in (one, two, one, three, one, two):
        assert same(each) is each
    assert called == [one, two, three, two]


def test_nothing_is_kept_of_what_fails():
    answers = iter([ValueError("no"), 1])

    def ask(_):
        if isinstance(answer := next(answers), ValueError):
            raise answer
        return answer

    kept, asked = ByIdentity(ask, most=2), object()
    with pytest.raises(ValueError, match="no"):
        kept(asked)
    assert kept(asked) == kept(asked) == 1
