"""A number of no unit's type, whose prefix counts where so it is nearer to what is expected; units of rates."""

from fractions import Fraction

import pytest

from labgrade.answers.entries.meant import doubt_of
from labgrade.answers.reading.numerals.numbers import read_number
from labgrade.answers.reading.numerals.prefixes import as_meant
from labgrade.answers.reading.numerals.units import label_unit
from labgrade.values import Number


@pytest.mark.parametrize(
    ("written", "expected", "meant"),
    [
        ("144.1 GFLOP/s", 144105251234, 144_100_000_000),
        ("0.1441 TFLOPS", 144105251234, 144_100_000_000),
        ("144.1 G", 144105251234, 144_100_000_000),
        ("144.1 billion", 144105251234, 144_100_000_000),
        ("72.05 GFLOP/s", 144105251234, 72_050_000_000),  # a mistake is known in the same unit
        ("144.1 GFLOP/s", 144, Fraction(1441, 10)),  # a spec that asks for GFLOP/s
        ("5.76 MFLOP/MB", 6, Fraction(576, 100)),
        ("25 GB/s", 25 * 10**9, 25 * 10**9),
        ("5.76", 10**9, Fraction(576, 100)),
        ("71.3 %", 1, Fraction(713, 1000)),  # a share, from 0 to 1
        ("71.3 %", 70, Fraction(713, 10)),
    ],
)
def test_the_prefix_of_a_number_counts_where_it_is_meant(written, expected, meant):
    assert as_meant(read_number(written, "number"), Number(value=Fraction(expected))).value == meant


@pytest.mark.parametrize(("written", "kind"), [("120 MB", "bytes"), ("26,5 Mio", "bytes"), ("1.498 GMac", "count")])
def test_what_was_read_with_its_unit_stays(written, kind):
    read = read_number(written, kind)
    assert as_meant(read, Number(value=read.value / 1000)) is read


def test_a_label_may_name_a_rate():
    for label in ("GFLOP/s", "GFLOPs per second", "GFLOPs a second"):
        assert (label_unit(label).scale, label_unit(label).measures) == (10**9, "rate")
    assert label_unit("GFLOPs a section") is None


def test_the_second_of_a_rate_is_no_doubt():
    written = "144.1 GFLOPs per second"
    assert not doubt_of(written, read_number(written, "number"), "number")
    assert doubt_of("5 per second", read_number("5 per second", "count"), "count")
