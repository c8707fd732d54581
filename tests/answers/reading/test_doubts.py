"""What makes one doubt that a number is the answer, and what does not."""

import pytest

from labgrade.answers.reading.documents import Document
from labgrade.answers.reading.doubts import taken_back
from labgrade.answers.reading.lines import read_lines
from labgrade.answers.reading.numerals.numbers import find_numbers
from labgrade.answers.reading.passages.sections import Span
from labgrade.values import Number

SIX = "6,624,904"


def doubted(text):
    """Whether the number that this test is about is doubted, wherever it stands in the text."""
    found = read_lines(Document(path="report.md", text=text), (Span(start=0, end=len(text)),), "torchvision/googlenet")
    pieces = [piece for line in found for piece in line.pieces if isinstance(piece.value, Number)]
    (doubt,) = {piece.doubt for piece in pieces if piece.value.value == 6_624_904}
    return bool(doubt)


@pytest.mark.parametrize(
    "text",
    [
        f"Only 1,025,000 of the {SIX} parameters are trainable.",
        f"Only 15.5 % of the {SIX} parameters are trainable.",
        f"None of the {SIX} parameters is trainable.",
        f"Nur 1.025.000 der {SIX} Parameter sind trainierbar.",
        f"Solo 1 025 000 de los {SIX} par\u00e1metros son entrenables.",
        f"Aucun des {SIX} param\u00e8tres",
        f"The documentation says: {SIX}. My own count is 13,004,888.",
        f"Total: {SIX} according to the docs",
        f"Total: {SIX}. I get 13,004,888.",
        f"Total: {SIX} (what my neighbour has); mine is 13,004,888",
        f"I doubt that the total is {SIX}",
        f"Total: {SIX} expected",
        f"Memory in fp16: {SIX}",
        f"Total: between 6,000,000 and {SIX}",
        f"Sending all of it would be 2 x 3,312,452 = {SIX}",
        f"Total: zwischen 6 Mio und {SIX}",
        f"Memory: {SIX} with float64",
        f"somewhere < 9,000,000 and > {SIX}",
    ],
)
def test_a_number_that_is_a_part_of_others_or_another_ones_is_doubted(text):
    assert doubted(text)


@pytest.mark.parametrize(
    "text",
    [
        f"All of the {SIX} parameters are trainable.",
        f"GoogLeNet with aux_logits=False has {SIX} parameters.",
        f"GoogLeNet (aux_logits = False): {SIX}",
        f"Counted by hand I get {SIX}.",
        f"Total: {SIX}, as expected",
        f"<2-1-1> {SIX}",
        f"<b>{SIX}</b>",
        f"I get {SIX} MACs, that is 13,249,808 FLOPs. I get 13,249,808 FLOPs.",
        f"Memory in float32: {SIX}",
        f"In fp16 it would be half as much, so it is {SIX}",
        f"{SIX} (float32; fp16 takes half)",
        f"{SIX} (fp32) / 3,312,452 (fp16)",
    ],
)
def test_a_number_that_is_plainly_said_is_not_doubted(text):
    assert not doubted(text)


def test_a_later_number_of_other_things_takes_nothing_back():
    line = ": 1,498,376,192. We computed 6,624,904 parameters above."
    first = next(find_numbers(line, "count"))
    assert not taken_back(line, first)
    other = line.replace("6,624,904 parameters", "1,356,857,600")
    assert taken_back(other, next(find_numbers(other, "count")))
