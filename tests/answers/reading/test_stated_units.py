"""What a text says its units to be, in the ways in which students say it."""

import pytest

from labgrade.answers.reading.numerals.units import in_stated_units


@pytest.mark.parametrize(
    "said",
    [
        "49.61 MB (1 MB = 2^20 bytes)",
        "49.61 MB (1 MB = 2**20 B)",
        "49.61 MB (1MB = 2\u00b2\u2070 bytes)",
        "49.61 MB (1 MB = 2<sup>20</sup> bytes)",
        "49.61 MB (1 MB = $2^{20}$ bytes)",
        "49.61 MB [MB = 1024 * 1024 bytes]",
        "49.61 MB, where 1 MB is 1024 KB",
        "49.61 MB, with 1 MB being 1,048,576 bytes",
        "49.61 MB (here MB means MiB)",
        "49.61 MiB (1 MiB = 2^20 bytes)",
    ],
)
def test_a_unit_is_what_it_is_said_to_be(said):
    assert in_stated_units(said) == "49.61 MiB"


def test_it_holds_for_a_paragraph():
    assert in_stated_units("Let 1 MB = 2^20 bytes.\nMemory (MB): 5\n\nOther: 5 MB") == (
        "Let .\nMemory (MiB): 5\n\nOther: 5 MB"
    )
    assert in_stated_units("52.02 MB (1 MB = 10^6 bytes)") == "52.02 MB"


@pytest.mark.parametrize(
    "text",
    [
        "26.5 MB = 26499616 bytes",
        "Size in KB = 1024",
        "1 MB = 2^10 bytes, 5 MB",  # wrong, and nobody knows how
        "5 MB (1 KB = 1024 B)",
        "1 MB = 10^6 bytes, 1 MB = 2^20 bytes: 5 MB",
        "26.50 Mb (1 Mb = 2^20 bits)",
    ],
)
def test_other_texts_stay(text):
    assert in_stated_units(text) == text
