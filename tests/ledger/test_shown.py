"""What a class run shows while it goes on: how far it is by checks, what is left, and what takes longest."""

from __future__ import annotations

import io
from fractions import Fraction

from rich.console import Console

from labgrade.core.results import Graded
from labgrade.ledger.book import Recorded
from labgrade.run.events import Started, SubmissionDone
from labgrade.run.progress import RunProgress
from labgrade.verdict import Outcome, without_value


def entered(who, outcome="CORRECT", seconds=0.1, *, ran=True):
    verdict = without_value(Outcome(outcome), "a reason")
    graded = Graded(id="any-network", points=Fraction(1), earned=Fraction(0), verdict=verdict, seconds=seconds)
    return Recorded(who=who, place=("lab", "2-1-4-macs", "any-network"), graded=graded, ran=ran)


def shown(*events, terminal=True, width=80):
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=terminal, color_system=None, legacy_windows=False)
    with RunProgress(console) as progress:
        for event in events:
            progress.hear(event)
    return file.getvalue(), progress.said()


def test_the_bar_is_about_checks_and_says_how_many_submissions_are_done():
    text, _ = shown(
        Started(submissions=2, checks=4), *(entered("ann") for _ in range(2)), SubmissionDone("ann", {}), entered("bob")
    )
    assert " 75% 1 of 2\n" in text
    again, _ = shown(
        Started(submissions=1, checks=1),
        entered("ann"),
        entered("ann"),
        SubmissionDone("ann", {}),
        SubmissionDone("ann", {}),
    )
    assert "100% 1 of 1" in again  # some are run once more, alone


def test_verdicts_and_the_slowest_check_have_a_line_each():
    text, said = shown(
        Started(submissions=2, checks=4), entered("ann", seconds=31), entered("bob", "TIMEOUT", seconds=12)
    )
    assert said == ("1 correct, 1 timeout", "slowest 31.0 s: 2-1-4-macs any-network of ann")
    assert "\nslowest 31.0 s: 2-1-4-macs any-network of ann" in text


def test_what_is_remembered_is_never_the_slowest():
    assert shown(Started(submissions=1, checks=1), entered("ann", seconds=99, ran=False))[1] == ("1 correct",)
