"""The report as JUnit XML: a suite for each submission, a case for each check. For CI systems and their viewers.

Not right is a failure, a FAULT an error; what waits for a person or for another check is skipped, and so is a
bonus that nobody handed in. Outcome, points and credit are properties of the case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from labgrade.core import points
from labgrade.core.text import escaped, framed, one_line
from labgrade.reports import summary
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from labgrade.core.results import Graded, Report, SubmissionReport, TaskReport

_SKIPPED = frozenset({Outcome.SKIPPED, Outcome.MANUAL})


def render(report: Report) -> str:
    """The report as one XML document, without a final newline."""
    root = ET.Element("testsuites", name="labgrade")
    for submission in report.submissions:
        root.append(_suite(submission))
    _sum_up(root)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode")


def _suite(submission: SubmissionReport) -> ET.Element:
    suite = ET.Element("testsuite", name=escaped(submission.name))
    if submission.handed_in:
        suite.set("timestamp", escaped(submission.handed_in))
    total = points.final_totals(submission)
    properties = ET.SubElement(suite, "properties")
    for name, value in (("points", total.points), ("earned", total.earned), ("final", total.final)):
        ET.SubElement(properties, "property", name=name, value=summary.points(value))
    for task in submission.tasks:
        for check in task.checks:
            suite.append(_case(task, check))
    _sum_up(suite)
    return suite


def _case(task: TaskReport, check: Graded) -> ET.Element:
    verdict = check.verdict
    where = ".".join(filter(None, (task.lab, task.id)))
    case = ET.Element("testcase", classname=escaped(where), name=escaped(check.id), time=f"{check.seconds:.3f}")
    properties = ET.SubElement(case, "properties")
    told = {
        "outcome": str(verdict.outcome),
        "points": summary.points(check.points),
        "earned": summary.points(check.earned),
        "credit": f"{float(verdict.credit):g}",
        "answer_from": escaped(check.answer_from),
    }
    for name, value in told.items():
        ET.SubElement(properties, "property", name=name, value=value)
    kind = _kind(check)
    if kind:
        reason = one_line(f"{verdict.outcome}: {summary.full_reason(verdict, bonus=check.bonus)}")
        result = ET.SubElement(case, kind, message=reason)
        said = (
            (f"{verdict.outcome}: ", summary.full_reason(verdict, bonus=check.bonus)),
            ("hint: ", summary.hint(verdict)),
            ("fault: ", verdict.facts.get("fault", "")),
        )
        result.text = "\n".join(framed(text, label) for label, text in said if text)
    if check.printed:
        ET.SubElement(case, "system-out").text = framed(check.printed, theirs=True)
    return case


def _kind(check: Graded) -> str:
    outcome = check.verdict.outcome
    if outcome is Outcome.CORRECT:
        return ""
    if outcome is Outcome.FAULT:
        return "error"
    return "skipped" if outcome in _SKIPPED or (check.bonus and outcome is Outcome.MISSING) else "failure"


def _sum_up(element: ET.Element) -> None:
    """The counts that viewers show; of a suite, and of all suites."""
    cases = list(element.iter("testcase"))
    element.set("tests", str(len(cases)))
    for name, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(name, str(sum(case.find(kind) is not None for case in cases)))
    element.set("time", f"{sum(float(case.get('time', '0')) for case in cases):.3f}")
