"""What stands in a report is never missing: a person looks where nothing could be read, and where it is not at home."""

import pytest

from labgrade.verdict import Outcome

COUNT, BYTES, MACS, OPERATORS = "2-1-1-parameters", "2-1-2-weight-bytes", "2-1-4-macs", "2-2-1-operators"


@pytest.mark.parametrize(
    ("task", "check", "text"),
    [
        (COUNT, "trainable", "## 2-1-1\nvon allem, was da ist, lernt es 6,624,904 Werte und 0 Werte nicht\n"),
        (OPERATORS, "types", "## 2-2-1\nT\u00edpos: los mismos que en clase, seis.\n"),
        (COUNT, "non-trainable", "## 2-1-1\nGoogLeNet learns each of its 6,624,904 weights.\n"),
        (OPERATORS, "types", "## 2-2-1\nThere are twoscore of them.\n"),
    ],
)
def test_what_stands_in_a_section_and_could_not_be_read_waits(judged, task, check, text):
    found = judged(task, text, check)
    assert found.outcome is Outcome.MANUAL
    assert "report.md:2" in found.reason


@pytest.mark.parametrize("check", ["total", "trainable", "non-trainable"])
@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ("(6624904, 6624904, 0)", Outcome.CORRECT),
        ("Parameters: 6624904 / 6624904 / 0", Outcome.CORRECT),
        ("```\n6624904\n6624904\n0\n```", Outcome.CORRECT),
        ("(6624904, 0, 6624904)", Outcome.MANUAL),
    ],
)
def test_values_in_the_order_of_the_answers_are_read_and_no_others(judged, check, said, outcome):
    found = judged(COUNT, f"## 2-1-1\n{said}\n", check)
    assert found.outcome is outcome or (outcome is Outcome.MANUAL and found.outcome is not Outcome.CORRECT)


def test_values_under_labels_in_another_order_are_not_read_in_that_of_the_answers(judged):
    text = "## 2-1-1\nfrozen / trainable / total: 6624904 / 6624904 / 0\n"
    assert judged(COUNT, text, "non-trainable").outcome is not Outcome.CORRECT


def test_values_in_order_are_judged_by_the_digits_that_they_have(judged):
    assert judged(COUNT, "## 2-1-1\n6.62 M; 6.62 M; 0\n", "total").outcome is Outcome.MANUAL


@pytest.mark.parametrize(
    ("task", "check", "text", "suggested"),
    [
        (OPERATORS, "total", "## 2-2-1\nTer sat 100, kim 6.\n", True),
        (OPERATORS, "types", "## 2-2-1\nTer sat 100, kim 6.\n", True),
        (OPERATORS, "types", "## 2-2-1\nTer sat 100, kim 5.\n", False),
        (COUNT, "trainable", "## 2-1-1\nho 6624904, ko 6624904, no 0\n", True),
        (COUNT, "trainable", "## 2-1-1\nSat kim 6,624,904.\n", False),
    ],
)
def test_a_right_number_among_a_few_others_is_suggested(judged, task, check, text, suggested):
    found = judged(task, text, check)
    assert found.outcome is Outcome.MANUAL
    assert (found.suggestion is not None and found.suggestion.outcome is Outcome.CORRECT) is suggested


@pytest.mark.parametrize(
    "said", ["**2-2-1** 100 noeuds, 6 types", "2-2-1: 100 / 6", "Q 2-2-1 / A 20 operators, 6 types", "2-2-1) 100; 6"]
)
@pytest.mark.parametrize("check", ["total", "types"])
def test_a_number_right_behind_the_tasks_is_no_part_of_a_heading(judged, said, check):
    assert judged(OPERATORS, f"{said}\n2-2-2: 119,445,696 bytes\n", check).outcome is not Outcome.MISSING


@pytest.mark.parametrize("title", ["**2-2-1** (7 points)", "2-2-1: 7 points", "2-2-1. 224x224 image"])
def test_points_and_sizes_in_a_heading_are_no_answer(judged, title):
    assert judged(OPERATORS, f"{title}\n\n2-2-2: 119,445,696 bytes\n").outcome is Outcome.MISSING


@pytest.mark.parametrize("said", ["", "-", "TODO", "todo: not done yet", "Total parameters:", "n/a", "\u5f85\u88dc"])
@pytest.mark.parametrize("statement", ["", "How many parameters does GoogLeNet have: in all, trainable?\n"])
def test_an_empty_section_is_missing_and_so_is_a_quoted_statement(judged, said, statement):
    assert judged(COUNT, f"## 2-1-1\n{statement}{said}\n\n## 2-1-2\n5 MB\n").outcome is Outcome.MISSING


@pytest.mark.parametrize(
    "text",
    [
        "## 2-1-2\nThe 6,624,904 of them take four bytes each.\n",
        "My network has 6,998,552 of them.\n",
        "## 2-1-2\nAs the network of 2-1-1 has so many, 26.5 MB.\n",
    ],
)
def test_a_report_that_may_say_it_elsewhere_waits(judged, text):
    found = judged(COUNT, text)
    assert (found.outcome, found.suggestion) == (Outcome.MANUAL, None)


@pytest.mark.parametrize("text", ["## 2-1-2\n26.5 MB\n", "- [x] **2-1-2** 26.5 MB\n", "I liked it.\n"])
def test_a_report_of_other_tasks_says_nothing_of_this_one(judged, text):
    assert judged(COUNT, text).outcome is Outcome.MISSING


def test_a_table_of_which_no_row_is_there_is_missing(judged):
    assert judged(MACS, "## 2-1-4\nTotal MACs: 1,498,376,192\n", "by-type").outcome is Outcome.MISSING


@pytest.mark.parametrize(
    "text",
    [
        "Parameters and so on (2-1-1): 13,004,888, 6,624,904; weights (2-1-2): 26,499,616 bytes\n",
        "| | 2-1-1 total | 2-1-2 |\n|---|---|---|\n| by hand | 6,998,552 | 28 MB |\n| torch | 6,624,904 | 26.5 MB |\n",
    ],
)
def test_what_stands_beside_a_tasks_number_waits(judged, text):
    assert judged(COUNT, text).outcome is Outcome.MANUAL


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("- [x] **2-1-1** total parameters {}\n- [x] **2-1-2** 26.5 MB\n", None),
        ("===== 2-1-1 =====\ntotal params  {}\n===== 2-1-2 =====\n26.5 MB\n", None),
        ("| | 2-1-1 total params | 2-1-2 |\n|---|---|---|\n| value | {} | 26.5 |\n| unit | | MB |\n", None),
        ("\\begin{tabular}{ll}\n2-1-1 & total params & {} \\\\\n2-1-2 & weights & 26.5 MB \\\\\n", None),
    ],
)
def test_what_a_number_leads_is_read_as_a_section(judged, text, outcome):
    right, wrong = (judged(COUNT, text.replace("{}", said)) for said in ("6,624,904", "13,004,888"))
    assert right.outcome is Outcome.CORRECT or right.suggestion.outcome is Outcome.CORRECT
    assert wrong.outcome in (Outcome.PARTIAL, Outcome.INCORRECT, Outcome.MANUAL)
    assert wrong.suggestion is None or wrong.suggestion.outcome is not Outcome.CORRECT
