"""Reports of many styles, languages and tools: no silent zero, no false pass, suggestions that are right."""

from collections import Counter

import pytest
from helpers import report_figures
from helpers.direct import ROOT
from helpers.handed_in import read
from helpers.other_formats import pdf
from helpers.report_figures import AGREED, MISLED, OPEN, OTHER, PASSED, SILENT, SUGGESTED

from labgrade.run.grader import Grader
from labgrade.run.task import TaskGrading
from labgrade.spec import course, load

pytestmark = pytest.mark.slow

LEAST = 0.975  # of what a marker says, agreed or rightly suggested; nothing is suggested of another task's section


@pytest.fixture(scope="module")
def found():
    """How each check of the gallery came out, by its section."""
    grader = report_figures.grader()
    try:
        return {
            f"{section.name} {check}": report_figures.compared(verdict, section.outcomes[check])
            for section in report_figures.sections()
            for check, verdict in report_figures.judged(grader, section).items()
        }
    finally:
        grader.stop()


def test_nothing_wrong_passes_and_nothing_right_is_a_silent_zero(found):
    assert [name for name, how in found.items() if how in (PASSED, SILENT, OTHER)] == []


def test_as_a_marker_says(found):
    figures = Counter(found.values())
    unlike = [name for name, how in found.items() if how in (MISLED, OPEN)]
    assert (figures[AGREED] + figures[SUGGESTED]) / figures.total() >= LEAST, unlike


def test_what_is_decided_stays_decided(found):
    """`reports_waiting.txt` has what is not as a marker says: a line goes where the reader learns, and none comes."""
    waiting = (report_figures.GALLERY.parent / "reports_waiting.txt").read_text(encoding="utf-8").splitlines()
    assert sorted(name for name, how in found.items() if how is not AGREED) == waiting


@pytest.mark.parametrize(("text", "alone"), [("![a](a.png)\n", True), ("![a](a.png)\n\nwhat it shows\n", False)])
def test_a_picture_beside_words_is_not_alone(text, alone):
    grader, asked = report_figures.grader(), {"by-layer": None}
    try:
        section = report_figures.Section("a-picture", "2-1-4-macs", asked, f"## 2-1-4\n\n{text}")
        verdict = report_figures.judged(grader, section)["by-layer"]
    finally:
        grader.stop()
    assert verdict.outcome == "MANUAL"
    assert ("alone" in verdict.reason) is alone


def test_the_gallery_is_large():
    assert len(report_figures.sections()) >= 60


@pytest.mark.parametrize(
    ("name", "content", "outcome"), [("report.pdf", pdf(), "MANUAL"), ("report.md", b"# 2-6\nx\n", "MISSING")]
)
def test_tensors_that_are_not_found_wait_where_a_part_may_be_lost(tmp_path, name, content, outcome):
    (tmp_path / name).write_bytes(content)
    found = course.find(ROOT)
    (path,) = (each for each in load.lab_files(found, "mase-lab2") if each.stem == "2-6-printed-weights")
    with Grader(found) as grader:
        graded = TaskGrading(grader, load.read(path, found), read(tmp_path, "s"), explains=False)
        assert graded.graded("printed").verdict.outcome == outcome
