"""What a report says, judged by the real tasks of HW 2."""

import pytest
from helpers import report_figures
from helpers.report_figures import Section


@pytest.fixture(scope="module")
def grader():
    grader = report_figures.grader()
    yield grader
    grader.stop()


@pytest.fixture
def judged(grader):
    """The verdict of a check of a task on a report with this text."""

    def judge(task, text, check="total"):
        return report_figures.judged(grader, Section("s", task, {check: None}, text))[check]

    return judge
