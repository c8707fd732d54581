"""What was found out about a subject for one wrong answer, for the next one's."""

from __future__ import annotations

from dataclasses import is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from .compose import WantedProducts

Found = TypeVar("Found")
_MOST = 8  # a task has a base or two, and asks about one network again and again
_known: dict[str, Any] = {}


def kept(wanted: WantedProducts, make: Callable[[], Found], of: object, *conventions: object) -> Found:
    """What `make` gives for a subject or a file, or what it gave when all hypotheses were asked for before.

    What slips say of the parts of a value takes longer than forming products of them, and most wrong answers of a class
    ask for products of one slip, of two and of three on the same network.
    """
    if wanted.among is not None or not (isinstance(of, Path) or is_dataclass(of)):  # another's `repr` may say nothing
        return make()
    file = of.stat() if isinstance(of, Path) else None
    key = repr((of, file and (file.st_mtime_ns, file.st_size), conventions))
    found: Found = _known.pop(key, None) or make()
    _known[key] = found
    while len(_known) > _MOST:
        del _known[next(iter(_known))]
    return found
