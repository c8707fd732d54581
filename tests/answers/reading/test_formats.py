"""Reports that are no text: what is read of them, and what is left to a person."""

import logging
import sys

import pytest
from helpers import other_formats
from helpers.other_formats import html, pdf

from labgrade.answers import near_miss, text
from labgrade.answers.reading import markup
from labgrade.answers.reading.documents import read_document
from labgrade.core.results import Answer
from labgrade.core.task import TableType, TextForm
from labgrade.judging.by_hand import waits_if_lossy
from labgrade.verdict import Outcome, correct, without_value

TABLE = TableType(row="layer", columns={"macs": "count"})
MADE = {f"report.{suffix}": made for suffix, made in other_formats.MADE.items()}
LOSSY = {"report.docx", "report.pdf"}


@pytest.mark.parametrize("name", MADE)
def test_a_number_in_its_section(hand_in, name):
    found = text.obtain("count", TextForm(after="Total MACs", report=("2-1-4",)), hand_in({name: MADE[name]()}))
    assert isinstance(found, Answer)
    assert found.value.value == 1540
    assert found.lossy == (name in LOSSY)
    assert found.remarks == (f"lines of '{name}' are counted in its text as Markdown",)


@pytest.mark.parametrize("name", MADE)
def test_a_table(hand_in, name):
    found = text.obtain(TABLE, TextForm(report=("2-1-4",)), hand_in({name: MADE[name]()}))
    assert {row.name: row.cells["macs"].value for row in found.value.rows} == {"conv1": 1200, "fc": 340}


def test_headings_that_lost_their_size_are_headings():
    lines = [
        "Lab 1: a report",
        "Lab 1",
        "1. Batch size",
        "",
        "1 0.5 x",
        "",
        "1. a list",
        "2. of two",
        "",
        "3 Rates",
        "",
        "Fully Connected",
        "",
        "a remark",
    ]
    marked = ["# Lab 1", "## 1. Batch size", "## 3 Rates", "### Fully Connected"]
    found = markup.with_headings("\n".join(lines)).split("\n")
    assert [line for line in found if line not in lines] == marked
    assert markup.with_headings("1. Batch size\n\nEpochs") == "1. Batch size\n\nEpochs"  # of no lab


def test_a_table_goes_on_over_the_end_of_a_page():
    first, second = "rate  seed  accuracy\n0.1  0  0.9\n", "  0.1    1    0.8\n\n4. More"
    assert markup.joined([first, second]) == "rate  seed  accuracy\n0.1  0  0.9\n0.1    1    0.8\n\n4. More"
    assert markup.joined(["a text", "4. More"]) == "a text\n\n4. More"


def test_what_a_page_hides_is_no_answer(hand_in):
    hidden = '<div style="color: red; Display : NONE">Total MACs: 7</div><p hidden>Total MACs: 8</p>'
    page = hand_in({"report.html": html(hidden)})
    assert text.obtain("count", TextForm(after="Total MACs", report=()), page).value.value == 1540


@pytest.mark.parametrize(
    ("rules", "attributes"),
    [
        (".old{display:none}", 'class="old"'),
        ("p { margin: 0 } /* x */ b, p.gone , #x { color: red; visibility: hidden; }", 'class="big gone"'),
        ("#first { text-decoration: line-through }", 'id="first"'),
        ("", 'style="text-decoration:line-through red"'),
    ],
)
def test_what_a_page_hides_by_its_style_sheet_is_no_answer(hand_in, rules, attributes):
    page = f"<style>{rules}</style><p {attributes}>Total MACs: 7</p><p class='new' id='second'>Total MACs: 1540</p>"
    found = text.obtain("count", TextForm(after="Total MACs", report=()), hand_in({"report.html": page}))
    assert found.value.value == 1540


@pytest.mark.parametrize("name", sorted(LOSSY))
def test_what_is_not_found_where_a_part_may_be_lost_is_left_to_a_person(hand_in, name):
    form = TextForm(after="Total parameters", report=())
    (note, *_) = near_miss.notes([form], "count", hand_in({name: MADE[name]()}))
    assert note.unread
    (note, *_) = near_miss.notes([form], "count", hand_in({"report.html": html()}))
    assert not note.unread


@pytest.mark.parametrize("name", [*MADE, "report.htm"])
def test_a_damaged_file_is_left_to_a_person(hand_in, name):
    made = b"%PDF-1.7 \x00" if name.endswith(("htm", "html")) else b"%PDF-1.7 \x00\xff"
    submission = hand_in({name: made})
    document = read_document(submission, name)
    if not name.endswith(("htm", "html")):  # a page is never damaged
        assert "can't be opened" in document.problem
        assert near_miss.notes([TextForm(after="Total", report=())], "count", submission)[0].unread


def test_what_a_library_says_of_a_damaged_file_is_not_printed(hand_in, monkeypatch):
    """For one damaged PDF of 89 KB that was 1.3 MB, more than the process that reads may print."""
    said, handler = [], logging.Handler()
    monkeypatch.setattr(handler, "emit", said.append)
    monkeypatch.setattr(logging.getLogger(), "handlers", [handler])
    damaged = pdf().replace(b"startxref", b"startxref\n1\n%")
    assert read_document(hand_in({"report.pdf": damaged}), "report.pdf").problem == ""
    assert said == []


def test_only_what_is_right_is_decided():
    assert waits_if_lossy(correct("all right"), "report.pdf:5").outcome is Outcome.CORRECT
    for outcome in (Outcome.INCORRECT, Outcome.PARTIAL, Outcome.MISSING):
        waits = waits_if_lossy(without_value(outcome, "got 7"), "report.pdf:5")
        assert (waits.outcome, waits.suggestion.outcome, waits.suggestion.place) == (
            Outcome.MANUAL,
            outcome,
            "report.pdf:5",
        )
        assert waits.reason.startswith("got 7; ")


def test_a_missing_package_is_said_and_costs_nothing(hand_in, monkeypatch):
    monkeypatch.setitem(sys.modules, "pypdf", None)
    document = read_document(hand_in({"report.pdf": pdf() + b"%"}), "report.pdf")
    assert document.lossy
    assert document.problem == "can't be read here without the package 'pypdf'"
