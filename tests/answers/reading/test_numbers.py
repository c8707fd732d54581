from fractions import Fraction

import pytest
from helpers.linear import takes_linear_time

from labgrade.answers.reading.numerals.numbers import (
    explain_number,
    find_numbers,
    finest_of,
    read_number,
    with_point,
    worked_out,
)
from labgrade.values import Number

MACS = 1_498_376_192
COARSE = 1_498_000_000

EXACT = [
    "1498376192",
    "1,498,376,192",
    "1 498 376 192",
    "1\u202f498\u202f376\u202f192",
    "1\u00a0498\u00a0376\u00a0192",
    "1_498_376_192",
    "1'498'376'192",
    "1498376192.",
    "\uff11\uff14\uff19\uff18\uff13\uff17\uff16\uff11\uff19\uff12",
    "**1,498,376,192**",
    "`1498376192`",
    "1498376192 MACs",
    "1498376192MACs",
    "= 1498376192",
    "$1498376192$",
    r"1\,498\,376\,192",
    r"1,\!498,\!376,\!192",
    "1.498.376.192",
    "1{,}498{,}376{,}192",
    "about 1498376192 operations",
    "1498376192 (Conv2d and Linear)",
]
PRINTED = [  # with four digits
    "1.498 G",
    "1.498G",
    "1.498 GMac",
    "1.498 GMACs",
    "1.498 gmacs",
    "1.498 GFLOPs",
    "1.498 Giga MACs",
    "1.498 billion",
    "1.498 billion MACs",
    "1.498B params",
    "1.498B",
    "1.498 B",
    "1 498 million",
    "1,498 milliarder",
    "1,498 miljarder MACs",
    "1,498 мільярда",
    "1498 miljoner",
    "1 498 milioni",
    "1498 milionów",
    "1 498 Millionen MACs",
    "1.498 billions",
    "1.498 \u00d7 10<sup>9</sup>",
    "1.498e9",
    "1.498e+09",
    "1.498E9",
    "1.498\u00d710^9",
    "1.498 x 10^9",
    "1.498 * 10**9",
    "1.498\u00d710\u2079",
    r"1.498 \times 10^{9}",
    r"\approx 1.498\,\text{GMac}",
    "14.98\u5104",
    "14.98 \u4ebf",
    "149.8 \u5343\u842c",
    "1498 M",
    "1498 MMACs",
    "~1.498 G",
    "1.498 GMac.",
]


@pytest.mark.parametrize("text", EXACT)
def test_a_count_printed_in_full_is_exact(text):
    number = read_number(text, "count")
    assert (number.value, number.half_unit, number.digits) == (MACS, 0, None)


@pytest.mark.parametrize("text", PRINTED)
def test_a_count_is_as_precise_as_its_digits(text):
    number = read_number(text, "count")
    assert (number.value, number.half_unit, number.digits) == (COARSE, 500_000, 4)


@pytest.mark.parametrize(
    ("text", "value", "half_unit", "digits"),
    [
        ("26499616", 26_499_616, 0, None),
        ("26,499,616 Bytes", 26_499_616, 0, None),
        ("26499616 B", 26_499_616, 0, None),
        ("26,499,616 \u4f4d\u5143\u7d44", 26_499_616, 0, None),
        ("211,996,928 bits", 26_499_616, 0, None),
        ("26.5 MB", 26_500_000, 50_000, 3),
        ("26.50 MB", 26_500_000, 5_000, 4),
        ("26.5mb", 26_500_000, 50_000, 3),
        ("26.5 M", 26_500_000, 50_000, 3),
        ("26.5 MBs", 26_500_000, 50_000, 3),
        ("26.5 Mo", 26_500_000, 50_000, 3),
        ("26.5 megabytes", 26_500_000, 50_000, 3),
        ("25.25 MiB", Fraction(2525, 100) * 2**20, Fraction(1, 200) * 2**20, 4),
        ("25878.5 KiB", Fraction(258785, 10) * 1024, Fraction(1024, 20), 6),
        ("26499.6 kB", 26_499_600, 50, 6),
        ("26500 kB", 26_500_000, 50_000, 3),
        ("212 Mbit", 26_500_000, 62_500, 3),
        ("26499616 bytes (25.27 MiB)", 26_499_616, 0, None),
    ],
)
def test_bytes_with_their_units(text, value, half_unit, digits):
    number = read_number(text, "bytes")
    assert (number.value, number.half_unit, number.digits) == (value, half_unit, digits)


