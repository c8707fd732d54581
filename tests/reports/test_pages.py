"""The pages: well-formed, nothing hidden in a student's, nothing of a student's that acts, all that was promised."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser

import pytest

pytest.importorskip("jinja2", reason="pages need Jinja2")
pytest.importorskip("matplotlib", reason="pages need matplotlib")

from labgrade.core.results import Deduction, Report, SubmissionReport
from labgrade.core.student_view import for_student
from labgrade.reports.html import charts, classroom, student
from labgrade.verdict import ComparedNumber, ComparedRow, Outcome, TileGrid, correct, incorrect, partial, without_value
from tests.reports.gallery import HIDDEN, PAYLOADS, attacked, with_secrets
from tests.reports.sample import CLASS, ONE, PARAMETERS, STUDENT42, graded, task

VOID = {"meta", "link", "input", "br", "img", "hr"}
ACTS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufffe\ud800-\udfff]")


class Reader(HTMLParser):
    """Elements, attributes and visible text of a page; an element that is not closed is an error."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.words, self.ids = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.ids += [value for key, value in attrs if key == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def kinds(self):
        return {(tag, key) for tag, attributes in self.elements for key in ("", *attributes)}

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def page_of(*checks, **more):
    one = SubmissionReport(name="anna", tasks=(task("t1", "Title", *checks),), **more)
    return Reader(student.render(Report(submissions=(one,))))


@pytest.mark.parametrize("report", [ONE, CLASS, Report(submissions=(PARAMETERS and STUDENT42,))])
def test_a_students_page_is_well_formed(report):
    read = Reader(student.render(for_student(report)))
    assert len(read.ids) == len(set(read.ids))
    targets = [attributes["href"][1:] for tag, attributes in read.elements if tag == "a"]
    assert set(targets) <= set(read.ids)


def test_nothing_hidden_is_in_a_students_page():
    text = student.render(for_student(with_secrets()))
    assert [word for word in HIDDEN if word in text] == []
    assert "Title" in text
    staff = classroom.render(with_secrets())
    assert [word for word in HIDDEN if word in staff] == ["secret-check", "secretnet_50", "hidden-hint", "hidden-task"]


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("render", [student.render, classroom.render])
def test_a_students_text_is_text(payload, render):
    text = render(attacked(payload))
    read, harmless = Reader(text), Reader(render(attacked("harmless\nlines")))
    assert read.kinds <= harmless.kinds
    assert not read.kinds & {("script", "src"), ("a", "onclick"), ("svg", "onload"), ("img", "src")}
    assert not ACTS.search(text)


def test_a_page_asks_for_nothing():
    for text in (student.render(ONE), classroom.render(CLASS)):
        read = Reader(text)
        wanted = [
            value
            for tag, attributes in read.elements
            for key, value in attributes.items()
            if key in ("src", "href", "xlink:href", "action", "data", "srcset") and not (value or "").startswith("#")
        ]
        assert set(wanted) == {"data:,"}
        assert "@import" not in text
        assert re.findall(r"url\((?!#)", text) == []
    assert "<script" not in student.render(ONE)


def test_totals_with_a_range_while_something_waits():
    read = Reader(student.render(for_student(ONE)))
    assert "31.68 to 39.68 of 58 points" in read.text
    assert "2 checks wait for a person" in read.text


def test_late_points_are_shown_raw_and_final():
    late = Deduction(lab="acal-lab2", points=Fraction(2), why="one day late")
    read = page_of(graded("total", 5, correct()), deductions=(late,))
    assert "3 of 5 points" in read.text
    assert "earned 5 acal-lab2: one day late −2 final 3" in read.text
    nothing_left = page_of(graded("total", 1, correct()), deductions=(late,))
    assert "0 of 1 points" in nothing_left.text


