"""The checker `equal`: near misses of every kind of value that it judges."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from checkers.at_most import at_most
from checkers.between import between
from checkers.close import close
from checkers.equal import equal
from labgrade.values import Number, Table
from labgrade.verdict import Outcome


def exact(value: int | str) -> Number:
    return Number(value=Fraction(value))


def printed(text: str, *, unit: int = 1) -> Number:
    """A number with the precision of its decimal places."""
    places = len(text.partition(".")[2])
    return Number(
        value=Fraction(text) * unit,
        half_unit=Fraction(unit, 2 * 10**places),
        digits=len(text.replace(".", "").lstrip("0")),
        text=text,
    )


MACS = exact(1_498_376_192)
GIGA = 10**9


def test_an_exact_number_is_right():
    verdict = equal(MACS, MACS, digits=4)
    assert verdict.outcome is Outcome.CORRECT
    assert verdict.facts == {"got": "1,498,376,192", "expected": "1,498,376,192", "off": "0", "allowed": "0"}


@pytest.mark.parametrize(
    ("got", "expected", "reason"),
    [
        (1_356_857_600, 1_498_376_192, "got 1,356,857,600, which is off by less than a factor of 2"),
        (1_498_376_193, 1_498_376_192, "got 1,498,376,193, which is off by less than a factor of 2"),
        (2_996_752_384, 1_498_376_192, "got 2,996,752,384, which is too big"),
        (800, 100, "got 800, which is too big"),
        (100, 800, "got 100, which is too small"),
        (1, 410_592, "got 1, which is too small, by a factor of more than 10,000"),
        (26_499_616, 26, "got 26,499,616, which is too big, by a factor of more than 100,000"),
        (3_504, 1_000, "got 3,504, which is too big"),
        (10**400, 57, "got about 10^400, which is too big, by a factor of more than 1,000,000,000"),
        (-(10**30), 70, "got about -10^30, which has the wrong sign"),
        (0, 57, "got 0, which is too small"),
        (-57, 57, "got -57, which has the wrong sign"),
        (5, 0, "got 5, which is not right"),
        (-8280, 0, "got -8,280, which is too big, by a factor of more than 100"),
        (100_001, 3, "got 100,001, which is too big, by a factor of more than 1,000"),
        ("0.25", 0, "got 0.25, which is not right"),
        (15, 1, "got 15, which is not right"),
        (16, 15, "got 16, which is too big"),
        (56, 57, "got 56, which is off by less than a factor of 2"),
    ],
)
def test_a_wrong_number_says_how_far_off_it_is(got, expected, reason):
    verdict = equal(exact(got), exact(expected))
    assert verdict.outcome is Outcome.INCORRECT
    assert verdict.reason == reason
    assert not verdict.agrees


@pytest.mark.parametrize("text", ["1.498", "1.4984", "1.49838"])
def test_a_rounded_number_with_enough_digits_is_right(text):
    assert equal(printed(text, unit=GIGA), MACS, digits=4).outcome is Outcome.CORRECT


def test_bare_digits_are_shown_with_separators():
    got = Number(value=Fraction(1_356_857_600), text="1356857600")
    assert equal(got, MACS).reason.startswith("got 1,356,857,600, which")


@pytest.mark.parametrize("text", ["1.497", "1.499", "1.4983", "1.4985"])
def test_a_rounded_number_one_unit_off_is_not_right(text):
    assert equal(printed(text, unit=GIGA), MACS, digits=4).outcome is not Outcome.CORRECT


def test_the_half_unit_itself_is_allowed_and_the_next_number_is_not():
    assert equal(printed("1.498", unit=1000), exact(1498), digits=4).credit == 1
    assert equal(printed("1.49", unit=1000), exact(1495)).credit == 1
    assert equal(printed("1.49", unit=1000), exact("1495.001")).credit == Fraction(1, 2)  # cut, not rounded
    assert equal(printed("1.49", unit=1000), exact(1484)).credit == 0
    assert equal(printed("1.49", unit=1000), exact(1503)).credit == 0
    assert equal(printed("1.5", unit=1000), exact(1550)).agrees
    assert not equal(printed("1.5", unit=1000), exact(1551)).agrees


def test_the_expected_value_may_be_rounded_itself():
    assert equal(exact(1495), printed("1.49", unit=1000)).outcome is Outcome.CORRECT
    assert equal(exact(1496), printed("1.49", unit=1000)).outcome is Outcome.INCORRECT


def test_too_few_digits_agree_but_get_half():
    verdict = equal(printed("1.50", unit=GIGA), MACS, digits=4)
    assert (verdict.outcome, verdict.credit, verdict.agrees) == (Outcome.PARTIAL, Fraction(1, 2), True)
    assert verdict.reason == "got 1.50, which agrees with the expected value as far as it was printed"
    assert verdict.hint == "print more digits: at least 4 significant digits are needed"
    assert equal(printed("1.50", unit=GIGA), MACS, digits=3).credit == 1


def test_few_digits_wait_only_where_further_ones_could_be_right():
    wanted = exact(12_000_000)
    assert "digits" not in equal(printed("0.21", unit=1_000_000), wanted, digits=4).facts
    assert equal(printed("0.21", unit=1_000_000), wanted, digits=4).reason.endswith("by a factor of more than 10")
    assert "digits" not in equal(printed("20", unit=1_000_000), wanted, digits=4).facts
    assert "digits" in equal(printed("15", unit=1_000_000), wanted, digits=4).facts  # of the same power of two
    assert "digits" in equal(printed("16.8", unit=1_000_000), wanted, digits=4).facts  # may be below 2 ** 24 or above


def test_few_digits_that_are_all_there_is_are_enough():
    assert equal(printed("1.5"), exact("1.5"), digits=4).outcome is Outcome.CORRECT
    assert equal(exact(57), exact(57), digits=4).outcome is Outcome.CORRECT


def test_zeros_are_no_digits():
    verdict = equal(Number(value=Fraction(0), half_unit=Fraction(1, 2), digits=4, text="0.000"), exact("0.3"))
    assert (verdict.outcome, verdict.agrees) == (Outcome.INCORRECT, True)
    assert equal(Number(value=Fraction(0), half_unit=Fraction(1, 2), digits=1), exact("0.3"), digits=1).credit == 0
    assert equal(Number(value=Fraction(0), half_unit=Fraction(1, 2), digits=1), exact(0)).credit == 1


def test_a_single_digit_earns_nothing_where_more_are_asked_for():
    verdict = equal(printed("1", unit=GIGA), exact(1_200_000_000))
    assert (verdict.outcome, verdict.agrees) == (Outcome.INCORRECT, True), "nothing speaks of a mistake"
    assert verdict.reason == "got 1,000,000,000, which says too little to be judged"
    assert not equal(printed("1", unit=GIGA), exact(1_600_000_000)).agrees
    assert verdict.hint == "print more digits: at least 3 significant digits are needed"
    assert equal(printed("1.2", unit=GIGA), exact(1_200_000_001)).credit == Fraction(1, 2)
    assert equal(printed("1", unit=GIGA), exact(1_200_000_000), digits=1).credit == 1


def test_a_number_that_was_cut_gets_half_and_does_not_agree():
    verdict = equal(printed("1.49", unit=GIGA), MACS)
    assert (verdict.outcome, verdict.credit, verdict.agrees) == (Outcome.PARTIAL, Fraction(1, 2), False)
    assert verdict.reason == "got 1.49, which is the expected value with its last digits cut off"
    assert verdict.hint == "rounded it would be right: round, don't cut"
    assert equal(printed("0.149"), exact("0.1498")).credit == Fraction(1, 2)


@pytest.mark.parametrize(("text", "expected"), [("1.48", MACS), ("1.51", MACS), ("1", exact(1_600_000_000))])
def test_what_is_not_cut_or_has_too_few_digits_gets_nothing(text, expected):
    assert equal(printed(text, unit=GIGA), expected).outcome is Outcome.INCORRECT


def test_a_negative_number_may_be_cut_too():
    cut = Number(value=Fraction("-1.49"), half_unit=Fraction("0.005"), digits=3, text="-1.49")
    assert equal(cut, exact("-1.498")).hint.startswith("rounded")
    assert equal(cut, exact("1.498")).reason == "got -1.49, which is not right"


@pytest.mark.parametrize(
    ("got", "reason", "hint"),
    [
        ((1, 64, 55, 56), "got 1x64x55x56, which is not what is expected", ""),
        ((1, 64, 55, 55), "got 1x64x55x55, which is not what is expected", ""),
        ((64, 1, 56, 56), "got 64x1x56x56, the right sizes in the wrong order", ""),
        (
            (64, 56, 56),
            "got 64x56x56, which has 3 dimensions where 4 are expected",
            "the rest agrees: one dimension is left out at an end, such as the batch",
        ),
        (
            (1, 64, 56),
            "got 1x64x56, which has 3 dimensions where 4 are expected",
            "the rest agrees: one dimension is left out at an end, such as the batch",
        ),
        ((64, 56, 55), "got 64x56x55, which has 3 dimensions where 4 are expected", ""),
        ((), "got a shape without dimensions, which has 0 dimensions where 4 are expected", ""),
    ],
)
def test_a_wrong_shape_says_where(got, reason, hint):
    verdict = equal(got, (1, 64, 56, 56))
    assert (verdict.credit, verdict.reason, verdict.hint) == (0, reason, hint)


def test_right_shapes_and_texts():
    assert equal((1, 64, 56, 56), (1, 64, 56, 56)).credit == 1
    assert equal((), ()).credit == 1
    assert equal("  Conv2d\n ReLU", "Conv2d ReLU").credit == 1


@pytest.mark.parametrize(
    ("got", "reason"),
    [
        ("conv2D", "got 'conv2D', which differs in upper and lower case only"),
        ("Conv2", "got 'Conv2', which is not what is expected"),
        ("x" * 60, f"got '{'x' * 60}', which is not what is expected"),
        ("x" * 99, f"got '{'x' * 57}...', which is not what is expected"),
    ],
)
def test_a_wrong_text(got, reason):
    verdict = equal(got, "Conv2d")
    assert (verdict.credit, verdict.reason) == (0, reason)


OPERATORS = {"Conv": exact(57), "Relu": exact(57), "MaxPool": exact(13), "Constant": exact(0)}


def test_a_histogram_is_right_and_names_without_any_may_be_left_out():
    assert equal({"MaxPool": exact(13), "Relu": exact(57), "Conv": exact(57)}, OPERATORS).credit == 1
    assert equal(OPERATORS | {"Gemm": exact(0)}, OPERATORS).credit == 1
    assert equal({}, {}).credit == 1


def test_a_histogram_gets_the_share_of_names_that_are_right():
    got = {"Conv": exact(57), "Relu": exact(56), "Gemm": exact(1)}
    verdict = equal(got, OPERATORS)
    assert (verdict.outcome, verdict.credit, verdict.agrees) == (Outcome.PARTIAL, Fraction(1, 4), False)
    assert verdict.reason == (
        "1 of 3 names is right; the first wrong one is 'Relu': got 56, which is off by less than a factor of 2; "
        "missing: 'MaxPool'; not expected: 'Gemm'"
    )
    assert verdict.facts["got"] == "Conv 57, Relu 56, Gemm 1"
    assert equal({}, OPERATORS).credit == 0


def test_a_histogram_names_at_most_five():
    five = {f"op{number}": exact(1) for number in range(5)}
    assert equal({}, five).reason == "0 of 5 names are right; 5 missing: 'op0', 'op1', 'op2', 'op3', 'op4'"
    got = {f"op{number}": exact(1) for number in range(7)}
    assert (
        equal(got, {}).reason == "0 of 0 names are right; 7 not expected: 'op0', 'op1', 'op2', 'op3', 'op4' and 2 more"
    )


def test_a_histogram_of_numbers_with_too_few_digits_agrees():
    verdict = equal({"Conv": printed("1.5", unit=GIGA)}, {"Conv": MACS})
    assert (verdict.credit, verdict.agrees) == (Fraction(1, 2), True)
    assert verdict.hint == "print more digits: at least 3 significant digits are needed"
    assert not equal({"Conv": printed("1.5", unit=GIGA)}, {"Conv": MACS, "Relu": exact(5)}).agrees
    assert not equal({"Conv": printed("1.5", unit=GIGA), "Relu": exact(5)}, {"Conv": MACS}).agrees


@pytest.mark.parametrize(
    ("got", "shown"),
    [
        ((57,), "57"),
        (None, "nothing"),
        ({"a": exact(57)}, "a dict"),
        ({"a": np.ones(2)}, "a dict"),
        (Table(), "a Table"),
    ],
)
def test_another_kind_of_value_is_wrong(got, shown):
    verdict = equal(got, exact(57))
    assert verdict.outcome is Outcome.INCORRECT
    assert verdict.reason == f"got {shown}, which cannot be compared with what is expected"


def test_named_tensors_are_no_histogram():
    named = {"a": np.ones(2)}
    assert equal(named, named).credit == 0


@pytest.mark.parametrize("listed", ["x, w, b", "x,w,b", "['x', 'w', 'b']", "(x; w; b)", "x , w,b,"])
def test_names_in_a_text_are_the_same_whatever_joins_them(listed):
    assert equal(listed, "x, w, b").outcome is Outcome.CORRECT
    assert equal(listed, "x, b, w").outcome is Outcome.INCORRECT


def test_a_text_in_place_of_a_number_or_a_shape_is_quoted():
    assert equal("few", exact(57)).reason == "got 'few', which is no number"
    assert equal("few", (1, 2)).reason == "got 'few', which is no shape"


BELOW = ("0.3", "0.6", "0.7", "2.3", "1.1", "4.35", "0.1")  # whose doubles lie below or above their decimals


@pytest.mark.parametrize("text", BELOW)
def test_decimals_are_compared_as_they_are_written(text):
    """Of a float in a spec its decimals count, not the double beside them."""
    expected = Number(value=Fraction(float(text)), text=text)
    unit = Decimal(1).scaleb(Decimal(text).as_tuple().exponent - 3)
    one_below, cut = str(Decimal(text) - unit), str(Decimal(text) - 3 * unit / 10)
    for answer in (printed(one_below), Number(value=Fraction(float(one_below)), text=one_below)):
        for verdict in (equal(answer, expected), close(answer, expected, rtol=0, atol=0)):
            assert (verdict.outcome, verdict.credit) == (Outcome.INCORRECT, 0), (one_below, verdict.reason)
    assert equal(printed(text + "000"), expected).credit == 1
    assert equal(exact(text), expected).facts["off"] == "0"
    assert equal(printed(cut[:-1]), exact(cut)).reason.endswith("with its last digits cut off")
    assert between(Number(value=Fraction(float(text)), text=text), None, low=float(text), high=float(text)).credit == 1
    assert at_most(Number(value=Fraction(float(text)), text=text), None, limit=float(text)).credit == 1


def test_a_number_that_no_decimal_stands_for_is_what_it_is():
    third = Number(value=Fraction(1, 3))
    assert third.written == Fraction(1, 3)
    assert Number(value=Fraction(1, 2**1100)).written == Fraction(1, 2**1100)
    assert Number(value=Fraction(2**1100 + 1, 2)).written == Fraction(2**1100 + 1, 2)
