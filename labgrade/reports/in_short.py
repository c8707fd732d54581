"""What a terminal shows of a check in fewer lines: a page and the JSON have all of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_WIDEST = 68  # of a model on one line
_MANY_ROWS = re.compile(r"; (\d+) also wrong: (?:'[^']*', )+'[^']*' and \d+ more(?=;|$)")
_SIZE = re.compile(r"(got [^;]*?), which is [^;]*(?=;)")
_TABLE = "# layer"


def reason(text: str, place: str, helps: str = "") -> str:
    """A reason without the names of many rows, and with a hint of a few words behind it.

    Where the right value stands in it, the size is no news, nor is a `place` that stands above it.
    """
    short = _MANY_ROWS.sub(r"; \1 more are wrong", text)
    if "; expected: " in short:
        short = _SIZE.sub(r"\1", short, count=1)
    if place:
        short = short.replace(f" at {place} ", " ")
    return f"{short} ({helps})" if helps else short


def lines(given: Sequence[str]) -> list[str]:
    """The lines of a program without empty ones: a model that is short on one line, and no table of one layer."""
    found = [each for each in given if each.strip()]
    begins = [at for at, each in enumerate(found) if each == "model = nn.Sequential("]
    ends = [at for at, each in enumerate(found) if each == ").eval()"]
    if len(begins) == len(ends) == 1:
        (begin,), (end,) = begins, ends
        inside = " ".join(each.strip() for each in found[begin + 1 : end]).removesuffix(",")
        whole = f"{found[begin]}{inside}{found[end]}"
        if len(whole) <= _WIDEST:
            found[begin : end + 1] = [whole]
    return found[:-2] if _is_of_one_layer(found) else found


def _is_of_one_layer(found: Sequence[str]) -> bool:
    tables: Iterable[int] = (at for at, each in enumerate(found) if each.startswith(_TABLE))
    return any(at == len(found) - 2 for at in tables)
