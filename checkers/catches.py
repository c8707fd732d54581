"""The checker for a test of a test: which wrong files a student's own verification let through."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.values import Table
from labgrade.verdict import Verdict, correct, incorrect, partial

from ._wording import listed, of_all_parts, shown

if TYPE_CHECKING:
    from labgrade.values import Findings, Row, Value

_RIGHT, _ACCEPTED = "right: ", "accepted"


def catches(answer: Table | Findings, expected: Value | None) -> Verdict:
    """A verification that accepts every right file; the credit is the share of the wrong ones that it rejects.

    Rows are files, named `right: ...` or `wrong: ...`; the cell `verdict` says `accepted` or `rejected`. Accepting
    nothing catches everything and verifies nothing: a right file that is rejected costs all credit.
    """
    del expected  # the names of the rows say what is expected
    if not isinstance(answer, Table):
        return incorrect(f"got {shown(answer)}, which has no verdict on any file")
    right = [row for row in answer.rows if row.name.startswith(_RIGHT)]
    wrong = [row for row in answer.rows if not row.name.startswith(_RIGHT)]
    refused = [f"{_what(row)} ({row.cells.get('verdict')})" for row in right if not _is(row, _ACCEPTED)]
    if refused:
        said = of_all_parts(len(refused), len(right), "right files", "is", "are")
        return incorrect(f"{said} not accepted: {listed(refused)}")
    missed = [_what(row) for row in wrong if not _is(row, "rejected")]
    caught = len(wrong) - len(missed)
    said = of_all_parts(caught, len(wrong), "wrong files", "is", "are")
    others = f"all {len(right)} right ones" if len(right) > 1 else "the right one"
    said = f"{said} rejected" + (f", and {others} accepted" if right else "")
    if not missed:
        return correct(said)
    return partial(Fraction(caught, len(wrong)), f"{said}; let through: {listed(missed)}")


def _what(row: Row) -> str:
    return row.name.partition(": ")[2]


def _is(row: Row, verdict: str) -> bool:
    return row.cells.get("verdict") == verdict
