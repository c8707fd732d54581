"""A student's page after release: what a person wrote comes first and whole, and nothing is to be handed in."""

from __future__ import annotations

import re
from dataclasses import replace

from labgrade.core.results import Decision, LabText, Report, SubmissionReport
from labgrade.reports.html import student
from labgrade.verdict import Outcome, partial, without_value
from tests.reports.sample import graded, task

COMMENT = "Well argued. " * 500 + "But the last step <is> missing."
WAITED = without_value(Outcome.MANUAL, "waits")


def decided(reason=COMMENT):
    mine = partial(
        0.5, f"a person gave 2 of 4: {reason}" if reason else "a person gave 2 of 4", hint="a machine's hint"
    )
    marked = graded("essay", 4, mine)
    decision = Decision(by="a person", at="2026-11-22T10:00:00+00:00", reason=reason, machine=WAITED)
    return replace(marked, decision=decision)


def page(*checks, released="2026-11-22T20:00:00+00:00", labs=()):
    own = SubmissionReport(name="ann", tasks=(task("2-1", "A task", *checks),), released=released)
    return student.render(Report(submissions=(own,), labs=labs))


def test_what_a_person_wrote_comes_first_and_whole():
    text = page(decided(), graded("total", 3, without_value(Outcome.CRASHED, "KeyError")))
    whole = COMMENT.replace("<is>", "&lt;is&gt;").strip()
    assert text.count(whole) == 2  # above all else, and at its check
    assert "more characters" not in text.split('id="overview"')[1].split(whole)[0]
    assert text.index("What a person wrote") < text.index("What cost points")
    card = text[text.index('aria-labelledby="c1-1"') :]
    assert card.index(whole) < card.index("a person gave 2 of 4<") < card.index("a machine&#39;s hint")


def test_without_a_comment_the_decision_is_said():
    text = page(decided(""))
    assert "What a person wrote" not in text
    assert "Decided by a person on 2026-11-22" in text


def test_nothing_is_to_be_handed_in_after_release():
    missing = graded("total", 3, without_value(Outcome.MISSING, "nothing was found", hint="write hw.py"))
    before, after = page(missing, released=""), page(missing)
    assert "Hand in what is missing" in before
    assert not re.search("[Hh]and in", after)
    assert "Was not handed in" in after
    assert "write hw.py" in before
    assert "write hw.py" not in after
    assert "What cost points" not in page(graded("total", 3, partial(1, "right")))


def test_course_lab_and_date_stand_at_the_head_and_the_statement_at_its_task():
    labs = (LabText(lab="acal-lab2", title="Models", course="ACAL", statements=(("2-1", "How <large>?\nSay why."),)),)
    text = page(decided(), labs=labs)
    head = text[text.index("<header") : text.index("</header>")]
    assert "ACAL · acal-lab2: Models" in head
    assert "results of 2026-11-22 20:00:00 +00:00" in head
    assert "What was asked</summary>\n<p>How &lt;large&gt;?\nSay why.</p>" in text
    assert "acal-lab2" in page(decided())  # where no lab.yaml says more
