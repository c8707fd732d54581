"""A label that divides by a power of ten or two says the unit: `Total MACs / 10^9: 1.498`."""

import pytest

from labgrade.answers.reading.numerals.units import divided_by, label_unit


@pytest.mark.parametrize(
    ("label", "scale"),
    [
        (" / 10^9:", 10**9),
        (" / 10**{6} =", 10**6),
        (" (/ 10⁶):", 10**6),
        (" /1e9 is ", 10**9),
        (" / 1,000,000 =", 10**6),
        (" divided by 1000:", 10**3),
        (" in units of 10^6:", 10**6),
        (" in 2^20 bytes:", 2**20),
        (" / 2**20 MiB:", 2**20),
        (" / 1024 / 1024 =", 2**20),
        (" / 1024^2:", 2**20),
        (" / 10^3 / 10^3:", 10**6),
    ],
)
def test_the_scale_that_a_label_divides_by(label, scale):
    end, unit = divided_by(label)
    assert label_unit(unit).scale == scale
    assert label[end:].strip() in (":", "=", "is")


@pytest.mark.parametrize(
    "label", [" / 2:", " / image:", " in 10 layers:", " in 1024 channels:", " / 1000 * 1024:", " / 10^9", " / 1024.5:"]
)
def test_what_divides_by_nothing_of_the_kind(label):
    assert divided_by(label) is None
