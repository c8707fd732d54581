"""`labgrade check --read`: what grading read of a report, block by block, and never whether it is right."""

from fractions import Fraction

from helpers.direct import task
from helpers.handed_in import read

from labgrade.answers.reader.reader import Reader
from labgrade.core.results import Graded, TaskReport
from labgrade.run.texts import what_was_read
from labgrade.verdict import Outcome, Verdict, without_value

TASK = "2-1-1-parameters"
REPORT = """# HW 2-1
## 2-1-1 Parameters

```python
print("total", 5_000_000)
n = sum(map(f, g))
```

```
Total parameters: 6,624,904
```

First I got 13,004,888 parameters. The file has 26.6 MB.

> The paper says 7 million parameters.

## 2-1-2
Weight memory: 26,499,616 bytes
"""


def graded(name, verdict, place=""):
    return Graded(id=name, points=Fraction(1), earned=Fraction(0), verdict=verdict, answer_from=place)


def told(tmp_path, *checks, text=REPORT):
    (tmp_path / "report.md").write_text(text)
    report = TaskReport(lab="acal-lab2", id=TASK, title="", points=Fraction(1), checks=checks)
    return what_was_read.told(Reader(None), [task(TASK)], [report], read(tmp_path, "x"))


def verdict(outcome):
    return Verdict(outcome=outcome, credit=Fraction(outcome is Outcome.CORRECT), reason="")


def test_each_block_has_its_place_its_kind_and_what_was_made_of_it(tmp_path):
    waits = without_value(Outcome.MANUAL, "no value could be read")
    right = graded("total", verdict(Outcome.CORRECT), "report.md:10, under 2-1-1")
    name, *lines = told(tmp_path, right, graded("trainable", waits))
    said = " ".join(line.strip() for line in lines)
    assert name == TASK
    assert "report.md:5-6 source code put aside: what it says; what it prints counts" in " ".join(said.split())
    assert "report.md:10 output taken: line 10 for total (6,624,904)" in " ".join(said.split())
    assert "13,004,888 parameters on line 13 (doubt: 'First I')" in said
    assert "26.6 MB on line 13 (said of memory" in said
    assert "quotation put aside: it is quoted" in " ".join(said.split())
    assert "nothing taken for trainable: no value could be read" in said
    assert "26,499,616" not in said  # of another task's section


def test_lines_fit_a_terminal_and_a_task_takes_few(tmp_path):
    rows = "\n\n".join(f"Some words about {at} things and then the value {1_000_000 + at} bytes." for at in range(40))
    lines = told(tmp_path, graded("total", verdict(Outcome.MISSING)), text=f"## 2-1-1\n{rows}\n```\n5,000,000\n```\n")
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 12


def test_right_and_wrong_read_alike(tmp_path):
    """What is shown follows from what was read, not from what it is worth."""
    both = [
        told(tmp_path, graded("total", verdict(each), "report.md:10")) for each in (Outcome.CORRECT, Outcome.INCORRECT)
    ]
    assert both[0] == both[1]


def test_a_terminal_is_not_steered_by_what_a_report_says(tmp_path):
    lines = told(tmp_path, graded("total", verdict(Outcome.MISSING)), text="## 2-1-1\nFirst I \x1b[2J got 5,000,000\n")
    assert not any("\x1b" in line for line in lines)


def test_a_task_without_a_section_is_left_out(tmp_path):
    assert told(tmp_path, graded("total", verdict(Outcome.MISSING)), text="# Notes\nnothing\n") == []
