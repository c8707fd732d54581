"""What a spec says to people about a check, apart from what it means.

A verdict that is kept must not grow old with a sentence of its spec. So it is judged with a sign in place of each
sentence, and the sentences of the day are put in when it is read. A sign holds random digits: nothing that a student
writes can be taken for one.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from labgrade.model import Criterion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labgrade.model import Check

# The fields of a check that are for people: a change of these changes no verdict.
SAID = {"also_right": "says", "misconceptions": "says", "partly": "says"}


def rubric(check: Check) -> str:
    """What a check waits for that a person marks."""
    lines = "; ".join(f"{float(line.points):g} for {line.what}" for line in check.by_hand)
    return f"waits to be marked by a person: {lines}"


def nonce() -> str:
    """What makes the signs of one verdict its own."""
    return secrets.token_hex(8)


def silent(check: Check, mark: str) -> Check:
    """The check with a sign in place of each sentence."""
    signs: dict[str, Any] = {
        name: tuple(replace(each, says=_sign(mark, name, place)) for place, each in enumerate(getattr(check, name)))
        for name in SAID
    }
    by_hand = (Criterion(points=Fraction(0), what=_sign(mark, "by_hand", 0)),) if check.by_hand else ()
    return replace(check, by_hand=by_hand, **signs)


def spoken(plain: Any, check: Check, mark: str) -> Any:
    """Plain data of a verdict that was judged by `silent(check, mark)`, with the sentences of `check`."""
    said = {_sign(mark, name, place): each.says for name in SAID for place, each in enumerate(getattr(check, name))}
    if check.by_hand:
        said[rubric(silent(check, mark))] = rubric(check)
    return _replaced(plain, mark, said)


def _replaced(plain: Any, mark: str, said: Mapping[str, str]) -> Any:
    if isinstance(plain, str):
        if mark in plain:
            for sign, text in said.items():
                plain = plain.replace(sign, text)
        return plain
    if isinstance(plain, list):
        return [_replaced(each, mark, said) for each in plain]
    if isinstance(plain, dict):
        return {key: _replaced(each, mark, said) for key, each in plain.items()}
    return plain


def _sign(mark: str, name: str, place: int) -> str:
    return f"<{mark}:{name}:{place}>"
