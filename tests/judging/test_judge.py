"""The order of the language: right, also right, misconceptions, partly; and never two claims."""

from dataclasses import replace
from fractions import Fraction
from functools import partial as partial_of

import pytest

from checkers.between import between
from checkers.same_rows import same_rows
from labgrade.core.errors import NoSuchSlipError
from labgrade.core.task import Alternative, Check, LiteralValue, QuantityCall, RangeCredit
from labgrade.judging.judge import judge, with_parameters
from labgrade.values import Number, Row, Table
from labgrade.verdict import Outcome, correct, incorrect, partial


def number(value, half_unit=0, digits=None):
    return Number(value=Fraction(value), half_unit=Fraction(half_unit), digits=digits)


def judging(answer, expected):
    off = abs(answer.value - expected.value)
    if off > answer.half_unit:
        return incorrect(f"off by {off}")
    if answer.digits is not None and answer.digits < 3:
        return partial(0.5, "too few digits", agrees=True)
    return correct()


def expect(source):
    return number(source.value)


def known(value, says="mistake", credit=0):
    return Alternative(source=LiteralValue(value=value), says=says, credit=Fraction(credit))


def verdict(answer, **parts):
    check = Check(id="c", points=Fraction(10), answer="a", expected=LiteralValue(value=1000), **parts)
    return judge(check, answer, judging, expect)


def test_right_is_right_even_where_a_misconception_has_the_same_value():
    found = verdict(number(1000), misconceptions=(known(1000),))
    assert found.outcome is Outcome.CORRECT
    assert not found.hint


def test_a_number_that_was_taken_as_printed_is_judged_with_its_prefix():
    printed = Number(value=Fraction(2), text="2.000 kFLOP")
    assert verdict(printed, misconceptions=(known(2000),)).hint == "mistake"


def test_another_convention_is_right_and_says_which():
    found = verdict(number(1010), also_right=(known(1010, "with the bias", 1),))
    assert found.outcome is Outcome.CORRECT
    assert found.reason == "right: with the bias"
    assert not {"expected", "off"} & set(found.facts)  # of a value that was meant otherwise


def test_a_misconception_speaks_and_gives_its_credit():
    found = verdict(number(2000), misconceptions=(known(2000, "these are FLOPs", Fraction(4, 5)), known(3000)))
    assert found.outcome is Outcome.PARTIAL
    assert found.credit == Fraction(4, 5)
    assert found.hint == "these are FLOPs"
    assert found.reason == "off by 1000"


def tolerant(answer, expected):
    return correct() if abs(answer.value - expected.value) <= Fraction(1, 10) else incorrect("no")


@pytest.mark.parametrize(
    ("printed", "fits"),
    [
        (number("0.3"), True),
        (number(Fraction(0.3)), True),  # computed in floating point
        (number("0.300", Fraction(1, 2000), 3), True),
        (number("0.400", Fraction(1, 2000), 3), False),  # within the checker's tolerance of it, and another number
        (number("0.31"), False),
        (number("0.3", Fraction(1, 20), 1), False),  # one digit agrees with too much
    ],
)
def test_a_misconception_is_matched_as_printed_and_never_by_the_tolerance_of_right_values(printed, fits):
    check = Check(
        id="c",
        points=Fraction(10),
        answer="a",
        expected=LiteralValue(value=30),
        misconceptions=(known("0.3", "a share, not per cent", Fraction(4, 5)),),
    )
    found = judge(check, printed, tolerant, expect)
    assert (found.hint, found.credit) == (("a share, not per cent", Fraction(4, 5)) if fits else ("", 0))


def test_a_whole_number_is_no_mistake_that_is_one_off():
    assert verdict(number(2000001), misconceptions=(known(2000000, "FLOPs", 0),)).hint == ""


