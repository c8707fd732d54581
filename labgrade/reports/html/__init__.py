"""Reports as pages: whether they can be made, and which page fits a report."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from labgrade.core import student_view
from labgrade.core.errors import UsageError

if TYPE_CHECKING:
    from labgrade.core.results import Report

_NEEDED = {"jinja2": "Jinja2", "matplotlib": "matplotlib"}


def refuse_without() -> None:
    """Refuse pages where what draws them is not installed.

    Raises:
        UsageError: with what to install.
    """
    missing = [shown for name, shown in _NEEDED.items() if find_spec(name) is None]
    if missing:
        message = f"pages need {' and '.join(missing)}: python -m pip install 'labgrade[html]'"
        raise UsageError(message)


def page_of(report: Report) -> str:
    """A class as one page for staff; one submission as a student's, with what only staff may see left out."""
    from labgrade.reports.html import classroom, student

    if len(report.submissions) != 1:
        return classroom.render(report)
    return student.render(student_view.for_student(report))
