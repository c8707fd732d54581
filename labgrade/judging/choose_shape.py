"""Which shape of a free text may be meant where no words lead to it, as in a listing; no text is parsed here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labgrade.judging.choose_number import Choice
from labgrade.verdict import Outcome, Suggestion, without_value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from labgrade.answers.reading.lines import Line
    from labgrade.values import Value
    from labgrade.verdict import Verdict


def choose_shape(
    right: Collection[Value], known: Collection[Value], judged: Callable[[Value], Verdict], lines: Sequence[Line]
) -> Choice | None:
    """MANUAL where the lines say shapes of as many sizes as a `right` one; None where they say none.

    Suggested is a right one, else the first that is `known` to be wrong.
    """
    ranks = {len(each) for each in right if isinstance(each, tuple)}
    said = [
        (line, piece.value)
        for line in lines
        if not (line.code or line.quoted)
        for piece in line.pieces
        if isinstance(piece.value, tuple) and not piece.doubt and len(piece.value) in ranks
    ]
    if not said:
        return None
    chosen = next((each for of in (right, known) for each in said if each[1] in of), None)
    place = (chosen or said[0])[0].place
    waits = without_value(Outcome.MANUAL, f"no shape could be read for certain: {_shown(chosen or said[0])}")
    if chosen is not None:
        verdict = judged(chosen[1])
        why = f"{_shown(chosen)}: {verdict.hint or verdict.reason or 'it is the expected value'}"
        kind = "value without a label"
        suggestion = Suggestion(outcome=verdict.outcome, credit=verdict.credit, why=why, place=place, kind=kind)
        waits = replace(waits, suggestion=suggestion)
    return Choice(verdict=waits, place=place)


def _shown(sighting: tuple[Line, tuple[int, ...]]) -> str:
    line, shape = sighting
    return f"{list(shape)} stands on {line.place}"
