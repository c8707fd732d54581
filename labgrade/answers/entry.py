"""Answers handed in as entries of answers.yaml or answers.json."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from labgrade.answers.reading.claims import not_counted
from labgrade.answers.reading.documents import Unreadable, locate
from labgrade.answers.reading.numbers import read_number, worked_out
from labgrade.answers.reading.plain_values import cut
from labgrade.answers.reading.typed_values import WrongTypeError, as_value
from labgrade.core.errors import SpecError
from labgrade.core.results import Answer, NoAnswer, Submission
from labgrade.core.text import without_invisible
from labgrade.files import yaml
from labgrade.values import Number
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from labgrade.core.results import Answered
    from labgrade.core.task import AnswerType, EntryForm
    from labgrade.files.yaml import Loaded, Path

FILES = ("answers.yaml", "answers.yml", "answers.json")
_LARGEST = 4 << 20
_REMEMBERED = 2
_LONGEST_NUMBER = 400  # characters; longer ones stay text, so that no million-digit integer is ever built


def obtain(kind: AnswerType, form: EntryForm, submission: Submission) -> Answered | None:
    """The value under `form.path`, or None where there is no such file or entry."""
    file = next((there for each in FILES if (there := locate(submission, each)) is not None), None)
    if file is None:
        return None
    if isinstance(file, Unreadable):
        return NoAnswer(verdict=without_value(Outcome.INCORRECT, file.reason), origin=file.path)
    try:
        text = _text(submission, file)
        found = _in_json(text, form.path, kind) if _is_json(file) else _in_yaml(text, file, form.path, kind)
    except (SpecError, OSError, ValueError) as error:
        reason = f"'{file}' can't be read: {_first_line(error)}"
        return NoAnswer(verdict=without_value(Outcome.INCORRECT, reason), origin=file)
    if found is None:
        return None
    origin = f"{file}{found.place} {form.path}"
    if found.cut:
        verdict = without_value(Outcome.MANUAL, f"{origin}: got '{found.cut}'", hint=yaml.CUT)
        return NoAnswer(verdict=verdict, origin=origin)
    if found.twice:
        verdict = without_value(Outcome.MANUAL, f"{origin}: {found.twice}", hint="give each entry once")
        return NoAnswer(verdict=verdict, origin=origin)
    try:
        return Answer(value=as_value(found.plain, kind), origin=origin)
    except WrongTypeError as error:
        if (meant := _meant(found.plain, kind)) is not None:
            return Answer(value=meant, origin=origin, unsure=f"{origin}: {error}")
        return NoAnswer(verdict=without_value(Outcome.INCORRECT, f"{origin}: {error}"), origin=origin)


def _meant(plain: object, kind: AnswerType) -> Number | None:
    """The number that something stands for which is none itself: `none` for 0, a product without its result, parts."""
    if kind not in ("count", "bytes"):
        return None
    if isinstance(plain, dict):
        return _of_parts(plain, kind)
    if not isinstance(plain, str):
        return None
    said = not_counted(plain, kind)
    return said.number if said is not None and said.end == len(plain) else worked_out(plain)


_TOTALS = frozenset(
    {"total", "sum", "all", "overall", "gesamt", "summe", "somme", "suma", "總計", "总计", "合計", "合计"}
)


def _of_parts(plain: dict[str, object], kind: str) -> Number | None:
    """The total of numbers by name, `{Conv2d: 1497352192, Linear: 1024000}`: what is called so, or their sum."""
    try:
        parts = {str(name).strip().lower(): as_value(each, kind) for name, each in plain.items()}
    except WrongTypeError:
        return None
    numbers = [each for each in parts.values() if isinstance(each, Number)]
    total = next((each for name, each in parts.items() if name in _TOTALS and isinstance(each, Number)), None)
    value = sum(each.value for each in numbers)
    half_unit = sum(each.half_unit for each in numbers)
    if total is not None or len(numbers) < 2:  # noqa: PLR2004 - parts are several
        return total
    return Number(value=Fraction(value), half_unit=Fraction(half_unit), text=" + ".join(map(str, numbers)))


def read(submission: Submission, file: str) -> object:
    """Everything that a file of entries holds, as plain data.

    Raises:
        SpecError, OSError, ValueError: it can't be read; the message is for the student.
    """
    text = _text(submission, file)
    return _json(text, in_digits=True)[0] if _is_json(file) else _yaml(text, file).data


def _is_json(file: str) -> bool:
    return file.lower().endswith(".json")


def _text(submission: Submission, file: str) -> str:
    path = submission.folder / file
    if path.stat().st_size > _LARGEST:
        message = f"it is larger than {_LARGEST >> 20} MiB"
        raise ValueError(message)
    try:
        return without_invisible(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        message = "it is not UTF-8; save it as UTF-8"
        raise ValueError(message) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class _EntryFound:
    """The data under a dotted name; `place`: the line, where it is known; `cut`: a number that commas cut up, or "".

    `twice`: what of it is given a second time, or "".
    """

    plain: object
    place: str = ""
    cut: str = ""
    twice: str = ""


def _in_json(text: str, wanted: str, kind: AnswerType) -> _EntryFound | None:
    """The data under a dotted name. Numbers keep the digits that were written.

    Raises:
        ValueError: it is no JSON.
    """
    data, doubles = _json(text, in_digits=kind != "tensor")
    path = _locate(data, wanted)
    twice = _contradicted(doubles, path, wanted)
    said = f"'{cut(str(twice[-1]))}' is given twice, with different values" if twice else ""
    if path is None:
        return _EntryFound(plain=None, twice=said) if said else None
    return _EntryFound(plain=functools.reduce(lambda inner, key: inner[key], path, data), twice=said)


def _json(text: str, *, in_digits: bool) -> tuple[Any, list[Path]]:
    """The data, and the paths of the keys that are given twice."""
    found = _parsed_json(text, in_digits)
    if isinstance(found, ValueError):
        raise found
    return found


@lru_cache(maxsize=_REMEMBERED)
def _parsed_json(text: str, in_digits: bool) -> tuple[Any, list[Path]] | ValueError:  # noqa: FBT001 - a part of the key
    """As `_json`, or what is wrong with the text: many entries of one file are read in turn."""
    broken = _broken_number if in_digits else float
    try:
        data = json.loads(text, parse_int=_whole_number, parse_float=broken, object_pairs_hook=_JsonObject)
        return data, list(_doubles(data))
    except RecursionError:
        return ValueError("it is nested too deeply")
    except ValueError as error:
        return error


def _yaml(text: str, file: str) -> Loaded:
    found = _parsed_yaml(text, file)
    if isinstance(found, SpecError):
        raise found
    return found


@lru_cache(maxsize=_REMEMBERED)
def _parsed_yaml(text: str, file: str) -> Loaded | SpecError:
    try:
        return yaml.load_untrusted(text, file)
    except SpecError as error:
        return error


def _whole_number(written: str) -> int | str:
    return int(written) if len(written) <= _LONGEST_NUMBER else written


def _broken_number(written: str) -> float | Number:
    number = read_number(written, "number")
    return float(written) if number is None else number


class _JsonObject(dict[str, object]):
    """An object of JSON, with the first value of each key; `twice`: the keys that have another one, too."""

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        super().__init__()
        for key, value in pairs:
            self.setdefault(key, value)
        self.twice = [key for key, value in pairs if self[key] != value] if len(self) < len(pairs) else []


def _doubles(data: object) -> Iterator[Path]:
    """The path of each key that is given twice."""
    waiting: list[tuple[Path, object]] = [((), data)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, _JsonObject):
            yield from ((*path, key) for key in value.twice)
            waiting += (((*path, key), inner) for key, inner in value.items())
        elif isinstance(value, list):
            waiting += (((*path, place), inner) for place, inner in enumerate(value))


def _in_yaml(text: str, file: str, wanted: str, kind: AnswerType) -> _EntryFound | None:
    """The data under a dotted name, and where it stands. Numbers keep the digits that were written (`1.5e9`).

    Raises:
        SpecError: it is no YAML.
    """
    loaded = _yaml(text, file)
    path = _locate(loaded.data, wanted)
    twice = _contradicted(loaded.twice, path, wanted)
    said = f"'{cut(str(twice[-1]))}' stands there again on line {loaded.twice[twice].line}" if twice else ""
    if path is None:
        return _EntryFound(plain=None, twice=said) if said else None
    data: Any = functools.reduce(lambda inner, key: inner[key], path, cast("Any", loaded.data))
    return _EntryFound(
        plain=_keep_digits(data, loaded, path, kind),
        place=f":{loaded.mark(path).line}",
        twice=said,
        cut=next((written for place, written in loaded.cut.items() if place[: len(path)] == path), ""),
    )


def _contradicted(doubles: Iterable[Path], path: Path | None, wanted: str) -> Path | None:
    """The path that is given twice of what is wanted, leads to it, or is in it; None where there is none."""
    return next((double for double in doubles if _touches(double, path or tuple(wanted.split(".")))), None)


def _touches(one: Path, other: Path) -> bool:
    """Whether one path leads to the other, or to something in it."""
    return one[: len(other)] == other or other[: len(one)] == one


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
