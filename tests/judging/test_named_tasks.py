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


def test_the_very_words_of_a_task_beside_a_total_of_something_else(judged):
    text = "Total parameters: 1729218560\n\nLoRA parameters: 3502080\n"
    found = judged("llm-accounting/llm-lora", text, "lora-parameters")
    assert found.outcome is Outcome.CORRECT


@pytest.mark.parametrize("title", ["LoRA", "2. LoRA fine-tuning", "Memory of the KV cache"])
def test_what_stands_under_another_tasks_words_is_not_of_this_one(judged, title):
    text = f"# Report\n\n## {title}\n\nThe adapters have 4,194,304 parameters.\n"
    found = judged("llm-accounting/llm-parameters", text, "parameters")
    assert (found.outcome, found.suggestion) == (Outcome.MANUAL, None)
    right = f"{text}\n## Parameters\n\nThe decoder has 1,729,218,560 parameters.\n"
    assert judged("llm-accounting/llm-parameters", right, "parameters").outcome is Outcome.CORRECT


def test_a_heading_that_names_both_tasks_may_be_of_either(judged):
    text = "## LoRA parameters\n\n3,502,080 parameters are trained.\n"
    found = judged("llm-accounting/llm-lora", text, "lora-parameters")
    assert Outcome.CORRECT in (found.outcome, found.suggestion and found.suggestion.outcome)
