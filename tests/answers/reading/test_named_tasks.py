"""Tasks whose names have no number: a report that has such names tells its tasks by them."""

import pytest

from labgrade.answers import near_miss, reports
from labgrade.answers.reading.passages.mentions import any_like
from labgrade.core.task import TextForm

LORA = "# Report\n\n## llm-lora\n\nLoRA parameters: 3502080\n"


@pytest.fixture
def mentioned(hand_in):
    def lines(text, name):
        found = reports.mentions(TextForm(report=(name,)), hand_in({"report.md": text}), "")
        return [line.number for line in found if line.pieces]

    return lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (LORA, []),
        (LORA + "\n## llm-kv-cache\n\nTODO\n", []),
        (LORA + "\nllm-kv-cache: 5000 bytes\n", [7]),
        ("1. llm-lora: 5\n2. llm-kv-cache: 5000 bytes\n", [2]),
        ("## LoRA\n\nParameters: 3502080\n", [3]),  # it tells no task: its words may speak of any
    ],
)
def test_the_lines_of_another_task_are_none_of_this_one(mentioned, text, lines):
    assert mentioned(text, "llm-kv-cache") == lines


def test_whether_a_report_names_its_tasks(mentioned):
    assert any_like("llm-kv-cache") == "llm-*"
    assert not any_like("2-1-4")
    assert not any_like("macs")
    assert mentioned(LORA, "llm-*") == [3]
    assert mentioned("## LoRA\n\nParameters: 3502080\n", "llm-*") == []


def test_words_on_one_line_are_named_once(hand_in):
    forms = [TextForm(after=words, report=("llm-kv-cache",)) for words in ("KV cache", "Cache")]
    notes = near_miss.notes(forms, "bytes", hand_in({"report.md": "KV cache: many\n"}))
    assert [note.text for note in notes] == [
        "no heading of report.md begins with 'llm-kv-cache'",
        "the words 'KV cache' stand on line 1",
    ]