def test_values_that_were_written_down_are_of_other_files_than_what_a_function_computed():
    written = {"also_right": (known(105, "of another export", 1),), "misconceptions": (known(170, "a slip"),)}
    check = Check(id="c", points=Fraction(10), answer="a", expected=QuantityCall(quantity="macs"), **written)

    def expect(source):
        return number(getattr(source, "value", 1000))

    for value, read, computed in ((105, Outcome.CORRECT, Outcome.INCORRECT), (1000, Outcome.CORRECT, Outcome.CORRECT)):
        assert judge(check, number(value), judging, expect).outcome is read
        assert judge(check, number(value), judging, expect, computed=True).outcome is computed
    assert judge(check, number(170), judging, expect).hint == "a slip"
    assert judge(check, number(170), judging, expect, computed=True).hint == ""


def test_a_misconception_without_credit_is_incorrect():
    assert verdict(number(2000), misconceptions=(known(2000),)).outcome is Outcome.INCORRECT


def test_a_near_miss_of_a_misconception_claims_nothing():
    found = verdict(number(2001), misconceptions=(known(2000),))
    assert found.hint == ""
    assert found.outcome is Outcome.INCORRECT


def test_where_two_misconceptions_fit_both_are_told_and_the_least_is_earned():
    found = verdict(number(2000), misconceptions=(known(2000, "one", 0.5), known(2000, "two", 0.25)))
    assert found.hint == "One of these, which give the same here: (1) one (2) two"
    assert found.credit == Fraction(1, 4)
    assert found.fits == ("one", "two")


@pytest.mark.parametrize(("digits", "hint"), [(1, ""), (2, ""), (3, "mistake")])
def test_a_number_with_few_digits_claims_no_misconception(digits, hint):
    found = verdict(number(2000, 40, digits), misconceptions=(known(2010),))
    assert found.hint == hint


def test_a_table_with_few_digits_claims_no_misconception():
    def rough(answer, expected):
        return partial(0.5, "too few digits", agrees=True) if expected.value == 2000 else incorrect("wrong")

    check = Check(
        id="c", points=Fraction(10), answer="a", expected=LiteralValue(value=1000), misconceptions=(known(2000),)
    )
    assert judge(check, Table(), rough, expect).hint == ""
    assert judge(check, number(2000), rough, expect).hint == "mistake"


def test_too_few_digits_of_the_right_value_is_not_a_misconception():
    found = verdict(number(1000, 500, 1), misconceptions=(known(1200, "wrong", 0),))
    assert found.outcome is Outcome.PARTIAL
    assert found.reason == "too few digits"


def test_too_few_digits_that_fit_another_convention_better_stay_partial():
    found = verdict(number(1000, 500, 1), also_right=(known(1300, "other", 1),))
    assert found.reason == "too few digits"


@pytest.mark.parametrize(("value", "credit"), [(1001, Fraction(3, 5)), (1500, Fraction(3, 5)), (1501, 0), (999, 0)])
def test_partly_has_bounds(value, credit):
    bounds = RangeCredit(above=Fraction(1000), at_most=Fraction(1500), credit=Fraction(3, 5), says="valid, but more")
    found = verdict(number(value), partly=(bounds,))
    assert found.credit == credit


def test_a_misconception_comes_before_the_range_that_it_lies_in():
    bounds = RangeCredit(at_least=Fraction(1500), below=Fraction(1600), credit=Fraction(1, 2), says="more than needed")
    found = verdict(number(1500), partly=(bounds,), misconceptions=(known(1500, "mistake", Fraction(1, 4)),))
    assert (found.hint, found.credit) == ("mistake", Fraction(1, 4))
    found = verdict(number(1501), partly=(bounds,), misconceptions=(known(1500),))
    assert (found.reason, found.credit) == ("more than needed", Fraction(1, 2))


