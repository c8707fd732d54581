"""Tasks whose names have no number: what a report says under another's name, and in words of theirs."""

import pytest

from labgrade.verdict import Outcome

LORA = "## llm-lora\n\nLoRA parameters: 3502080\n"


@pytest.mark.parametrize(
    ("task", "check", "text"),
    [
        ("llm-kv-cache", "cache-bytes", LORA),
        ("llm-parameters", "parameters", LORA),
        ("llm-kv-cache", "cache-bytes", f"{LORA}\n## llm-kv-cache\n\nTODO\n"),
        ("llm-kv-cache", "cache-bytes", f"## llm-kv-cache\n\n{LORA}"),
        ("llm-kv-cache", "cache-bytes", f"{LORA}\n## llm-kv-cache\n\nKV cache:\n"),
    ],
)
def test_a_report_that_names_other_tasks_says_nothing_of_this_one(judged, task, check, text):
    assert judged(f"llm-accounting/{task}", text, check).outcome is Outcome.MISSING


def test_a_total_of_something_else_is_not_suggested_beside_the_words_of_a_task(judged):
    text = "Total parameters: 1729218560\n\nLoRA parameters: 3502080\n"
    found = judged("llm-accounting/llm-lora", text, "lora-parameters")
    assert (found.outcome, found.suggestion.outcome) == (Outcome.MANUAL, Outcome.CORRECT)
    assert found.reason == "no value could be read for certain: 3502080 stands on report.md:3"
