"""Students' texts that try to act: on a page, a terminal, an XML parser, a spreadsheet, or Markdown."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from labgrade.core.results import Decision, Deduction, Report, SubmissionReport
from labgrade.verdict import ComparedRow, Outcome, TileGrid, correct, incorrect, partial, without_value
from tests.reports.sample import STUDENT42, graded, task

PAYLOADS = (
    "<script>window.injected=1</script>",
    '"><img src=x onerror="window.injected=1">',
    "'--><svg onload=window.injected=1>",
    "</style><script>window.injected=1</script>",
    "{{ 7*7 }}{% raw %}",
    "javascript:window.injected=1",
    "\x1b[2J\x1b]0;owned\x07\x9b31m",
    "\u202egpj.exe\u2066\u200f",
    "\x00\x08\ufffe\udc80",
    "]]><!ENTITY x SYSTEM 'file:///etc/passwd'>&x;",
    '=HYPERLINK("http://evil.example/","x")',
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "[x](javascript:alert(1)) ![y](http://evil.example/y.png) @octocat <b>",
    "$\\frac{1}{0}$ \\href{http://evil.example}{x}",
    "| a | b |\n|---|---|\n# heading",
    "http://evil.example/x.css",
)
HIDDEN = ("secret-check", "secretnet_50", "9,876,543,210", "the hidden reason", "hidden-hint", "hidden-task")


def attacked(payload: str) -> Report:
    """A report in which the payload stands wherever a student's text may stand."""
    rows = tuple(
        ComparedRow(
            name=name, column=payload, got=float(i), expected=2.0, right=i == 2, got_text=payload, expected_text="2"
        )
        for i, name in enumerate((payload, "conv1", payload))
    )
    grid = TileGrid(layer=payload, block=0, tiles=(2, 2, 3), scale=(1, 1), lines=(".#.", "..."))
    verdict = partial(Fraction(1, 2), payload, hint=payload, got=payload)
    check = replace(
        graded("total", 4, replace(verdict, notes=(payload,)), payload),
        printed=payload,
        rows=rows,
        revealed=True,
        grids=(grid,),
        decision=Decision(by=payload, at="2026-11-21T10:00:00Z", reason=payload, machine=incorrect(payload)),
    )
    fault = graded("fault", 1, without_value(Outcome.FAULT, payload, fault=payload))
    wrong = graded("wrong", 1, incorrect(payload, got="1,234,567"))
    one = SubmissionReport(
        name=payload,
        tasks=(task("t1", "Title", check, fault, wrong, graded("by hand", 1, without_value(Outcome.MANUAL, payload))),),
        remarks=(payload,),
        members=(payload, "Anna"),
        handed_in="2026-11-21T10:00:00+08:00",
        deductions=(Deduction(lab="lab", points=Fraction(1), why=payload),),
    )
    return Report(submissions=(one,), notes=(payload,))


def with_secrets() -> Report:
    """A public submission beside hidden checks, whose every word is in HIDDEN."""
    name, subject, value, reason, hint, other = HIDDEN
    secret = replace(
        graded(
            f"{name}[{subject}]",
            7,
            partial(Fraction(1, 3), f"{reason}: got {value}", hint=hint, got=value, expected=value),
            f"hw.py:{name}",
            hidden=True,
        ),
        printed=f"{subject} {value}",
        rows=(ComparedRow(name=subject, got=1.0, expected=9876543210.0, right=False, expected_text=value),),
        grids=(TileGrid(layer=subject, block=0, tiles=(1, 1, 1), scale=(1, 1), lines=("#",)),),
    )
    public = replace(
        graded("total", 3, correct(got="1", expected=value), "hw.py:total"),
        rows=(ComparedRow(name="conv1", got=1.0, expected=9876543210.0, right=False, expected_text=value),),
    )
    tasks = (*STUDENT42.tasks, task("t1", "Title", public, secret), task(other, other, secret))
    return Report(submissions=(replace(STUDENT42, tasks=tasks),))
