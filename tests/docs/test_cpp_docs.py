"""The worked example of docs/cpp-tasks.md is true: the spec validates, and the program that it shows is right."""

import re
import shutil
from pathlib import Path

import pytest
from helpers.handed_in import read

from labgrade.run.grader import Grader
from labgrade.spec import course, load

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/cpp-tasks.md").read_text(encoding="utf-8")


@pytest.mark.skipif(not all(map(shutil.which, ("cmake", "g++", "make"))), reason="needs: apt install cmake g++ make")
def test_the_worked_example(tmp_path):
    task, program = (re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)[1] for kind in ("yaml", "cpp"))
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/convolution-weights.yaml").write_text(task)
    (tmp_path / "work/hw").mkdir(parents=True)
    (tmp_path / "work/hw/analyze.cpp").write_text(program)
    found = course.find(ROOT)
    read_task = load.read(tmp_path / "specs/convolution-weights.yaml", found)
    with Grader(found) as grader:
        (report,) = grader.grade([read_task], read(tmp_path / "work", "work")).tasks
    assert {check.id: str(check.verdict.outcome) for check in report.checks} == {
        "this-model": "CORRECT",
        "other-models[squeezenet1_1]": "CORRECT",
        "other-models[dilated]": "CORRECT",
    }
