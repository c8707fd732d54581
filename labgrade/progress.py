"""What improved since the last `labgrade check` of the same folder.

The last results lie in the user's cache, by folder and never in it. They are what that student was shown: nothing of
hidden checks was ever graded.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from labgrade.oracle import cache_folder

if TYPE_CHECKING:
    from pathlib import Path

    from labgrade.results import Report

_LONGEST = 8  # changes named one by one
_FORM = 1


def since_last(folder: Path, report: Report, *, compare: bool) -> list[str]:
    """What changed since the last run, a line a change; remembers this run. Nothing for a first run.

    A cache that can't be read or written is none: then nothing is compared.
    """
    file = cache_folder() / "progress" / f"{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:32]}.json"
    now = _checks(report)
    before: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        known = json.loads(file.read_text(encoding="utf-8"))
        before = dict(known["checks"]) if known["form"] == _FORM else {}
    lines = list(_changes(before, now)) if before and compare else []
    stamp = datetime.now(UTC).isoformat(timespec="seconds")
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        # Tasks that were left out this time keep what they came to.
        file.write_text(json.dumps({"form": _FORM, "at": stamp, "checks": {**before, **now}}), encoding="utf-8")
    return lines


def _checks(report: Report) -> dict[str, list[Any]]:
    """Outcome and points of each check."""
    return {
        f"{task.lab}/{task.id} {check.id}": [check.verdict.outcome.value, float(check.earned)]
        for who in report.submissions
        for task in who.tasks
        for check in task.checks
    }


def _changes(before: dict[str, Any], now: dict[str, list[Any]]) -> list[str]:
    """The better first, then the worse; points in all, where they changed."""
    both = [(name, before[name], now[name]) for name in now if name in before and before[name] != now[name]]
    gained = sum(after[1] - earlier[1] for _, earlier, after in both)
    ordered = sorted(both, key=lambda each: each[1][1] - each[2][1])
    lines = [f"{name.partition('/')[2]}: {_said(earlier)} -> {_said(after)}" for name, earlier, after in ordered]
    if len(lines) > _LONGEST:
        lines = [*lines[:_LONGEST], f"and {len(lines) - _LONGEST} more"]
    if not both:
        return ["nothing changed"]
    return [f"{gained:+g} points", *lines] if gained else lines


def _said(check: list[Any]) -> str:
    outcome, earned = check
    return f"{outcome} {earned:g}"