def test_where_two_misconceptions_fit_the_range_speaks():
    bounds = RangeCredit(at_least=Fraction(1500), credit=Fraction(1, 2), says="more than needed")
    found = verdict(number(1500), partly=(bounds,), misconceptions=(known(1500, "one"), known(1500, "two")))
    assert found.reason == "more than needed"
    assert found.fits == ("one", "two")


@pytest.mark.parametrize(
    ("text", "value", "outcome"),
    [
        ("1,000 K", 1_000_000, Outcome.MANUAL),
        ("1,010 K", 1_010_000, Outcome.MANUAL),
        ("1,001 K", 1_001_000, Outcome.INCORRECT),
        ("1,000,000", 1_000_000, Outcome.INCORRECT),
        ("1000 K", 1_000_000, Outcome.INCORRECT),
    ],
)
def test_a_decimal_comma_that_would_make_it_right_waits_for_a_person(text, value, outcome):
    answer = Number(value=Fraction(value), half_unit=Fraction(500), digits=4, text=text)
    found = verdict(answer, also_right=(known(1010),))
    assert found.outcome is outcome
    if outcome is Outcome.MANUAL:
        assert found.reason.endswith(f"with a decimal comma, as '{text.replace(',', '.')}', it would be right")
        assert found.hint == "write decimals with a point"


@pytest.mark.parametrize(
    ("text", "value", "outcome"),
    [
        ("1.000", 1, Outcome.MANUAL),
        ("1.001", Fraction(1001, 1000), Outcome.INCORRECT),
        ("1.000 M", 1_000_000, Outcome.INCORRECT),
        ("1.0", 1, Outcome.INCORRECT),
    ],
)
def test_a_point_between_groups_that_would_make_it_right_waits_for_a_person(text, value, outcome):
    answer = Number(value=Fraction(value), digits=4, text=text)
    assert verdict(answer).outcome is outcome
    check = Check(id="c", points=Fraction(10), answer="a")
    assert judge(check, answer, partial_of(between, low=1000, high=1000), expect).outcome is outcome


@pytest.mark.parametrize(
    ("text", "value", "outcome"),
    [
        ("4,392.864", Fraction(4392864, 1000), Outcome.MANUAL),
        ("4.392,864 bytes", Fraction(4392864, 1000), Outcome.MANUAL),
        ("4,392.864 kB", Fraction(4392864, 1000), Outcome.INCORRECT),
        ("4,392.865", Fraction(4392865, 1000), Outcome.INCORRECT),
        ("4392.864", Fraction(4392864, 1000), Outcome.INCORRECT),
    ],
)
def test_groups_of_three_with_both_marks_wait_where_they_make_it_right(text, value, outcome):
    answer = Number(value=value, half_unit=Fraction(1, 2000), digits=7, text=text)
    found = verdict(answer, also_right=(known(4_392_864),))
    assert found.outcome is outcome
    if outcome is Outcome.MANUAL:
        assert found.suggestion.why == "'4,392,864' is right"


def test_what_a_checker_raises_is_not_swallowed():
    def broken(answer, expected):
        raise ZeroDivisionError

    check = Check(id="c", points=Fraction(1), answer="a", expected=LiteralValue(value=1))
    with pytest.raises(ZeroDivisionError):
        judge(check, number(1), broken, expect)


@pytest.mark.parametrize(
    ("kind", "parameters", "digits"), [("count", {}, 4), ("bytes", {}, 3), ("count", {"digits": 2}, 2)]
)
def test_four_digits_are_wanted_of_a_count(kind, parameters, digits):
    def checker(answer, expected, *, digits=3):
        return correct(str(digits))

    assert with_parameters(checker, {"digits": None}, parameters, kind)(None, None).reason == str(digits)


def test_a_checker_without_digits_is_given_none():
    def checker(answer, expected):
        return correct("ok")

    assert with_parameters(checker, {}, {}, "count")(None, None).reason == "ok"


