"""One real report, as it comes off a rendered page, where the file is there."""

import shutil
from pathlib import Path

import pytest
from helpers import report_figures
from helpers.direct import task
from helpers.handed_in import read as handed_in

from labgrade.answers import text
from labgrade.core.results import Submission
from labgrade.core.task import TableType, TextForm
from labgrade.run.task import TaskGrading
from labgrade.verdict import Outcome

REPORT = Path(__file__).parents[3] / "../shared/samples/real-report.txt"


@pytest.fixture
def read(tmp_path):
    if not REPORT.is_file():
        pytest.skip("the real report is not part of the project")
    shutil.copy(REPORT, tmp_path / "report.txt")
    submission = Submission(name="real", folder=tmp_path, files=("report.txt",))
    return lambda kind, after, section: text.obtain(kind, TextForm(after=after, report=(section,)), submission)


@pytest.mark.parametrize(
    ("section", "words", "kind", "value"),
    [
        ("2-1-1", "Total parameters", "count", 6_624_904),
        ("2-1-1", "Trainable parameters", "count", 6_624_904),
        ("2-1-1", "Non-trainable parameters", "count", 0),
        ("2-1-2", "Total memory for parameters", "bytes", 26_499_616),
        ("2-1-4", "Total MACs", "count", 1_513_907_448),
        ("2-2-2", "Peek bandwidth", "bytes", 9_633_792),
        ("2-2-3", "Total activation bandwidth", "bytes", 52_010_328),
        ("2-4-1", "Total memory for parameters", "bytes", 27_994_208),
    ],
)
def test_values(read, section, words, kind, value):
    assert read(kind, words, section).value.value == value


def test_the_printed_precision(read):
    number = read("count", "Total MACs", "2-1-4").value
    assert (number.digits, number.text) == (10, "1.513907448 GMac")


def test_the_abridged_torchinfo_table(read):
    table = read(TableType(row="layer", columns={"parameters": "count", "output_shape": "shape"}), None, "2-1-3").value
    assert table.abridged
    assert len(table.rows) == 12
    assert table.rows[2].name == "Conv2d: 2-1"
    assert table.rows[2].cells["parameters"].value == 9_408
    assert table.rows[2].cells["output_shape"] == (1, 64, 112, 112)
    assert table.rows[-1].name == "Linear: 1-19"


def test_the_macs_of_each_type(read):
    table = read(TableType(row="type", columns={"macs": "count"}), None, "2-1-4").value
    assert {row.name: int(row.cells["macs"].value) for row in table.rows} == {
        "AdaptiveAvgPool2d": 50_176,
        "BatchNorm2d": 6_452_320,
        "Conv2d": 1_497_352_192,
        "Linear": 1_025_000,
        "MaxPool2d": 2_875_712,
    }


def test_words_that_stand_before_different_values(read):
    answer = read("count", "MACs", "2-1-4")
    assert answer.verdict.outcome is Outcome.MANUAL
    assert "1.513907448 GMac (line 170)" in answer.verdict.reason


# As a person marked it, or waiting with what they would say.
MARKED = {
    "2-1-1-parameters": {"total": "CORRECT", "trainable": "CORRECT", "non-trainable": "CORRECT"},
    "2-1-2-weight-bytes": {"total": "CORRECT"},
    "2-1-3-layer-table": {"layers": "CORRECT"},
    "2-1-4-macs": {"total": "PARTIAL", "by-type": "CORRECT", "by-layer": "MISSING", "bonus-layers": "CORRECT"},
    "2-1-5-conv-activations": {"shapes": "MANUAL: INCORRECT", "values": "MANUAL: INCORRECT"},
    "2-2-1-attributes": {"convolutions": "CORRECT", "matrix-operators": "CORRECT"},
    # They found no total. Its section lists operators and attributes, among which a total might stand: it waits.
    "2-2-1-operators": {"counts": "MISSING", "total": "MANUAL", "types": "MANUAL: CORRECT"},
    "2-2-2-bandwidth": {"total": "PARTIAL"},
    "2-2-3-activation-memory": {"total": "PARTIAL"},
    "2-4-1-weight-bytes": {"total": "INCORRECT"},
    "2-4-2-activation-bytes": {"total": "MANUAL: INCORRECT"},
    "2-4-3-macs": {"total": "INCORRECT"},
}


def test_every_task_as_a_person_marked_it(tmp_path):
    if not REPORT.is_file():
        pytest.skip("the real report is not part of the project")
    shutil.copy(REPORT, tmp_path / "report.txt")
    grader = report_figures.grader()
    try:
        found = {
            name: {check: _said(grading.graded(check).verdict) for check in checks}
            for name, checks in MARKED.items()
            for grading in [TaskGrading(grader, task(name), handed_in(tmp_path, "real"))]
        }
    finally:
        grader.stop()
    assert found == MARKED


def _said(verdict):
    return f"{verdict.outcome}: {verdict.suggestion.outcome}" if verdict.suggestion else str(verdict.outcome)
