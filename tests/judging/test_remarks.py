"""Remarks of any kind in every other section of whole reports change no verdict; `LABGRADE_SOAK=1` takes thirty."""

import os
from collections import defaultdict

import pytest
from helpers import report_figures
from helpers.report_figures import Section
from judging.test_own_section import REMARKS

from labgrade.answers.reading.documents import Document
from labgrade.answers.reading.passages.headings import document_headings

REPORTS = 30 if "LABGRADE_SOAK" in os.environ else 2
MORE = [
    "Correction: the total is 6,624,904.",
    "wrong: 244,403,360 bytes",
    "TODO",
    "\u4e0d\u5c0d\uff0c\u61c9\u8a72\u662f 61,100,840",
]
ALL = "\n\n".join([*REMARKS, *MORE])


def _is_whole(section):
    """Whether it is one section under a heading with its own number, and speaks of no other task."""
    headings = document_headings(Document(path="report.md", text=section.text))
    numbers = {number for each in headings for number in each.known_as}
    first = next(iter(headings), None)
    return numbers == {section.task[:5]} and first is not None and not section.text[: first.start].strip()


def reports():
    """Reports of one section of the galleries a task, none of them twice."""
    found = defaultdict(list)
    for section in report_figures.sections():
        if "/" not in section.task and _is_whole(section):
            found[section.task].append(section)
    tasks = sorted(found, key=lambda task: -len(found[task]))[:6]
    return [[found[task][at % len(found[task])] for task in tasks] for at in range(REPORTS)]


@pytest.mark.parametrize("report", reports(), ids=lambda report: report[0].name)
def test_remarks_in_other_sections_change_no_verdict(grader, report):
    for own in report:
        plain = "\n\n".join(each.text.rstrip() for each in report)
        said = "\n\n".join(each.text.rstrip() + ("" if each is own else f"\n\n{ALL}") for each in report)
        before, after = (
            report_figures.judged(grader, Section(own.name, own.task, own.outcomes, f"# Lab 2\n\n{text}\n"))
            for text in (plain, said)
        )
        told = {check: (each.outcome, each.suggestion and each.suggestion.outcome) for check, each in before.items()}
        assert told == {
            check: (each.outcome, each.suggestion and each.suggestion.outcome) for check, each in after.items()
        }, own.name
