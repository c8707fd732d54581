"""What an answer says without its tables and numbers, how near two are, and what only one of them says."""

from __future__ import annotations

import pytest
from desk.opened import Opened, write_class

from labgrade.desk.wording import are_near, difference, wording

PROSE = "The pass replaces each linear layer by a quantised one and skips all layers that are not asked for"
WIDTHS = "Weights have a width of {} bits, of which {} are behind the point, as range and resolution need no more"
TABLE = "| type | total |\n|---|---|\n| Linear | {} |\n| ReLU | 2 |"
TENSOR = "```\ntensor([[0.1, 0.{}],\n        [0.2, 0.3]])\n```"


@pytest.mark.parametrize(
    "data",
    [
        TABLE,
        "type | total | changed\n---|---|---\nLinear | {} | 1",
        TENSOR,
        "tensor([[0.1, 0.{}],\n        [0.2, 0.3]],\n       requires_grad=True)",
        "~~~toml\nwidth = {}\nfrac_width = 4\n~~~",
        "conv1 0.{} 0.2 0.3 0.4",
        "a\tb\tc\nx\t{}\ty",
    ],
)
def test_tables_code_and_tensors_are_no_prose(data):
    one, other = (wording(f"{PROSE}\n\n{data.format(n)}\n\nSo it is.") for n in (1, 7))
    assert " ".join(one.words) == f"{PROSE} So it is"
    assert are_near(one, other)
    found = difference(one, other)
    assert found.why_not == ""
    assert found.shown == "the words are the same; tables, code or rows of numbers beside them differ"


def test_the_same_tables_make_other_words_no_nearer():
    table = TABLE.format(1) + "\n| BatchNorm1d | call_module | unchanged |" * 9
    assert not are_near(wording(f"{PROSE}\n\n{table}"), wording(f"Nothing is known of this at all\n\n{table}"))


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        (WIDTHS.format(16, 8), WIDTHS.format(8, 4), "only here: 16 … 8; only there: 8 … 4"),
        (f"{PROSE}: 1e-5", f"{PROSE}: 1e-4.", "only here: 1e-5; only there: 1e-4"),
        (f"{PROSE} int8", f"{PROSE} int4", "only here: int8; only there: int4"),
        (f"{PROSE} x - 0.5", f"{PROSE} x 0.5", "only here: -0.5; only there: 0.5"),
        (f"{PROSE} + 3 \N{EN DASH} x", f"{PROSE} \N{MINUS SIGN} 3 x", "only here: + 3; only there: -3"),
        (f"{PROSE} a < b", f"{PROSE} a > b", "only here: <; only there: >"),
    ],
)
def test_where_numbers_differ_no_mark_does_for_both(one, other, shown):
    one, other = wording(one), wording(other)
    assert are_near(one, other)
    assert difference(one, other).shown == shown
    assert difference(one, other).why_not == "numbers or signs differ"


def test_what_differs_is_shown_whole_and_in_order():
    more = "so that the layer before it is the one that is bound by memory and none of the others is, as the roof says"
    one, other = wording(f"{PROSE}, {more}. {PROSE}"), wording(f"{PROSE}. {PROSE}, too")
    found = difference(one, other)
    assert found.shown == f"only here: {more.replace(',', '')}; only there: too"
    assert found.why_not == "too many words differ"


def test_what_can_have_no_mark_of_another_says_why():
    plot, other = wording(f"{PROSE} ![](a.png)"), wording(f"{PROSE} ![](b.png)")
    assert difference(plot, other).why_not == "pictures can't be compared"
    one, other = (wording("See the table:\n\n" + TABLE.format(n)) for n in (1, 2))
    assert difference(one, other).why_not == "there are too few words to compare"
    one, other = (wording("a b " * 200 + word) for word in ("one", "other"))
    assert difference(one, other).why_not == "they can't be compared"


def test_a_near_answer_with_other_numbers_is_shown_with_its_difference_alone(course):
    write_class(course / "results", [WIDTHS.format(16, 8), WIDTHS.format(8, 4)])
    desk = Opened(course / "results")
    after = desk.send(desk.page("s00"), points=["3", "1"])
    assert after.url.params["who"] == "s01"
    assert 'id="accept"' not in after.text
    assert (
        "s00, who was marked by ann, wrote much the same, but numbers or signs differ: only here: 8 … 4" in after.text
    )


def test_what_is_marked_gets_no_suggestion_and_no_time(course):
    write_class(course / "results", [f"{PROSE} {word}" for word in ("one", "two", "three", "four", "five")])
    desk = Opened(course / "results")
    page = desk.page("s00")
    for _ in range(4):
        page = desk.send(page, points=["3", "1"])
        assert 'id="accept"' in page.text
    desk.send(page, points=["3", "1"])
    page = desk.page("s00").text
    assert "0 left" in page
    assert " min" not in page
    assert "nearly the same words" not in page
    assert 'id="accept"' not in page


@pytest.mark.parametrize(
    "text",
    [
        "-",
        "TODO",
        "*tbd*",
        "...",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "```\nfor x in y: z()\n```",
        "1 2 3 4 5",
        "| n | TODO |",
    ],
)
def test_where_no_word_is_written_there_is_none(text):
    assert wording(text).is_wordless


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "N/A",
        "![plot](a.png)",
        "| why |\n|---|\n| it rises until about ten |",
        "```\n# it is bound by memory\n```",
        "| 原因 | 記憶體頻寬不足 |\n|---|---|",
        "| 1 | 2 |\nflat",
    ],
)
def test_where_a_word_is_written_or_a_sentence_in_a_table_there_is_something(text):
    assert not wording(text).is_wordless
