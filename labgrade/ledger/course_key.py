"""The key that variants are drawn by: noted with the results, so that another one never draws them anew in silence."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from labgrade.core.errors import UsageError
from labgrade.judging.variants import KEY
from labgrade.ledger import read, rows

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from labgrade.core.task import Task
    from labgrade.ledger.database import Ledger
    from labgrade.spec.course import Course

_DIGITS = 16
_WORD = "key"  # under which a run notes it, where it drew variants


def refuse_another(ledger: Ledger, found: Course, results: Path) -> None:
    """Refuse to go on if the results' variants were drawn with another key.

    Raises:
        UsageError: it is another.
    """
    before = next((plain[_WORD] for plain in read.run_requests(ledger).values() if _WORD in plain), None)
    if before is None or before == _digest(found):
        return
    path = found.root / KEY
    now = f"'{path}' {'was changed' if found.key else 'is empty or gone'}"
    remedy = "put the old key back"
    if before == _digest_of(b""):
        now, remedy = f"'{path}' was made", "take it away"
    message = (
        f"{now} since variants were drawn for '{results}': each student would be judged by another variant; {remedy}, "
        "or draw all anew in another folder, with --out"
    )
    raise UsageError(message)


def note_key(ledger: Ledger, run: int, found: Course, tasks: Iterable[Task]) -> None:
    """Note the key of a run that draws variants."""
    if any(task.variants for task in tasks):
        rows.add_to_run(ledger, run, {_WORD: _digest(found)})


def _digest(found: Course) -> str:
    return _digest_of(found.key)


def _digest_of(key: bytes) -> str:
    return hashlib.sha256(key).hexdigest()[:_DIGITS]
