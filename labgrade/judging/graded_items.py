"""How a verdict becomes a line of the report, who may remember it, and what of its words the ledger fills in."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from labgrade.core import points
from labgrade.core.results import Graded
from labgrade.core.text import all_encodable, encodable
from labgrade.judging import by_hand
from labgrade.spec.data import OTHER_VALUES
from labgrade.verdict import Outcome, Verdict, without_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from labgrade.core.results import MarkingText, Plot
    from labgrade.core.task import Check
    from labgrade.judging.items import Item


_WRONG = frozenset({Outcome.INCORRECT, Outcome.PARTIAL})


class Book(Protocol):
    """Remembers the verdicts on one task of one submission."""

    def graded(self, item: Item, grade: Callable[[Item], Graded]) -> Graded:
        """Return an item's remembered verdict, or else call `grade`."""

    def enter(self, item: Item, graded: Graded, place: int) -> None:
        """Record an item, the `place`th of its task, before the next begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What judging one item finds out. `basis`: a digest of what was judged; `to_mark`: what a person is shown."""

    verdict: Verdict
    origin: str = ""
    basis: str = ""
    to_mark: MarkingText | None = None
    plot: Plot | None = None


def graded_so_far(item: Item, judged: Judged, *, printed: str = "", seconds: float = 0.0) -> Graded:
    """Return an item with its verdict; `with_points` adds points and visibility."""
    verdict = judged.verdict
    if verdict.rows or verdict.grids:  # a report has them beside the verdict, where it may show them
        verdict = replace(verdict, rows=(), grids=())
    return Graded(
        id=item.id,
        points=item.points,
        earned=Fraction(0),
        verdict=all_encodable(verdict),
        answer_from=encodable(judged.origin),
        rows=judged.verdict.rows,
        grids=judged.verdict.grids,
        basis=judged.basis,
        to_mark=judged.to_mark,
        plot=judged.plot,
        printed=encodable(printed),
        seconds=seconds,
    )


def waiting(graded: Graded, first: Verdict) -> Graded:
    """Return an item that waits for a decision about another check; then `once_met` counts."""
    untold: dict[str, Any] = {"answer_from": "", "rows": (), "grids": (), "printed": "", "plot": None}
    return replace(graded, verdict=first, once_met=graded.verdict, **untold)


def with_points(graded: Graded, item: Item) -> Graded:
    """Add the spec's current name, points and visibility to an item."""
    verdict, once_met = graded.verdict, graded.once_met
    shown = by_hand.with_rubric(graded.to_mark, item.check)
    if shown is not None:  # only now: a rubric may change and leave what was judged as it is
        verdict = replace(verdict, rubric=shown.rubric) if once_met is None else verdict
        once_met = replace(once_met, rubric=shown.rubric) if once_met is not None else None
    if item.check.reveal:
        verdict = _revealed(verdict)
    return replace(
        graded,
        id=item.id,
        points=item.points,
        earned=points.earned(item.points, verdict.credit),
        verdict=verdict,
        once_met=once_met,
        hidden=item.check.hidden,
        bonus=item.check.bonus,
        revealed=item.check.reveal,
        needs=item.check.needs,
        to_mark=shown,
    )


def _revealed(verdict: Verdict) -> Verdict:
    """Add the expected value, or that of the first wrong row, to a verdict."""
    right = next((fact for key, fact in verdict.facts.items() if key.partition(" ")[0] == "expected"), "")
    if not right or verdict.outcome not in _WRONG:
        return verdict
    return replace(verdict, reason=f"{verdict.reason}; expected: {right}")


def fault(reason: str) -> Verdict:
    """Return FAULT with a text for the student; the reason is for staff."""
    return without_value(
        Outcome.FAULT, "labgrade failed here, not you: no points are lost, and a person will look", fault=reason
    )


def lacks_packages(lacking: tuple[str, ...]) -> Verdict:
    """Return MANUAL for a task whose packages are not installed; it costs the student nothing."""
    names = ", ".join(f"'{name}'" for name in lacking)
    reason = f"not graded on this machine, which lacks {names}"
    return without_value(Outcome.MANUAL, reason, hint=f"install it, and grade again: pip install {' '.join(lacking)}")


_SAYING = (*OTHER_VALUES, "partly")  # where a check says sentences to people, of which a change changes no verdict


def with_placeholders(check: Check) -> tuple[Check, str]:
    """Replace a check's sentences by placeholders; return the check and the placeholders' mark."""
    mark = secrets.token_hex(8)
    fields: dict[str, Any] = {
        name: tuple(replace(each, says=_placeholder(mark, name, at)) for at, each in enumerate(getattr(check, name)))
        for name in _SAYING
    }
    return replace(check, **fields), mark


def fill_in(plain: Any, check: Check, mark: str) -> Any:
    """Fill the sentences of `check` into the plain data of a verdict judged with placeholders."""
    sentences = {
        _placeholder(mark, name, at): each.says for name in _SAYING for at, each in enumerate(getattr(check, name))
    }
    # Most verdicts say none of them, which JSON's text tells in a tenth of the time.
    return _filled(plain, mark, sentences) if sentences and mark in json.dumps(plain) else plain


def _filled(plain: Any, mark: str, sentences: Mapping[str, str]) -> Any:
    if isinstance(plain, str):
        if mark in plain:
            for placeholder, sentence in sentences.items():
                plain = plain.replace(placeholder, sentence)
        return plain
    if isinstance(plain, list):
        return [_filled(each, mark, sentences) for each in plain]
    if isinstance(plain, dict):
        return {key: _filled(each, mark, sentences) for key, each in plain.items()}
    return plain


def _placeholder(mark: str, name: str, at: int) -> str:
    return f"<{mark}:{name}:{at}>"
