"""Reports that say two values of the same: a person looks, with both places; what is said again or besides passes."""

import pytest

from labgrade.verdict import Outcome

COUNT, BYTES, MACS = ("2-1-1-parameters", "2-1-2-weight-bytes", "2-1-4-macs")
RIGHT, SWAPPED = "6,624,904", "6,624,940"


@pytest.mark.parametrize(
    ("task", "text", "places"),
    [
        (COUNT, f"## 2-1-1\nTotal parameters: {RIGHT}\n\nTotal of parameters: {SWAPPED}.\n", ("2", "4")),
        (
            MACS,
            "# Overview\n| | |\n|--|--|\n| 2-1-4 | Total MACs: 1,498,376,192 |\n## 2-1-4\nTotal MACs: 1,489,376,192\n",
            ("md:6", "md:4"),
        ),
    ],
)
def test_what_contradicts_itself_waits_with_both_places_and_no_suggestion(judged, task, text, places):
    found = judged(task, text)
    assert (found.outcome, found.suggestion) == (Outcome.MANUAL, None)
    assert all(place in found.reason for place in places)


@pytest.mark.parametrize(
    ("task", "text", "outcome"),
    [
        (COUNT, f"## 2-1-1\nTotal params: {SWAPPED}\n\n## 2-1-3\nTotal params: {RIGHT}\n", Outcome.INCORRECT),
        (COUNT, f"## 2-1-1\nTotal params: {RIGHT}\n\n## Discussion\nTotal parameters: {SWAPPED}\n", Outcome.CORRECT),
    ],
)
def test_what_another_section_says_changes_nothing(judged, task, text, outcome):
    assert judged(task, text).outcome is outcome


def test_right_bytes_in_full_above_mib_called_mb_are_suggested(judged):
    found = judged(BYTES, "## 2-1-2\n4 * 6,624,904 = 26,499,616 bytes\n\nWeight memory: 25.27 MB\n")
    assert found.outcome is Outcome.CORRECT
    assert judged(BYTES, "## 2-1-2\n4 * 6,624,904 bytes\n\nWeight memory: 25.27 MB\n").outcome is Outcome.PARTIAL


@pytest.mark.parametrize(
    ("task", "text"),
    [
        (COUNT, f"## 2-1-1\nTotal parameters: {RIGHT}\n\n## 2-1-3\nTotal params: {RIGHT} = 6.62 M\n"),
        (COUNT, f"## 2-1-1\nTotal parameters: {RIGHT}\n\n## 2-1-3\nTotal params of AlexNet: 61,100,840\n"),
        # another convention is no contradiction
        (MACS, "## 2-1-4\nTotal MACs: 1,498,376,192\n\n## Tools\nthop says Total MACs: 1511332032\n"),
        (BYTES, "## 2-1-2\nWeight memory: 26,499,616 bytes\n\nThat is 26.50 MiB.\n"),
        (BYTES, "## 2-1-2\nWeight memory: 26,499,616 bytes = 25.27 MB\n"),
    ],
)
def test_what_says_it_again_or_something_else_is_right(judged, task, text):
    assert judged(task, text).outcome is Outcome.CORRECT


@pytest.mark.parametrize(
    ("task", "text"),
    [
        (BYTES, "## 2-1-2\nWeight memory: I could not decide: 26 499 616 bytes or 52 019 552 bytes.\n"),
        (COUNT, f"## 2-1-1\nTotal parameters: {RIGHT} oder 13,004,888\n"),
        (COUNT, f"## 2-1-1\n總參數：{RIGHT} 或 13,004,888\n"),
        (COUNT, f"## 2-1-1\nTotal parameters: {RIGHT}\n\nTotal parameters: 5,599,904\n"),
        (MACS, "## 2-1-4\nTotal MACs: 1,498,376,192\n\nTotal MACs: 1,814,073,344\n"),
    ],
)
def test_of_two_values_that_are_undecided_none_is_suggested(judged, task, text):
    found = judged(task, text)
    assert (found.outcome, found.suggestion) == (Outcome.MANUAL, None)


@pytest.mark.parametrize(
    "text",
    [
        f"Total parameters: 13,004,888 with the auxiliary heads. They don't run, so the answer is {RIGHT}.",
        f"总参数: 13,004,888 （含辅助分类器）。去掉之后是 {RIGHT}，所以答案是 {RIGHT}。",
        f"Parameter insgesamt: 13,004,888 mit Hilfsköpfen; meine Antwort ohne sie: {RIGHT}",
    ],
)
def test_what_a_line_calls_the_answer_is_the_answer(judged, text):
    assert judged(COUNT, f"## 2-1-1\n{text}\n").outcome is Outcome.CORRECT


ME_AND_PARTNER = """| type | me | partner |
|---|---|---|
| Conv2d | 1,497,352,192 | 1,355,833,600 |
| Linear | 1,024,000 | 1,024,000 |
"""
LAYERS_TOO = """| what | layers | multiplications |
|---|---|---|
| Conv2d | 57 | 1,497,352,192 |
| Linear | 1 | 1,024,000 |
"""


@pytest.mark.parametrize(
    ("task", "check", "text", "suggested"),
    [
        ("2-2-1-operators", "types", "Different types: 5 → no, 6 (I had overlooked Flatten).", "CORRECT"),
        ("2-2-1-operators", "total", "Total operators: 94 by hand, so 100.", "CORRECT"),
        (MACS, "by-type", ME_AND_PARTNER, None),
    ],
)
def test_what_is_suggested_beside_other_values(judged, task, check, text, suggested):
    found = judged(task, f"## {task[:5]}\n{text}\n", check)
    assert found.outcome is Outcome.MANUAL
    assert (found.suggestion and found.suggestion.outcome) == suggested
