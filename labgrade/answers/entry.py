"""Answers handed in as entries of answers.yaml or answers.json."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from labgrade import yamlfile
from labgrade.answers.documents import Unreadable, locate, without_invisible
from labgrade.answers.numbers import read_number
from labgrade.answers.typed import WrongTypeError, as_value
from labgrade.errors import SpecError
from labgrade.results import Answer, NoAnswer, Submission
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from labgrade.model import AnswerType, EntryForm
    from labgrade.yamlfile import Loaded, Path

FILES = ("answers.yaml", "answers.yml", "answers.json")
_LARGEST = 4 << 20


def obtain(name: str, kind: AnswerType, form: EntryForm, submission: Submission) -> Answer | NoAnswer | None:
    """The value under `form.path`, or None where there is no such file or entry."""
    file = next((found for file in FILES if (found := locate(submission, file)) is not None), None)
    if file is None:
        return None
    if isinstance(file, Unreadable):
        return NoAnswer(name=name, verdict=without_value(Outcome.INCORRECT, file.reason), origin=file.path)
    try:
        loaded = read(submission, file)
    except (SpecError, OSError, ValueError) as error:
        reason = f"'{file}' can't be read: {_first_line(error)}"
        return NoAnswer(name=name, verdict=without_value(Outcome.INCORRECT, reason), origin=file)
    path = _locate(loaded.data, form.path)
    if path is None:
        return None
    origin = f"{file}:{loaded.mark(path).line} {form.path}"
    cut = next((text for place, text in loaded.cut.items() if place[: len(path)] == path), None)
    if cut is not None:
        verdict = without_value(Outcome.MANUAL, f"{origin}: got '{cut}'", hint=yamlfile.CUT)
        return NoAnswer(name=name, verdict=verdict, origin=origin)
    try:
        return Answer(name=name, value=as_value(_plain(loaded, path, kind), kind), origin=origin)
    except WrongTypeError as error:
        return NoAnswer(name=name, verdict=without_value(Outcome.INCORRECT, f"{origin}: {error}"), origin=origin)


def read(submission: Submission, file: str) -> Loaded:
    """The entries in a file, with their places.

    Raises:
        SpecError, OSError, ValueError: it can't be read; the message is for the student.
    """
    path = submission.folder / file
    if path.stat().st_size > _LARGEST:
        message = f"it is larger than {_LARGEST >> 20} MiB"
        raise ValueError(message)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        message = "it is not UTF-8; save it as UTF-8"
        raise ValueError(message) from None
    if file.lower().endswith(".json"):  # YAML 1.2 holds JSON, but not every string escape in PyYAML
        try:
            json.loads(text)
        except RecursionError:
            message = "it is nested too deeply"
            raise ValueError(message) from None
    return yamlfile.load(without_invisible(text), file)


def _locate(data: Any, dotted: str) -> Path | None:
    """The path to a dotted name; keys may themselves hold dots, so the longest key that fits is taken first."""
    if dotted == "":
        return ()
    if not isinstance(data, dict):
        return None
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        key = ".".join(parts[:length])
        if key in data and data[key] is not None:
            rest = _locate(data[key], ".".join(parts[length:]))
            if rest is not None:
                return (key, *rest)
    return None


def _plain(loaded: Loaded, path: Path, kind: AnswerType) -> object:
    """The data at `path`; scalars where a number is wanted keep the digits that were written (`1.5e9`)."""
    data: Any = loaded.data
    for part in path:
        data = data[part]
    return _keep_digits(data, loaded, path, kind)


def _keep_digits(data: Any, loaded: Loaded, path: Path, kind: AnswerType) -> object:
    if isinstance(data, dict):
        return {key: _keep_digits(value, loaded, (*path, key), kind) for key, value in data.items()}
    if isinstance(data, list):
        return [_keep_digits(value, loaded, (*path, index), kind) for index, value in enumerate(data)]
    if isinstance(data, float) and kind != "tensor" and path in loaded.sources:
        number = read_number(loaded.sources[path], "number")
        return data if number is None else number
    return data


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
