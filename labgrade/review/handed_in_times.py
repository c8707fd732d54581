"""When each submission was handed in, noted while it is graded: later, nobody may know any more."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from labgrade.core.errors import UsageError
from labgrade.core.text import encodable
from labgrade.files import output
from labgrade.submissions import handed_in_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import tzinfo
    from pathlib import Path

    from labgrade.core.results import Report, SubmissionReport
    from labgrade.spec.lab import Deadline
    from labgrade.submissions.archive_records import Opening

FILE = "handed_in.json"


def note_moments(
    results: Path, source: Path, names: Iterable[str], deadlines: Mapping[str, Deadline], *, opening: Opening
) -> None:
    """Find out when submissions were handed in (`handed_in_at`), and keep it in the folder of results.

    What is said without a time zone is read in that of the first deadline, or else in the grader's own. What was noted
    before stays where nothing tells any more. `opening` opens what is packed.

    Raises:
        UsageError: it can't be written.
    """
    found = handed_in_at.moments(source, names, opening=opening, zone=_zone(deadlines))
    plain = _read(results)
    for name, moment in found.items():
        at = "" if moment.at is None else moment.at.isoformat()
        if at or encodable(name) not in plain:
            plain[encodable(name)] = {"at": at, "by": moment.by, "remarks": list(moment.remarks)}
    try:
        output.replace(results / FILE, (json.dumps(plain, ensure_ascii=False, indent=1) + "\n").encode())
    except OSError as error:
        message = f"'{results / FILE}' could not be written: {(error.strerror or str(error)).lower()}"
        raise UsageError(message) from error


def with_noted_moments(report: Report, results: Path) -> Report:
    """Add the noted moments to a report's submissions.

    Raises:
        UsageError: what was noted can't be read.
    """
    plain = _read(results)
    return replace(report, submissions=tuple(_with(each, plain) for each in report.submissions))


def _with(each: SubmissionReport, plain: dict[str, Any]) -> SubmissionReport:
    found = plain.get(each.name)
    if found is None:
        return each
    return replace(each, handed_in=found["at"], handed_in_by=found["by"], remarks=(*each.remarks, *found["remarks"]))


def _zone(deadlines: Mapping[str, Deadline]) -> tzinfo:
    own = datetime.now().astimezone().tzinfo
    found = next((each.due.tzinfo for each in deadlines.values()), None) or own
    assert found is not None  # noqa: S101 - a moment with a zone has one
    return found


def _read(results: Path) -> dict[str, Any]:
    path = results / FILE
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        message = f"'{path}' can't be read ({error}); delete it and grade again, and it is found out anew"
        raise UsageError(message) from error
    if not isinstance(plain, dict):
        message = f"'{path}' is no file of labgrade's; delete it and grade again"
        raise UsageError(message)
    return plain
