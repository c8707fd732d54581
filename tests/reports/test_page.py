"""Lines on a page: wrapped by cells, at words where that can be, with nothing lost."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from labgrade.reports.plain_page import Page

TEXT = st.text(st.sampled_from("ab c 卷\u0301-,"), max_size=200)


def lines(width, *parts, **options):
    stream = io.StringIO()
    Page(Console(file=stream, width=width)).line(*parts, **options)
    return stream.getvalue().split("\n")[:-1]


@given(st.lists(st.tuples(TEXT, st.sampled_from(["", "bold"])), min_size=1, max_size=3), st.integers(40, 60), TEXT)
def test_every_line_fits_and_all_of_the_text_is_there(parts, width, right):
    right = right.strip()[:25]
    right = right if cell_len(right) else ""  # marks alone take no cell, and nothing is written for them
    found = lines(width, *parts, right=(right, ""), hang=6)
    assert max(map(cell_len, found)) <= width
    beside = cell_len(right) <= width // 2
    first = found[0].removesuffix(right) if beside else found[0]
    rest = found[1:] if beside or not right else found[1:-1]
    told = "".join("".join(text for text, _ in parts).split())
    assert "".join("".join([first, *rest]).split()) == told


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", [""]),
        ("one two", ["one two"]),
        ("a" * 38 + " bb ccc", ["a" * 38, "  bb ccc"]),
        ("x " + "b" * 45 + " c", ["x", "  " + "b" * 38, "  " + "b" * 7 + " c"]),
        ("卷" * 21, ["卷" * 20, "  卷"]),
    ],
)
def test_lines_break_at_words_and_only_then_within_one(text, found):
    assert lines(40, (text, ""), hang=2) == found
