"""A value is looked for in its own section: what other sections say, or correct, changes nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from labgrade.verdict import Outcome

REPORT = """# Lab 2
## 2-1-1
Total parameters: 6,624,904
## 2-1-2
Weight memory: 26,499,616 bytes
## 2-1-4
Total MACs: 1,356,857,600
## 2-2-2
Total traffic: 119.4 MB
## 2-4-3
MACs: 714,188,480
"""
TASKS = {
    "2-1-1-parameters": Outcome.CORRECT,
    "2-1-2-weight-bytes": Outcome.CORRECT,
    "2-1-4-macs": Outcome.PARTIAL,
    "2-2-2-bandwidth": Outcome.CORRECT,
    "2-4-3-macs": Outcome.CORRECT,
}
REMARKS = [
    "This is the corrected version.",
    "(corrected after feedback)",
    "First I got 13,004,888, which was wrong.",
    "Errata: the value should read 5,000,000.",
    "Oops, I forgot the groups: 1,700,000,000.",
    "My final answer is 42.",
    "Instead of 26.5 MB it is 31 MB.",
    "更正：應為 1,513,907,448",
    "勘誤 26,571,616 bytes",
    "The paper says about 7 million parameters.",
    "ChatGPT got 6,998,552.",
    "Ich nehme 1,498,376,192.",
    "Korrigiert: 61,100,840",
    "I doubt that 119,445,696 is right.",
    "TODO: check this number again",
    "```python\n# fixed version of the code\ntotal = 0\n```",
    "Expected output: 123,456,789",
    "Mistake in my old report: 6,642,904",
    "le résultat corrigé est 244,403,360",
    "ResNet-18 has 11,689,512 parameters.",
]


@pytest.mark.parametrize("remark", REMARKS)
@pytest.mark.parametrize("task", TASKS)
def test_a_remark_reaches_its_own_section_alone(judged, task, remark):
    own = task[:5]
    parts = REPORT.split("## ")
    said = "## ".join(part if part.startswith(own) else f"{part}{remark}\n" for part in parts)
    assert judged(task, said).outcome is TASKS[task]


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ("Total MACs: 5\n\nTotal MACs: 1,498,376,192\n\nTotal MACs: 7", Outcome.MANUAL),
        ("Total MACs: 5 or 1,498,376,192", Outcome.MANUAL),
        ("Total MACs: between 5 and 1,498,376,192", Outcome.MANUAL),
        ("The total is 5 rather than 1,498,376,192 MACs.", Outcome.MANUAL),
        ("Total MACs: 5", Outcome.INCORRECT),
    ],
)
def test_a_small_wrong_total_beside_the_right_one_waits(judged, said, outcome):
    assert judged("2-1-4-macs", f"## 2-1-4\n{said}\n").outcome is outcome


@pytest.mark.parametrize("head", ["#", "No.", "編號", ""])
def test_a_first_column_may_number_the_rows(judged, head):
    rows = [("Conv", 52), ("Clip", 35), ("Add", 10), ("GlobalAveragePool", 1), ("Flatten", 1), ("Gemm", 1)]
    table = "\n".join(f"| {at} | {name} | {count} |" for at, (name, count) in enumerate(rows, start=1))
    text = f"## 2-2-1\n| {head} | Operator counts | Number |\n|---|---|---|\n{table}\n"
    assert judged("2-2-1-operators", text, "counts").outcome is Outcome.CORRECT


def test_what_tools_print_is_of_the_number_before_it(judged):
    """ptflops returns a tuple of texts, and thop's B is no prefix at all."""
    said = "## 2-1-4\n('1.498 GMac', '6.62 M')\n"
    assert judged("2-1-4-macs", said).outcome is Outcome.CORRECT
    found = judged("acal-lab2-tutorial/lab-2-3-3-linear", "## Lab 2-3-3 linear\nTotal MACs: 515.000B\n")
    assert found.outcome is Outcome.CORRECT


@pytest.mark.parametrize("heading", ["## HW 2-1", "# 2-1 GoogLeNet", "## Homework 2-1"])
def test_a_heading_of_several_tasks_narrows_where_a_value_is_looked_for(judged, heading):
    text = f"{heading}\nThe model has 6,624,904 parameters in total.\n\n## HW 2-4\n61,100,840 parameters in total\n"
    assert judged("2-1-1-parameters", text).outcome is Outcome.CORRECT
    items = "## 2-2\n1. Conv 52\n2. 119.4 MB\n3. 52.0 MB\n"
    assert judged("2-2-2-bandwidth", items).outcome is Outcome.CORRECT


@pytest.mark.slow
def test_a_verdict_depends_on_the_hand_in_alone():
    """The order of sets differs with Python's hash seed: verdicts, reasons and suggestions don't."""
    script = (
        "import sys; sys.path[:0] = ['tests', '.']\n"
        "from helpers import report_figures as figures\n"
        "grader = figures.grader()\n"
        "for section in figures.sections('twelfth', 'tools', 'english'):\n"
        "    for check, verdict in figures.judged(grader, section).items():\n"
        "        print(section.name, check, verdict.outcome, verdict.reason, verdict.suggestion)\n"
        "grader.stop()\n"
    )
    root = Path(__file__).parents[2]
    said = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            cwd=root,
            capture_output=True,
            check=True,
        ).stdout
        for seed in (0, 1, 2)
    }
    assert len(said) == 1
