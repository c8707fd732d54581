"""What has to hold in each row of a table."""

from fractions import Fraction

import pytest

from checkers.each_row import each_row
from labgrade.values import Number, Row, Table
from labgrade.verdict import Outcome


def table(**columns):
    names = list(columns)
    rows = zip(*columns.values(), strict=True)
    return Table(
        rows=tuple(
            Row(name=f"r{at}", cells={n: Number(value=Fraction(str(v))) for n, v in zip(names, row, strict=True)})
            for at, row in enumerate(rows)
        )
    )


@pytest.mark.parametrize(
    ("holds", "right"),
    [
        ("flops == 2 * n ** 3", 2),
        ("flops == n ** 3", 0),
        ("0 < seconds <= 2", 1),
        ("seconds < 3", 2),
        ("flops / seconds >= 16", 1),
        ("-seconds < 0", 2),
        ("seconds > 2.5", 0),
    ],
)
def test_the_credit_is_the_share_of_rows_in_which_it_holds(holds, right):
    found = each_row(table(n=[2, 4], flops=[16, 128], seconds=[2, 2.5]), None, holds=[holds])
    assert found.credit == Fraction(right, 2)
    assert right == 2 or found.reason.startswith("'r")


def test_all_of_it_has_to_hold():
    found = each_row(table(n=[2, 4], a=[4, 15], b=[8, 64]), None, holds=["a == n ** 2", "b == n ** 3"])
    assert found.credit == Fraction(1, 2)
    assert found.reason == "'r1': a is 15, which is not n ** 2, 16"


def test_a_factor_that_all_rows_share_is_said():
    found = each_row(table(n=[2, 4], flops=[8, 64]), None, holds=["flops == 2 * n ** 3"])
    assert found.outcome is Outcome.INCORRECT
    assert found.hint == "In each row `flops` is 0.5 times `2 * n ** 3`."


def test_few_digits_that_were_printed_are_enough_for_a_column_that_stands_alone():
    cells = {"n": Number(value=Fraction(100)), "flops": Number(value=Fraction(2100000), half_unit=Fraction(50000))}
    own = Table(rows=(Row(name="a", cells=cells),))
    assert each_row(own, None, holds=["flops == 2 * n ** 3"]).credit == 0
    assert each_row(own, None, holds=["flops == 2.06 * n ** 3"]).credit == 1


def test_what_can_not_be_divided_is_wrong_and_no_failure():
    assert each_row(table(a=[1], b=[0]), None, holds=["a / b > 1"]).reason == "'r0': a / b > 1 comes to a division by 0"


def test_rows_that_can_not_be_divided_share_no_factor():
    found = each_row(table(rate=[4, 3], flops=[4, 4], seconds=[2, 0]), None, holds=["rate == flops / seconds"])
    assert found.reason.startswith("'r0': rate is 4, which is not flops / seconds, 2")
    assert not found.hint


def test_a_row_without_a_number_waits():
    own = Table(rows=(Row(name="a", cells={"n": Number(value=Fraction(1))}), Row(name="b", cells={"n": None})))
    assert each_row(own, None, holds=["n > 0"]).outcome is Outcome.MANUAL


@pytest.mark.parametrize(
    "holds",
    ["n", "n = 2", "1 < 2", "n in 3", "f(n) > 1", "n ** m > 1", "n ** 99 > 1", "n > 'a'", "n > True", "n < 1e999", ""],
)
def test_what_compares_nothing_is_refused_with_an_example(holds):
    with pytest.raises(ValueError, match="write it as `flops == 2"):
        each_row(table(n=[1]), None, holds=[holds])