@pytest.mark.parametrize(
    ("text", "value", "digits"),
    [("0.25", Fraction(1, 4), 2), ("12.5 ms", Fraction(25, 2), 3), ("-3", -3, None), ("71.3 %", Fraction(713, 10), 3)],
)
def test_a_number_is_taken_as_printed(text, value, digits):
    number = read_number(text, "number")
    assert (number.value, number.digits) == (value, digits)


@pytest.mark.parametrize(
    "text",
    [
        "torch 2.13.0",
        "2.13.0",
        "2024-03-01",
        "12:30",
        "2-1-41",
        "112x112",
        "1,4983",
        "1/2",
        "Conv2d",
        "Conv2d-1",
        "No.1",
        "3rd",
        "1.4 - 1.5 G and more 7",
        "1.498.376.19",
        "192.168.1.10",
        "26499616B",
        "",
        "GMac",
    ],
)
def test_what_only_looks_like_a_count_is_none(text):
    assert read_number(text, "count") is None


@pytest.mark.parametrize(
    ("text", "kind", "problem"),
    [
        ("26.5 MB", "count", "'26.5 MB' is in bytes or bits, but a count is asked for"),
        ("99 %", "count", "'99 %' is a percentage, but a count is asked for"),
        ("6.62M params", "bytes", "'6.62M params' is a count, but bytes are asked for"),
        ("1498376192 B", "count", "'1498376192 B' is in bytes or bits, but a count is asked for"),
        ("26.5 MB/s", "bytes", "'26.5 MB/s' is a rate, but bytes are asked for"),
        ("1e999999999", "count", "'1e999999999' is out of any sensible range"),
        ("1e31", "count", "'1e31' is too large to be a count (a whole number such as 1,498,376,192 or 1.498 G)"),
        ("5 or 6", "count", "'5 or 6' holds several numbers; give one"),
        ("many", "count", "'many' is not a count (a whole number such as 1,498,376,192 or 1.498 G)"),
        ("26499616 (24.27 MiB)", "bytes", "'26499616 (24.27 MiB)' holds several numbers; give one"),
    ],
)
def test_a_refusal_says_why(text, kind, problem):
    assert explain_number(text, kind).problem == problem


@pytest.mark.parametrize(
    ("text", "value"),
    [("0,1", "0.1"), ("12,5 %", "12.5"), ("1.234,5", "1234.5"), ("-0,125", "-0.125"), ("1498,376", "1498.376")],
)
def test_a_decimal_comma_that_can_mean_nothing_else_is_a_point(text, value):
    assert read_number(text, "number").value == Fraction(value)


def test_a_comma_before_three_digits_parts_thousands_unless_all_around_it_say_otherwise():
    assert read_number("1,498", "number").value == 1498
    assert with_point("1,498") == "1,498"
    assert with_point("1,498", surely=True) == "1.498"
    assert with_point("1,2,3") == "1,2,3"
    assert read_number("0,498 GMac", "count").value == 498_000_000


def test_the_unit_stays_in_the_text():
    assert read_number("1.498 GFLOPs", "count").text == "1.498 GFLOPs"
    assert read_number("**1.498** GMac", "count").text == "1.498 GMac"


def test_a_stated_unit_holds_for_numbers_without_one():
    (found,) = find_numbers("1.498", "count", unit="G")
    assert (found.number.value, found.number.half_unit) == (COARSE, 500_000)
    (found,) = find_numbers("1.498 G", "count", unit="M")
    assert found.number.value == COARSE
    (found,) = find_numbers("5", "count", unit="2-1-4")
    assert found.number.value == 5


