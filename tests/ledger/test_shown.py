"""What a class run shows while it goes on: how far it is by checks, what is left, and what takes longest."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from labgrade.ledger.verdict_memory import Recorded
from labgrade.run.events import Judging, Started, SubmissionDone
from labgrade.run.progress import RunProgress
from labgrade.verdict import Outcome


def entered(who, outcome="CORRECT", seconds=0.1, *, ran=True):
    place = ("lab", "2-1-4-macs", "any-network")
    return Recorded(who=who, place=place, outcome=Outcome(outcome), seconds=seconds, ran=ran)


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


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is moved on."""
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def heard(clock, *steps):
    """A progress that hears events; a number moves the clock on by so many seconds."""
    progress = RunProgress(Console(file=io.StringIO(), width=80))
    for step in steps:
        if isinstance(step, int | float):
            clock[0] += step
        else:
            progress.hear(step)
    return progress


def one(who, seconds):
    return (Judging(who, "2-1-4-macs total"), seconds, SubmissionDone(who, {}))


def test_what_runs_for_long_is_named_with_whose_it_is_and_since_when(clock):
    begun = (Started(submissions=9, checks=9), Judging("ann", "2-1-1 total"), 30, Judging("ann", "2-1-4-macs total"), 4)
    assert heard(clock, *begun).said() == ()
    assert heard(clock, *begun, 61).said() == ("running 2-1-4-macs total of ann for 1 min",)
    four = [Judging(who, "2-1-4-macs total") for who in ("bob", "cho", "dan")]
    running = heard(clock, *begun, *four, 10).said()
    assert running == ("running 2-1-4-macs total of ann for 14 s, 2-1-4-macs total of bob for 10 s, 2 more",)
    assert heard(clock, *begun, 61, SubmissionDone("ann", {})).said() == ()


def test_the_time_left_is_a_range_that_a_slow_submission_widens(clock):
    steady = [step for who in "abcd" for step in one(who, 10)]
    assert heard(clock, Started(submissions=10, checks=10), *steady).said() == ("about 1 min left",)
    loop = [*steady, Judging("slow", "2-1-4-macs total"), 300]
    left, running = heard(clock, Started(submissions=10, checks=10), *loop).said()
    assert (left, running) == ("50 s to 6 min left", "running 2-1-4-macs total of slow for 5 min")


def test_what_is_remembered_says_nothing_of_the_time_left(clock):
    remembered = [SubmissionDone(who, {}) for who in "abcdef"]
    assert heard(clock, Started(submissions=10, checks=10), *remembered).said() == ()
