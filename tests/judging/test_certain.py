"""Values in other words than a spec's: read where nothing else may be meant, and suggested or left open elsewhere."""

import pytest
from helpers import report_figures
from helpers.report_figures import Section

from labgrade.verdict import Outcome

COUNT, BYTES, MACS = "2-1-1-parameters", "2-1-2-weight-bytes", "2-1-4-macs"
NODES, TRAFFIC = "2-2-1-operators", "2-2-2-bandwidth"
N = "6,624,904"
ALL, ROW = ("total", "trainable", "non-trainable"), "| 2-1-1 total / trainable / non-trainable |"


@pytest.fixture
def judged(grader):
    def judge(task, text, *checks):
        number = "-".join(task.split("-")[:3])
        section = Section("s", task, dict.fromkeys(checks or ("total",)), f"## {number}\n{text}\n")
        found = report_figures.judged(grader, section)
        return [found[each] for each in checks or ("total",)]

    return judge


def outcomes(found):
    return [each.outcome.value for each in found]


@pytest.mark.parametrize(
    "text",
    [
        f"{N} total · {N} trainable · 0 non-trainable",
        f"total / trainable / frozen: {N} / {N} / 0",
        f"{ROW} {N} / {N} / 0 |",
        "total, trainable, frozen\n(6624904, 6624904, 0)",
        f"{N} (all) = {N} (learned) + 0 (fixed)",
        f"total {N} / learnable {N} / fixed 0",
        f"一共有 **{N}** 個參數，其中可以訓練的是 {N} 個，被凍結（`requires_grad=False`）的有 0 個。",
        "cuenta con 6.624.904 parámetros, todos entrenables; los no entrenables son cero.",
        "Liczba parametrów wynosi 6 624 904 (trenowalne: 6 624 904, nietrenowalne: 0).",
        "\tparameters\ttrainable\tnon-trainable\nGoogLeNet\t6624904\t6624904\t0\nAlexNet\t61100840\t61100840\t0",
    ],
)
def test_three_numbers_are_told_apart_by_their_words_or_their_order(judged, text):
    assert outcomes(judged(COUNT, text, *ALL)) == ["CORRECT"] * 3


@pytest.mark.parametrize(
    "text",
    [
        "100 nodes / 6 op types",
        "ONNX 裡總共 100 個 node，算下來有 6 種 operator。",
        "Im Graphen stehen 100 Knoten. Verschiedene Operatortypen gibt es sechs.",
        "El grafo tiene cien operadores de seis clases distintas.",
        "運算子共一百個，種類六種。",
        "How many operators / types? **100 / 6**",
        "n_op = 100, n_types = 6",
    ],
)
def test_small_numbers_that_are_called_what_is_asked(judged, text):
    assert outcomes(judged(NODES, text, "total", "types")) == ["CORRECT", "CORRECT"]


@pytest.mark.parametrize(
    ("task", "text"),
    [
        (TRAFFIC, "**119.4 MB** of it."),
        (TRAFFIC, "119,4 millones de bytes"),
        (TRAFFIC, "Reads: 67,430,304 B\n\nWrites: 52,015,392 B\n\nBoth: 119,445,696 B"),
        (BYTES, "26,50 Mo (1 Mo = 10⁶ octets)."),
        (BYTES, "Dividing by 1,048,576 gives 25.27 MiB."),
        (MACS, "My script says 1498376192."),
    ],
)
def test_the_only_number_of_its_kind_is_the_answer(judged, task, text):
    assert outcomes(judged(task, text)) == ["CORRECT"]


@pytest.mark.parametrize(
    ("task", "text"),
    [
        (TRAFFIC, "Mine: 119.4 MB; onnx-tool: 127.9 MB."),
        (MACS, "1,498,376,192 FLOPs"),
        (NODES, "100 nodes, 52 nodes"),
        (TRAFFIC, "| | MB |\n|--|--|\n| all | 119445696 |"),
        (TRAFFIC, "Everything in MB.\n\n119445696"),
    ],
)
def test_one_of_two_that_may_be_meant_waits(judged, task, text):
    assert outcomes(judged(task, text)) == ["MANUAL"]


