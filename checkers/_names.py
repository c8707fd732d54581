"""The names of rows and tensors, where students write more of them than is asked for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_CLASS = re.compile(r"(?:<class ')?(?:torch\.)?nn\.(?:modules\.\w{1,60}\.)?(\w{1,60})(?:'>)?")
_WITH_CLASS = re.compile(r"(\S{1,200})\s?\(\w{1,60}\)")
_TOTAL = re.compile(r"\W*(?:grand\W)?(?:total|sum|overall|合計|總計|總和|总计|合计)(?![a-z0-9.])", re.IGNORECASE)


def without_prefix(names: Sequence[str], expected: Collection[str]) -> list[str]:
    """The names without a first part that all of them share, where more are then expected: `model.conv1` is `conv1`."""
    first = names[0].partition(".")[0] if names else ""
    if not all(name == first or name.startswith(f"{first}.") for name in names):
        return list(names)
    shorter = [name.removeprefix(first).removeprefix(".") for name in names]
    gained = sum(name in expected for name in shorter) - sum(name in expected for name in names)
    return shorter if gained > 0 else list(names)


def folded(name: str) -> str:
    """The name without spaces and case."""
    return "".join(name.split()).casefold()


def bare(name: str) -> str:
    """The folded name of a class or a layer: of `nn.Conv2d`, of `<class '...Conv2d'>`, of `conv1 (Conv2d)`."""
    plain = name.strip()
    match = _CLASS.fullmatch(plain) or _WITH_CLASS.fullmatch(plain)
    return folded(match[1] if match else plain)


def is_total(name: str) -> bool:
    """Whether a row sums up the others: `Total`, `total MACs`, `合計`."""
    return bool(_TOTAL.match(name))