def test_several_misconceptions_that_say_the_same_are_one_cause_with_the_smallest_credit():
    same = (known(2000, "shapes are unknown", Fraction(1, 2)), known(2000, "shapes are unknown", Fraction(2, 5)))
    found = verdict(number(2000), misconceptions=same)
    assert (found.hint, found.credit, found.fits) == ("shapes are unknown", Fraction(2, 5), ())
    found = verdict(number(2000), misconceptions=(*same, known(2000, "twice")))
    both = "One of these, which give the same here: (1) shapes are unknown (2) twice"
    assert (found.hint, found.outcome) == (both, Outcome.INCORRECT)


def test_a_slip_that_cannot_be_made_on_the_subject_is_no_candidate():
    def expect_or_nothing(source):
        if source.value == "none here":
            message = "there is no such value"
            raise NoSuchSlipError(message)
        return number(source.value)

    check = Check(
        id="c",
        points=Fraction(10),
        answer="a",
        expected=LiteralValue(value=1000),
        misconceptions=(known("none here", "the batch"), known(2000, "twice")),
    )
    assert judge(check, number(2000), judging, expect_or_nothing).hint == "twice"


def cells(**values):
    return {name: None if value is None else number(value) for name, value in values.items()}


def attributes(*rows):
    return Table(rows=tuple(Row(name=name, cells=cells(**values)) for name, values in rows))


# What is right, and the slip: floats are 0, and nothing is said of sizes.
RIGHT = attributes(("conv", {"group": 1, "height": 224, "width": 112}), ("gemm", {"alpha": 3, "height": None}))
ZEROS = attributes(("conv", {"group": 1}), ("gemm", {"alpha": 0}))
NO_FLOATS = attributes(("conv", {"group": 1, "height": 224, "width": 112}))
NO_FLOATS_EITHER = attributes(("conv", {"group": 1}))


@pytest.mark.parametrize(
    ("answer", "right", "slip", "claimed"),
    [
        (attributes(("conv", {"group": 1}), ("gemm", {"alpha": 0})), RIGHT, ZEROS, True),
        (attributes(("conv", {"group": 1, "height": 224, "width": 112}), ("gemm", {"alpha": 0})), RIGHT, ZEROS, True),
        (attributes(("conv", {"group": 1, "height": 112, "width": 224}), ("gemm", {"alpha": 0})), RIGHT, ZEROS, False),
        (attributes(("conv", {"group": 1, "height": 112, "width": 224})), NO_FLOATS, NO_FLOATS_EITHER, False),
        (attributes(("conv", {"group": 1, "height": 112})), NO_FLOATS, NO_FLOATS_EITHER, False),
        (attributes(("conv", {"group": 1})), NO_FLOATS, NO_FLOATS_EITHER, True),
        (attributes(("conv", {"group": 2})), NO_FLOATS, NO_FLOATS_EITHER, False),
    ],
)
def test_a_slip_is_claimed_only_where_it_explains_all_that_is_wrong(answer, right, slip, claimed):
    check = Check(
        id="c",
        points=Fraction(10),
        answer="a",
        expected=LiteralValue(value="right"),
        misconceptions=(Alternative(source=LiteralValue(value="slip"), says="floats are 0", credit=Fraction(1, 2)),),
    )
    tables = {"right": right, "slip": slip}
    checker = with_parameters(same_rows, {}, {"left_open": "wrong"}, None)
    found = judge(check, answer, checker, lambda source: tables[source.value])
    assert (found.hint == "floats are 0") is claimed