def test_what_to_do_next_is_what_is_wrong_and_then_what_is_missing():
    small = graded("small", 1, incorrect("off by one", hint="count from zero"))
    large = graded("large", 9, partial(Fraction(1, 3), "half"))
    missing = graded("absent", 50, without_value(Outcome.MISSING, "nothing was handed in; looked for a; b"))
    said = page_of(small, large, missing).text
    order = [said.index(word) for word in ("Title: large", "worth 6 more", "Title: small", "count from zero", "absent")]
    assert order == sorted(order)
    assert "Then hand in what is missing" in said
    assert "you are done" in page_of(graded("total", 1, correct())).text
    assert "waits for a person" in page_of(graded("total", 1, without_value(Outcome.MANUAL, "waits"))).text


def test_a_task_of_which_nothing_was_handed_in_is_one_card():
    missing = replace(without_value(Outcome.MISSING, "nothing was handed in"), looked_for=("'f' in a.py", "b.csv"))
    tasks = [
        task("1-1", "First", graded("x", 1, replace(missing, hint="begin"))),
        task(
            "1-2",
            "Second",
            graded("a", 3, replace(missing, hint="no heading")),
            graded("b", 2, without_value(Outcome.SKIPPED, "needs full credit for 'a' first")),
            graded("c", 1, replace(missing, hint="no heading")),
        ),
    ]
    read = Reader(student.render(Report(submissions=(SubmissionReport(name="anna", tasks=tuple(tasks)),))))
    assert read.text.count("Hint: no heading") == 1
    assert read.text.count("nothing was handed in") == 2
    assert "Second 4 points no heading" in read.text  # what to do: one line, without the names of its checks
    assert "- not handed in a, b, c" in read.text
    targets = [attributes["href"][1:] for tag, attributes in read.elements if tag == "a"]
    assert set(targets) <= set(read.ids)


def test_a_program_in_a_reason_keeps_its_lines():
    wrong = replace(incorrect("you get 1; 2 is right"), lines=("model = nn.Sequential(", "    nn.Linear(1, 1),", ")"))
    one = SubmissionReport(name="anna", tasks=(task("1-1", "Any", graded("any", 1, wrong)),))
    text = student.render(Report(submissions=(one,)))
    assert '<p class="says">you get 1; 2 is right</p>\n<pre tabindex="0">model = nn.Sequential(\n    nn.' in text


def test_who_handed_in_and_when():
    alone = page_of(graded("x", 1, correct()), members=("b1",), handed_in="2026-11-20T21:00:00.25+08:00")
    assert "handed in by b1 handed in 2026-11-20 21:00:00 +08:00" in alone.text
    assert "handed in together by b1, b2" in page_of(graded("x", 1, correct()), members=("b1", "b2")).text


def test_places_that_were_looked_at_are_a_list():
    missing = replace(without_value(Outcome.MISSING, "nothing was handed in"), looked_for=("'f' in a.py", "b.csv"))
    read = page_of(graded("x", 1, missing))
    assert "Where it was looked for 'f' in a.py b.csv" in read.text


ROWS = (
    ComparedRow(name="conv1", column="macs", got=5.0, expected=5.0, right=True, got_text="5", expected_text="5"),
    ComparedRow(name="conv2", column="macs", got=4.0, expected=6.0, right=False, got_text="4", expected_text="6"),
    ComparedRow(name="fc", column="", got=None, expected=None, right=False),
)


def test_a_revealed_table_has_a_chart_that_marks_the_first_wrong_row():
    read = page_of(replace(graded("by-layer", 2, incorrect("wrong")), rows=ROWS, revealed=True))
    labels = [attributes.get("aria-label", "") for tag, attributes in read.elements if tag == "svg"]
    assert labels == ["macs of 2 rows, yours before the expected ones; 1 differ, first 'conv2'"]
    assert "first wrong: conv2" in read.text
    assert "conv2 macs 4 6 ✗ no" in read.text
    assert "fc none – ✗ no" in read.text


def test_texts_alone_make_a_table_and_no_chart():
    text = ComparedRow(
        name="Gemm", column="kind", got=None, expected=None, right=False, got_text="a", expected_text="b"
    )
    read = page_of(replace(graded("x", 2, incorrect("wrong")), rows=(text,), revealed=True))
    assert [tag for tag, _ in read.elements if tag == "svg"] == []
    assert "Gemm kind a b ✗ no" in read.text


