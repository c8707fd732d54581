"""Which files are the report, and what several of them say together."""

import pytest

from labgrade.answers import text
from labgrade.answers.reports import find_reports
from labgrade.core.results import Answer, Submission
from labgrade.core.task import TextForm
from labgrade.verdict import Outcome


@pytest.mark.parametrize(
    ("files", "reports"),
    [
        (("README.md", "report-final.md", "report.md"), ("report.md", "report-final.md")),
        (("README.md", "Report.MD"), ("Report.MD",)),
        (("README.md", "report_lab2.txt"), ("report_lab2.txt",)),
        (("deep/report.md", "report.txt"), ("report.txt",)),
        (("draft/report.md", "final/report.md"), ("draft/report.md", "final/report.md")),
        (("b/report.md", "a/b/report.md"), ("b/report.md",)),
        (("README.md", "deep/report.md"), ("deep/report.md",)),
        (("README.md", "deep/README.md", "notes.md"), ("README.md", "notes.md")),
        (("notes.md", "reporter.py", "report.odt"), ("notes.md",)),
        (("notes.md", "report.tex"), ("report.tex",)),
        (("report.pdf", "report.tex", "report.rst"), ("report.rst", "report.tex")),
        (("README.txt", "lab2/hw2_report_b1190.md"), ("lab2/hw2_report_b1190.md",)),
        (("README.txt", "Bericht.md", "a.txt"), ("Bericht.md",)),
        (("HW2-報告.docx", "notes.md"), ("HW2-報告.docx",)),
        (("rapport.txt", "hw2.ipynb"), ("rapport.txt",)),
        (("lab2/hw2_1.ipynb", "lab2/hw2_1.py"), ("lab2/hw2_1.ipynb",)),
        (("hw2-1-1-output.txt", "requirements.txt", "CMakeLists.txt", "run.log", "build-log.txt", "START.md"), ()),
        (("report.docx", "report.pdf", "report2.html"), ("report.docx", "report.pdf", "report2.html")),
        (("report.md", "report.pdf", "report-2.ipynb"), ("report.md", "report-2.ipynb")),
    ],
)
def test_where_the_report_is(tmp_path, files, reports):
    assert find_reports(Submission(name="x", folder=tmp_path, files=files)) == reports


def said(hand_in, files, kind="count"):
    return text.obtain(kind, TextForm(after="Total", report=()), hand_in(files))


def test_of_texts_by_the_thousand_some_are_read_and_documents_come_first(tmp_path):
    """Each is looked for by its own name alone: to compare all with all takes minutes."""
    data = [f"label{number}.txt" for number in range(20_000)]
    files = (*data, "notes.md", "label7.docx", "zusatz.md")
    found = find_reports(Submission(name="", folder=tmp_path, files=files))
    assert len(found) == 50
    assert {"notes.md", "zusatz.md"} <= set(found)
    assert "label7.docx" not in found, "its text loses less"
    few = find_reports(Submission(name="", folder=tmp_path, files=tuple(data[:50])))
    assert sorted(few) == sorted(data[:50])


def test_reports_that_disagree_wait_for_a_person_with_both_places(hand_in):
    found = said(hand_in, {"draft/report.md": "Total: 5000", "final/report.md": "\nTotal: 6000"})
    assert found.verdict.outcome is Outcome.MANUAL
    assert found.verdict.reason == (
        "2 reports say different things: 5000 (draft/report.md:1), 6000 (final/report.md:2)"
    )
    assert found.verdict.hint == "hand in one report, at the top of the folder"


def test_a_report_at_the_top_wins_and_staff_hear_of_the_other(hand_in):
    found = said(hand_in, {"report.md": "Total: 5000", "sub/report.md": "Total: 6000"})
    assert (found.value.value, found.origin) == (5000, "report.md:1")
    assert found.remarks == ("not read, as a report lies above it: 'sub/report.md'",)


def test_reports_that_agree_are_one_and_the_finest_print_is_judged(hand_in):
    found = said(hand_in, {"report.md": "Total: 5.00 k", "report.txt": "Total: 5001"})
    assert (found.value.value, found.origin) == (5001, "report.txt:1")
    assert found.remarks == ("2 reports say the same: report.md:1, report.txt:1",)


def test_a_report_that_says_nothing_or_cannot_be_read_does_not_disagree(hand_in):
    found = said(hand_in, {"report.md": "nothing", "report.txt": "Total: 5001", "report2.txt": b"\0"})
    assert isinstance(found, Answer)
    assert found.origin == "report.txt:1"


def test_a_value_and_what_is_none_disagree(hand_in):
    found = said(hand_in, {"report.md": "Total: 5 MB", "report.txt": "Total: 5001"})
    assert found.verdict.outcome is Outcome.MANUAL
    assert "report.md:1: behind 'Total', '5 MB' is in bytes" in found.verdict.reason


def test_texts_and_shapes_that_differ_wait_too(hand_in):
    found = said(hand_in, {"report.md": "Total: a", "report.txt": "Total: b"}, "text")
    assert found.verdict.outcome is Outcome.MANUAL
    found = said(hand_in, {"report.md": "Total: (1, 2)", "report.txt": "Total: [1, 2]"}, "shape")
    assert found.value == (1, 2)


SUMMED_UP = """
## Summary

| Task | What | Value |
|---|---|---|
| 2-4-3 | Total MACs | 714 M |
| 2-1-4 | Total MACs | {} |
"""
MODELS = """
## Conclusion and results

| | GoogLeNet | AlexNet |
|---|---|---|
| Total MACs | {} | 714 M |
"""


@pytest.mark.parametrize(
    ("rest", "firm"),
    [
        (SUMMED_UP.format("1.498 G"), True),
        (MODELS.format("1.498 G"), True),
        (MODELS.format("714 M"), True),
        ("\n# 總結\nTotal MACs: 1.511 G\n", True),
        ("\n## 2-4-3\nTotal MACs: 714 M\n\n## Summary\nTotal MACs: 714 M\n", True),
        ("\n## Summary\nThe total MACs of AlexNet are 714 M.\n", True),
        ("\n## Summary\nTotal MACs: less than 2 G\n", True),
        ("\n## 2-4-3 Summary\nTotal MACs: 714 M\n", True),
    ],
)
def test_a_value_is_looked_for_in_its_own_section_alone(hand_in, rest, firm):
    submission = hand_in({"report.md": f"## 2-1-4\nTotal MACs: 1,498,376,192\n{rest}"})
    found = text.obtain("count", TextForm(after="Total MACs", report=("2-1-4",)), submission, about="googlenet")
    assert isinstance(found, Answer) is firm
    if not firm:
        assert found.verdict.outcome is Outcome.MANUAL
        assert found.verdict.reason.startswith("the report says 1,498,376,192 (report.md:2, under 2-1-4), and ")