@pytest.mark.parametrize(
    ("slip", "claimed"),
    [
        (attributes(("a", {"quantile": 0}), ("b", {"quantile": 0})), False),
        (attributes(("a", {"quantile": 0}), ("b", {"quantile": 1})), True),
        (attributes(("a", {"quantile": 0, "kernel": 3}), ("b", {"quantile": 0, "kernel": 3})), True),
        (Table(rows=tuple(Row(name=name, cells={"quantile": number(0), "shape": (1, 2)}) for name in "ab")), True),
    ],
)
def test_a_slip_that_is_zero_in_all_rows_is_none(slip, claimed):
    call = QuantityCall(quantity="other_end")
    check = Check(
        id="c",
        points=Fraction(10),
        answer="a",
        expected=LiteralValue(value="right"),
        misconceptions=(Alternative(source=call, says="the other end", credit=Fraction(1, 2)),),
    )
    right = attributes(("a", {"quantile": 5, "kernel": 3}), ("b", {"quantile": 7, "kernel": 3}))
    found = judge(check, slip, same_rows, lambda source: slip if source is call else right)
    assert (found.hint == "the other end") is claimed


def test_a_known_mistake_in_a_table_whose_rows_bear_other_names():
    def table(*rows):
        cells = [(name, {"macs": number(macs), "flops": number(flops)}) for name, macs, flops in rows]
        return Table(rows=tuple(Row(name=name, cells=each) for name, each in cells))

    right = table(("features.0", 5, 10), ("features.3", 7, 14))
    right = Table(rows=tuple(replace(row, also_named=(f"conv{at}",)) for at, row in enumerate(right.rows, 1)))
    alike = known(table(("features.0", 5, 5), ("features.3", 7, 7)), "flops are twice", Fraction(1, 2))
    check = Check(id="c", points=Fraction(1), answer="a", expected=LiteralValue(value=right), misconceptions=(alike,))
    for names in (("conv1", "conv2"), ("features.0", "conv2")):
        given = table((names[0], 5, 5), (names[1], 7, 7))
        found = judge(check, given, same_rows, lambda source: source.value)
        assert (found.hint, found.credit) == ("flops are twice", Fraction(1, 2))
    other = judge(check, table(("conv1", 5, 5), ("conv2", 7, 8)), same_rows, lambda source: source.value)
    assert not other.hint


def test_rows_that_are_right_by_another_convention_earn_their_share():
    def table(*rows):
        return Table(rows=tuple(Row(name=name, cells={"macs": number(macs)}) for name, macs in rows))

    right, biased = table(("a", 5), ("b", 7), ("c", 9)), table(("a", 6), ("b", 8), ("c", 10))
    check = Check(
        id="c",
        points=Fraction(1),
        answer="a",
        expected=LiteralValue(value=right),
        also_right=(known(biased, "with the bias", Fraction(1)),),
    )

    def judged(*rows):
        return judge(check, table(*rows), same_rows, lambda source: source.value)

    found = judged(("a", 6), ("b", 8))
    assert (found.outcome, found.credit) == (Outcome.PARTIAL, Fraction(2, 3))
    assert found.notes == ("judged by another convention that is right: with the bias",)
    assert [each.right for each in found.rows] == [True, True, False]
    mixed = judged(("a", 5), ("b", 7), ("c", 10))
    assert (mixed.credit, mixed.notes) == (Fraction(2, 3), ())


def test_a_convention_that_earns_less_is_not_taken_for_a_mistake():
    less = known(1010, "with the bias", Fraction(1, 2))
    found = verdict(number(1010), also_right=(less,), misconceptions=(known(1010, "mistake"),))
    assert (found.hint, found.credit) == ("with the bias", Fraction(1, 2))


def test_where_what_is_right_is_written_down_mistakes_are_too():
    check = Check(id="c", points=Fraction(1), answer="a", expected=LiteralValue(value=1000))
    check = replace(check, misconceptions=(known(2000),), also_right=(known(3000, "thrice", Fraction(1)),))
    assert judge(check, number(2000), judging, expect, computed=True).hint == "mistake"
    assert judge(check, number(3000), judging, expect, computed=True).credit == 1
    measured = replace(check, expected=QuantityCall(quantity="macs"))
    found = judge(measured, number(2000), judging, lambda s: number(getattr(s, "value", 1000)), computed=True)
    assert not found.hint