def test_charts_are_the_same_each_time_and_follow_the_page():
    bars = [charts.Bar(name="ünï $x$", got=1.0, expected=2.0, right=False)] * 3
    first = charts.compared(bars, title="<t>", unit="macs", salt="a")
    assert first == charts.compared(bars, title="<t>", unit="macs", salt="a")
    assert "&lt;t&gt;" in first
    assert re.findall("#0[0-9]0[0-9]0[0-9]", first) == []
    assert "currentColor" in first
    assert "$x$" in first
    other = charts.compared(bars, title="<t>", unit="macs", salt="b")
    ids = re.compile(r' id="([^"]+)"')
    assert not set(ids.findall(first)) & set(ids.findall(other))


def test_wrong_tiles_are_drawn_where_they_are():
    grid = TileGrid(layer="fc1", block=1, tiles=(2, 3, 4), scale=(1, 1), lines=("....", ".##.", "...#"))
    drawn = charts.tile_grid(grid)
    wrong = re.findall(r'class="tile-wrong" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', drawn)
    assert wrong == [("22.0", "22.0", "44.0", "22.0"), ("66.0", "44.0", "22.0", "22.0")]
    assert charts.grid_in_words(grid) == (
        "fc1: 3 x 4 tiles, row block 1 of 2; k runs down, n across; 3 squares marked wrong"
    )


def test_the_picture_in_characters_is_left_to_the_terminal():
    grid = TileGrid(
        layer="fc1", block=0, tiles=(1, 1, 2), scale=(1, 1), lines=(".#",), picture=("fc1: 1x2 tiles", ".#")
    )
    check = graded("t", 2, replace(incorrect("tile (0, 0, 1) is missing"), picture=grid.picture))
    assert "fc1: 1x2 tiles" in page_of(check).text
    check = replace(check, grids=(grid,))
    read = page_of(check)
    assert "tile (0, 0, 1) is missing" in read.text
    assert "fc1: 1x2 tiles" not in read.text


def test_what_was_printed_is_shown_once_a_task():
    checks = [replace(graded(name, 1, incorrect("no")), printed="epoch 1") for name in "ab"]
    assert page_of(*checks).text.count("epoch 1") == 1


def test_a_class_of_none_is_a_page():
    assert "0 submissions" in Reader(classroom.render(Report(submissions=()))).text


def test_numbers_to_compare_with_are_for_staff_alone():
    compared = ComparedNumber(name="MACs of X", got="3 (from a)", expected="4")
    verdict = replace(without_value(Outcome.MANUAL, "waits", **{"handed in": "so."}), comparisons=(compared,))
    whole = Report(submissions=(SubmissionReport(name="ann", tasks=(task("t", "T", graded("c", 2, verdict)),)),))
    assert "MACs of X: got 3 (from a); expected 4" in Reader(classroom.render(whole)).text
    assert "MACs of X" not in student.render(for_student(whole))


def test_the_class_says_what_waits_for_a_person():
    said = Reader(classroom.render(CLASS)).text
    assert "Look at 1 fault of labgrade's own" in said
    assert "Mark 1 answer by hand" in said
    assert "student42 2-1-5-conv-activations: peak KeyError: 'conv1' (checkers/close.py:31)" in said


def test_what_hangs_on_a_mark_is_no_mark_of_its_own():
    hangs = replace(without_value(Outcome.MANUAL, ""), waits_for=("c",))
    checks = (graded("c", 2, without_value(Outcome.MANUAL, "waits")), graded("d", 2, hangs))
    said = Reader(
        classroom.render(Report(submissions=(SubmissionReport(name="ann", tasks=(task("t", "T", *checks),)),)))
    )
    assert "Mark 1 answer by hand" in said.text
    assert "1 waits for ..., which a person has to look at first" in said.text