def test_all_of_them_are_trainable_says_that_none_are_frozen(judged):
    (found,) = judged(COUNT, f"The {N} parameters are all trainable.", "non-trainable")
    assert (found.outcome, found.suggestion.outcome) == (Outcome.MANUAL, Outcome.CORRECT)


@pytest.mark.parametrize(
    "text",
    [
        f"{N} parameters; all convolutions are trainable, the classifier is frozen",
        f"Not all {N} parameters are trainable",
        f"{N} parameters; all but a few are trainable",
    ],
)
def test_what_is_said_of_some_is_not_said_of_all(judged, text):
    assert outcomes(judged(COUNT, text, "trainable")) == ["MANUAL"]
    assert judged(COUNT, text, "non-trainable")[0].suggestion is None


def test_a_small_number_of_another_export_is_right_beside_its_total(judged):
    """Both are of a file of opset 11 or later; beside another total they wait (tests/judging/test_coherent.py)."""
    assert judged(NODES, "152 operators\n\n7 unique types", "types")[0].outcome is Outcome.CORRECT


@pytest.mark.parametrize(
    ("task", "text"),
    [
        (TRAFFIC, "```\nwhat,number,unit\ntotal traffic,119445.696,KB\n```"),
        (MACS, "MACs (in millions)\n\nConv2d 1497.352\nLinear 1.024\nMACs: 1498.376"),
    ],
)
def test_a_unit_in_sight_is_looked_for_before_a_number_is_wrong(judged, task, text):
    (found,) = judged(task, text)
    assert (found.outcome, found.suggestion.outcome) == (Outcome.MANUAL, Outcome.CORRECT)


@pytest.mark.parametrize("text", ["`in + out` → 119445696, in KB", "bytes moved → 119,445,696 (in KB)"])
def test_a_unit_behind_the_number_is_its_own(judged, text):
    assert outcomes(judged(TRAFFIC, text)) == ["INCORRECT"]


def test_all_rows_of_a_table_in_millions(judged):
    (found,) = judged(
        MACS, "MACs (in millions)\n\n| | |\n|--|--|\n| Conv2d | 1497.352 |\n| Linear | 1.024 |", "by-type"
    )
    assert (found.outcome, found.suggestion.outcome) == (Outcome.MANUAL, Outcome.CORRECT)


def test_a_unit_of_its_own_is_taken_at_its_word(judged):
    assert outcomes(judged(TRAFFIC, "Total traffic (MB): 119,445 KB GB")) != ["CORRECT"]
    assert outcomes(judged(TRAFFIC, "Total traffic: 119.4 KB, in MB")) == ["INCORRECT"]


@pytest.mark.parametrize(
    ("listed", "corrected", "outcome"),
    [("25.27 MB", "26.50 MB", Outcome.PARTIAL), ("26.50 MB", "25.27 MB", Outcome.CORRECT)],
)
def test_a_list_of_corrections_elsewhere_says_nothing_of_a_task_that_it_does_not_name(
    judged, listed, corrected, outcome
):
    text = f"Weight memory: {listed}\n\n## Errata\n\n- the weights: should read {corrected}."
    (found,) = judged(BYTES, text)
    assert found.outcome is outcome


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (MACS, "A friend got 1,498,376,192 MACs; I could not run it."),
        (MACS, "My classmates have 1,498,376,192 MACs."),
        (MACS, "1,498,376,192 additions and as many multiplications, so twice that many MACs."),
        (MACS, "~1,498,376,192 is the number in the slides."),
        (BYTES, "ChatGPT says 26,499,616 bytes."),
        (BYTES, "It takes 26,499,616 bytes, which I think is wrong because it forgets the buffers."),
        (TRAFFIC, "119,445,696 bytes, but I could not reproduce it."),
    ],
)
def test_what_is_somebody_elses_or_disowned_waits(judged, task, said):
    assert outcomes(judged(task, said)) == ["MANUAL"]
