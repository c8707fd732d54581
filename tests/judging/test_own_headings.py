"""Reports without numbers of tasks: words lead to what is right, and what is wrong waits for a person."""

import pytest

from labgrade.verdict import Outcome

COUNT, BYTES, MACS, OPERATORS = "2-1-1-parameters", "2-1-2-weight-bytes", "2-1-4-macs", "2-2-1-operators"
ALEXNET_BYTES, ALEXNET_MACS = "2-4-1-weight-bytes", "2-4-3-macs"
REPORT = """\
# Homework 2

## GoogLeNet

### Parameters

- Total: 6,624,904
- Trainable: 6,624,904

### Memory

Stored as float32, the weights take {weights} bytes.

### MACs

Total MACs: {macs}

## AlexNet

### Memory

Weight memory: 244,403,360 bytes

### MACs

Total MACs: 714,188,480
"""
RIGHT = REPORT.format(weights="26,499,616", macs="1,498,376,192")
WRONG = REPORT.format(weights="26,558,084", macs="1,506,748,416")


@pytest.mark.parametrize(
    ("task", "check"),
    [
        (COUNT, "total"),
        (COUNT, "trainable"),
        (BYTES, "total"),
        (MACS, "total"),
        (ALEXNET_BYTES, "total"),
        (ALEXNET_MACS, "total"),
    ],
)
def test_headings_in_words_of_ones_own_lead_to_what_is_right(judged, task, check):
    found = judged(task, RIGHT, check)
    suggested = found.suggestion and found.suggestion.outcome
    assert Outcome.CORRECT in (found.outcome, suggested)


def test_what_is_said_under_the_heading_of_another_model_is_of_that(judged):
    other = RIGHT.partition("## AlexNet")[2]
    for task in (BYTES, MACS):
        found = judged(task, f"## AlexNet{other}")
        assert found.outcome is Outcome.MANUAL
        assert found.suggestion is None


@pytest.mark.parametrize("task", [BYTES, MACS])
def test_what_is_wrong_waits(judged, task):
    found = judged(task, WRONG)
    assert found.outcome is Outcome.MANUAL
    assert found.suggestion is None or found.suggestion.credit < 1


@pytest.mark.parametrize(
    "text",
    [
        "- v1: GoogLeNet MACs 1,498,376,192\n- v3: GoogLeNet MACs 1,506,748,416 (with the auxiliary heads)\n",
        "- GoogLeNet MACs: 1,506,748,416\n\nAt first we had 1,498,376,192 MACs.\n",
    ],
)
def test_of_an_older_value_and_a_newer_one_neither_is_sure(judged, text):
    assert judged(MACS, text).outcome is Outcome.MANUAL


@pytest.mark.parametrize("text", ["## Ejercicio 2-2 (1)\n\n> 100 nodos de 6 clases\n", "> Svar: 6 slags noder\n"])
def test_what_stands_in_a_box_is_not_missing(judged, text):
    assert judged(OPERATORS, text, "types").outcome is not Outcome.MISSING


def test_a_number_to_which_no_word_leads_is_no_suggestion(judged):
    found = judged(OPERATORS, "## GoogLeNet\n\nParameters: 6,624,904\n\n## MobileNetV2\n\nWe looked at it in Netron.\n")
    assert found.outcome is Outcome.MANUAL
    assert found.suggestion is None


@pytest.mark.parametrize("task", [COUNT, MACS])
def test_a_right_number_of_many_digits_needs_no_words(judged, task):
    found = judged(task, "# Labor\n\nSzamok: 6,624,904 db, es 1,498,376,192 szorzas.\n")
    assert found.outcome is Outcome.CORRECT


def test_the_number_of_a_version_is_none_of_a_task(judged):
    found = judged(
        OPERATORS, "## [1.0.0] - 2026-11-08\n- The graph of MobileNetV2 has hundred of them.\n- GoogLeNet: 6,624,904\n"
    )
    assert found.outcome is Outcome.MANUAL
