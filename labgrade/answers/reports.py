"""Which files are a student's report, and what several of them say together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from labgrade.answers.reading.markup import FORMATS, LOSSY
from labgrade.answers.reading.numbers import finest_of
from labgrade.answers.reading.plain_values import cut
from labgrade.core.results import Answer, NoAnswer
from labgrade.values import Number
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labgrade.core.results import Answered, Submission

_MOST_NAMED = 4
_PLAIN = (".md", ".markdown", ".txt")


def find_reports(submission: Submission) -> tuple[str, ...]:
    """The written reports nearest to the top: `report*` in a format that is read, else `README.md`.

    `report.md` comes first. Of one name in several formats, as where it was exported, those that lose least.
    """
    found = [file for file in submission.files if _is_report(file)] or [
        file for file in submission.files if PurePosixPath(file).name.lower() == "readme.md"
    ]
    highest = min((file.count("/") for file in found), default=0)
    level = [file for file in found if file.count("/") == highest]
    level = [file for file in level if not any(_stem(one) == _stem(file) and _loss(one) < _loss(file) for one in level)]
    return tuple(sorted(level, key=lambda file: (PurePosixPath(file).name.lower() != "report.md", file)))


def below(submission: Submission, read: Sequence[str]) -> tuple[str, ...]:
    """A remark for staff where other reports lie deeper than those that were read."""
    deeper = [file for file in submission.files if _is_report(file) and file not in read]
    if not deeper or not any(map(_is_report, read)):
        return ()
    return (f"not read, as a report lies above it: {_named(deeper)}",)


def together(found: Sequence[Answered]) -> Answered:
    """What reports of the same level say: one value where they agree, else MANUAL with every place."""
    first = found[0]
    if len(found) == 1:
        return first
    answers = [each for each in found if isinstance(each, Answer)]
    agreed = _agreed(answers) if len(answers) == len(found) else None
    places = ", ".join(f"{_said(each)} ({each.origin})" for each in found[:_MOST_NAMED])
    if agreed is None:
        verdict = without_value(
            Outcome.MANUAL,
            f"{len(found)} reports say different things: {places}",
            hint="hand in one report, at the top of the folder",
        )
        return NoAnswer(verdict=verdict, origin=first.origin, remarks=first.remarks)
    origins = ", ".join(each.origin for each in found)
    return replace(agreed, remarks=(*agreed.remarks, f"{len(found)} reports say the same: {origins}"))


def _agreed(answers: Sequence[Answer]) -> Answer | None:
    numbers = [each.value for each in answers if isinstance(each.value, Number)]
    if len(numbers) == len(answers):
        finest = finest_of(numbers)
        return next((each for each in answers if each.value is finest), None)
    return answers[0] if all(each.value == answers[0].value for each in answers) else None


def _said(each: Answered) -> str:
    if isinstance(each, NoAnswer):
        return each.verdict.reason
    return cut(str(each.value)) if isinstance(each.value, Number | str | tuple) else "a table"


def _named(files: Sequence[str]) -> str:
    return ", ".join(f"'{file}'" for file in files[:_MOST_NAMED]) + (", ..." if len(files) > _MOST_NAMED else "")


def _is_report(file: str) -> bool:
    path = PurePosixPath(file.lower())
    return path.stem.startswith("report") and path.suffix in (*_PLAIN, *FORMATS)


def _stem(file: str) -> PurePosixPath:
    return PurePosixPath(file.lower()).with_suffix("")


def _loss(file: str) -> int:
    suffix = PurePosixPath(file.lower()).suffix
    return 0 if suffix in _PLAIN else 2 if suffix in LOSSY else 1