def test_a_lower_case_letter_behind_a_blank_is_no_prefix():
    assert read_number("6.62m", "count").value == 6_620_000
    assert read_number("6.62 m wide", "count").value == Fraction(662, 100)


def test_every_number_of_a_text_is_found_with_its_place():
    text = "Conv2d 3x3: 9,408 of 1.5 k (see 2-1-4)"
    assert [text[found.start : found.end] for found in find_numbers(text, "count")] == ["9,408", "1.5 k"]


def test_the_finest_of_agreeing_numbers():
    coarse, fine = read_number("1.5 G", "count"), read_number("1.498 G", "count")
    assert finest_of([coarse, fine, coarse]) is fine
    assert finest_of([coarse, Number(value=Fraction(1_400_000_000))]) is None
    assert finest_of([]) is None


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["1 111 ", "1,111", "1e", "1*10^", " 1 111 111x", "1_1", "-", "1.", "{,}111"])
def test_hostile_text_takes_linear_time(piece):
    assert takes_linear_time(lambda size: list(find_numbers(piece * (size // len(piece)), "count")), 160_000)


@pytest.mark.parametrize(
    ("text", "value"),
    [("10^-5", 1e-5), ("$10^{-3}$", 1e-3), ("10⁻²", 1e-2), ("10**-4", 1e-4), ("10^0", 1.0), ("10^{2}", 100.0)],
)
def test_a_power_of_ten_is_a_number(text, value):
    number = read_number(text, "number")
    assert number is not None
    assert float(number.value) == pytest.approx(value)


def test_a_power_of_ten_behind_words_may_be_their_unit():
    assert [str(each.number) for each in find_numbers("MACs (10^6): 1498", "count") if each.number] == ["1498"]


def test_how_many_times_another_number_it_is_is_no_count():
    for text, said in (
        ("1,093 (\u2248 9.3\u00d7)", [1093]),
        ("1317, \u7d04 11.3 \u500d", [1317]),
        ("1.5 x 10^3", [1500]),
    ):
        assert [each.number.value for each in find_numbers(text, "count")] == said


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("81000 * 2^15", 2_654_208_000),
        ("45*2**16", 45 << 16),
        ("30*12*(2560+2560+2560+512)", 30 * 12 * 8192),
        ("1496256000 \u00d7 (2+2+8+4)", 23_940_096_000),
        ("4 * 6,624,904 bytes", 26_499_616),
        ("26499616 bytes * 1", 26_499_616),
        ("4 * 6,624,904 / 2", 13_249_808),
    ],
)
def test_formulas_are_worked_out(formula, value):
    assert worked_out(formula).value == value


@pytest.mark.parametrize(
    "text",
    ["2^64^64 + 1", "9**9**9**9", "10*3/0", "5", "2024-10-11", "(1 + 2", "7 * 1/3", "a * (2 + 3)", "1" * 150 + "*9"],
)
def test_what_is_no_formula_or_too_large_is_not_worked_out(text):
    assert worked_out(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [("2 GB 654 MB 208 kB", 2_654_208_000), ("1 GiB, 2 MiB", (1 << 30) + (2 << 20)), ("3 MB and 5 bytes", 3_000_005)],
)
def test_bytes_of_several_units_are_one_number(text, value):
    assert read_number(text, "bytes").value == value


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("22\u51466067\u51047427\u4e072000", "count", 22_606_774_272_000),
        ("22\uc870 6067\uc5b5 7427\ub9cc 2000", "count", 22_606_774_272_000),
        ("22.61 \u4e07\u4ebf", "count", 22_610_000_000_000),
        ("22,61 \u0442\u0440\u043b\u043d", "count", 22_610_000_000_000),
        ("2,2607e13", "count", 22_607_000_000_000),
        ("29.4912 lakh", "count", 2_949_120),
        ("172.921856 crore", "count", 1_729_218_560),
    ],
)
def test_large_numbers_of_other_languages(text, kind, value):
    assert (found.value if (found := read_number(text, kind)) else 0) == value
