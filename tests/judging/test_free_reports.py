"""Reports of many styles, languages and tools: no silent zero, no false pass, suggestions that are right."""

from collections import Counter

import pytest
from helpers import report_figures
from helpers.report_figures import AGREED, MISLED, OPEN, OTHER, PASSED, SILENT, SUGGESTED

pytestmark = pytest.mark.slow

LEAST = 0.98  # of what a marker says, agreed or rightly suggested


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


def test_the_gallery_is_large():
    assert len(report_figures.sections()) >= 60
