"""Published results: from then on no check earns less unless somebody says that it may."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labgrade.errors import UsageError, did_you_mean
from labgrade.ledger.rows import now, standing
from labgrade.ledger.store import Ledger, dump

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def mark_released(results: Path, names: Iterable[str] | None = None) -> tuple[str, ...]:
    """Note what each check of these submissions earns as published; all of them where no names are given. Their names.

    Releasing again publishes what they earn by now.

    Raises:
        UsageError: there is no such submission in the results.
        LedgerError: the ledger can't be written.
    """
    with Ledger(results) as ledger:
        known = [who for (who,) in ledger.rows("SELECT who FROM submission ORDER BY who")]
    chosen = known if names is None else list(dict.fromkeys(names))
    for name in chosen:
        if name not in known:
            message = f"'{results}' has no submission '{name}'{did_you_mean(name, known)}"
            raise UsageError(message)
    with Ledger(results, write=True) as ledger, ledger.transaction():
        for who in chosen:
            earned = {"/".join(place): each.plain["earned"] for place, each in standing(ledger, who).items()}
            ledger.write("INSERT OR REPLACE INTO released VALUES (?, ?, ?)", who, now(), dump(earned))
            ledger.write("DELETE FROM held WHERE who = ?", who)
    return tuple(chosen)


def released(results: Path) -> dict[str, str]:
    """When each submission was published, by its name: ISO 8601, in UTC."""
    with Ledger(results) as ledger:
        return dict(ledger.rows("SELECT who, at FROM released ORDER BY who"))
