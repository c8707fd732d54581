"""Marking in the terminal: what is shown, what is kept at once, stopping, going on, taking back."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from helpers.class_sample import CLASS, essay, graded, report, student, submission
from rich.cells import cell_len
from rich.console import Console

from labgrade.core.results import MarkingText
from labgrade.review import decisions
from labgrade.review.apply import with_decisions
from labgrade.review.decisions import Place
from labgrade.review.interview import Desk
from labgrade.review.marking import mark, waiting
from labgrade.verdict import ComparedNumber, Outcome, without_value


@pytest.fixture
def work(tmp_path):
    """Mark a report with these lines typed; what was shown, and how many were marked."""

    def made(*typed, whole=CLASS, before_each=lambda: None, **more):
        shown = io.StringIO()
        lines = list(typed)

        def ask(prompt):
            before_each()
            shown.write(f"{prompt}\n")
            if not lines:
                raise EOFError
            return lines.pop(0)

        console = Console(file=shown, width=80, color_system=None)
        called = more.pop("called", lambda name: name)
        desk = Desk(console, ask, tmp_path, by="ta", called=called)
        count = desk.work(waiting(with_decisions(whole, decisions.read(tmp_path))))
        return shown.getvalue(), count

    return made


def kept(tmp_path):
    found = decisions.read(tmp_path)
    return {place.submission: found.in_force(place) for place in found.places if found.in_force(place)}


def test_the_text_and_the_rubric_are_shown_and_the_mark_is_kept(work, tmp_path):
    shown, count = work("2.5", "full", "well said", "q")
    assert count == 1
    assert "because of memory" in shown
    assert "from: report.md:7" in shown
    assert "     3  names the bottleneck\n     1  gives a number\n" in shown
    assert (
        "names the bottleneck (0 to 3): \ngives a number (0 to 1): \ncomment for the student (enter for none): "
        in shown
    )
    assert "kept: 3.5 of 4" in shown
    assert "1 marked, 2 wait\n" in shown
    (ann,) = kept(tmp_path).values()
    assert (ann.place.submission, ann.credit, ann.reason, ann.by) == ("ann", 3.5 / 4, "well said", "ta")


def test_numbers_stand_below_the_text_next_to_what_is_right(work):
    compared = ComparedNumber(name="MACs", got="3 (from hw.py:macs)", expected="4")
    verdict = without_value(Outcome.MANUAL, "r", **{"handed in": "so."})
    verdict = replace(verdict, comparisons=(compared,), remarks=("one",))
    waits = replace(essay(text="so."), verdict=verdict)
    shown, _ = work("q", whole=report(submission("ann", waits)))
    assert shown.index("so.") < shown.index("MACs: │ got 3 (from hw.py:macs); expected 4") < shown.index("(0 to 3)")
    assert "remarks" not in shown
    assert shown.count("so.") == 1


def test_one_stops_at_any_moment_and_goes_on_where_one_stopped(work, tmp_path):
    work("3", "1", "")
    assert list(kept(tmp_path)) == ["ann"]
    shown, _ = work("1", "q")
    assert "because of memory" not in shown
    assert "because of compute" in shown
    assert list(kept(tmp_path)) == ["ann"]  # half a mark is none
    _, count = work("1", "1", "", "0", "0", "")
    assert (count, sorted(kept(tmp_path))) == (2, ["ann", "bob", "王小明"])
    assert work()[0] == "0 marked, 0 wait\n"


def test_a_slip_is_asked_again(work, tmp_path):
    shown, _ = work("4", "2.555", "3,0", "x", "1", "", "q")
    assert "4 is more than the 3 that this is worth" in shown
    assert "'2.555' is no number of points" in shown
    assert "'x' is no number of points: 0 to 1" in shown
    assert kept(tmp_path)["ann"].credit == 1


def test_one_may_be_skipped_or_taken_back(work, tmp_path):
    shown, count = work("b", "s", "3", "1", "", "b", "0", "0", "second thoughts", "q")
    assert "nothing was marked before this one" in shown
    assert "taken back: 4 of 4 by ta" in shown
    assert count == 1
    assert [(name, ruling.credit) for name, ruling in kept(tmp_path).items()] == [("bob", 0)]
    bob = Place(submission="bob", lab="lab2", task="macs", check="essay")
    assert [each.kind for each in decisions.read(tmp_path).history(bob)] == ["mark", "undo", "mark"]


def test_a_colleague_s_mark_is_not_marked_again(work, tmp_path):
    once = iter([True])

    def colleague():
        if next(once, False):
            bob = waiting(CLASS)[1]
            decisions.add(tmp_path, [(mark(bob.place, bob.graded, [1, 1], by="eve", comment=""), 0)])

    shown, count = work("3", "1", "", "0", "0", "", before_each=colleague)
    assert "bob was marked meanwhile: 4 of 4 by eve" in shown
    assert count == 2
    assert {name: ruling.by for name, ruling in kept(tmp_path).items()} == {"ann": "ta", "bob": "eve", "王小明": "ta"}


def test_what_was_decided_before_is_shown(work):
    work("3", "0", "no number", "q")
    shown, _ = work("q", whole=report(student("ann", "because of memory: 5 MB")))
    assert "before: │ 3 of 4 by ta, " in shown
    assert ": no number" in shown
    assert "5 MB" in shown


def test_names_may_be_kept_back(work, tmp_path):
    shown, _ = work("3", "1", "", "q", called=lambda name: f"student-{len(name)}")
    assert "ann" not in shown.replace("anne", "")
    assert list(kept(tmp_path)) == ["ann"]


def test_all_of_a_long_text_is_shown_within_the_width_and_can_do_no_harm(work):
    nasty = "\x1b[2Jgone\u202e " + "很長的句子。" * 400 + "\n\n- [bold]markup[/bold]\n\tx = 1\n" + "word " * 900 + "END"
    shown, _ = work("q", whole=report(student("ann", nasty)))
    assert "\x1b" not in shown
    assert "\\x1b[2Jgone\\u202e" in shown
    assert shown.count("很長的句子。") >= 300  # some are cut by the ends of lines
    assert "".join(shown.replace("│", "").split()).count("很長的句子。") == 400
    assert "[bold]markup[/bold]" in shown
    assert shown.split().count("word") == 900
    assert "END" in shown
    assert max(cell_len(line) for line in shown.splitlines()) <= 80


def test_what_has_no_text_shows_why_it_waits(work):
    bare = graded("proof", 10, without_value(Outcome.MANUAL, "the proof does not cover 'Loop'"))
    shown, _ = work("7", "", whole=report(submission("ann", bare)))
    assert "the proof does not cover 'Loop'" in shown
    assert "the whole check (0 to 10): " in shown
    assert "kept: 7 of 10" in shown
    free = graded("warm-up", 0, without_value(Outcome.MANUAL, "look"))
    shown, _ = work("0", "full", "", whole=report(submission("bob", free)))
    assert "this is worth no points: say 'full' or 'none'" in shown


def test_an_empty_text_is_shown_as_such(work):
    blank = replace(essay(), to_mark=MarkingText(rubric=essay().to_mark.rubric, text=""))
    shown, _ = work("q", whole=report(submission("ann", blank)))
    assert "waits to be marked by a person" in shown
