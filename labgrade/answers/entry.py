"""Answers handed in as entries of answers.yaml or answers.json."""

from __future__ import annotations

import contextlib
import functools
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from labgrade.answers.entries.meant import doubt_of, meant_by
from labgrade.answers.entries.parsing import is_json, parsed_json, parsed_yaml, text_of, without_comments
from labgrade.answers.entries.places import find_alone, find_entry, find_stray, unit_of
from labgrade.answers.entries.rearranged import is_in_braces
from labgrade.answers.reading.documents import Unreadable, locate
from labgrade.answers.reading.numerals.numbers import read_number, worked_out
from labgrade.answers.reading.numerals.units import in_stated_units
from labgrade.answers.reading.placeholders import is_placeholder, says_todo
from labgrade.answers.reading.plain_values import cut, what
from labgrade.answers.reading.typed_values import WrongTypeError, as_value
from labgrade.answers.reading.words.terms import TOTAL
from labgrade.core.errors import SpecError
from labgrade.core.results import Answer, NoAnswer
from labgrade.core.task import TableType
from labgrade.files import yaml
from labgrade.values import Number
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labgrade.core.results import Answered, Submission
    from labgrade.core.task import AnswerType, EntryForm
    from labgrade.files.yaml import Loaded, Path
    from labgrade.values import Value
    from labgrade.verdict import Verdict

FILES = ("answers.yaml", "answers.yml", "answers.json")


def find(submission: Submission) -> str | Unreadable | None:
    """Return the file of entries; None if there is none."""
    return next((there for each in FILES if (there := locate(submission, each)) is not None), None)


def obtain(kind: AnswerType, form: EntryForm, submission: Submission, *, stray: bool = False) -> Answered | None:
    """Return the value under `form.path`; None if there is no file, no entry or no value in it yet.

    `stray`: the value under another name that likely means it, which is never sure.
    """
    file = find(submission)
    if file is None:
        return None
    if isinstance(file, Unreadable):
        return NoAnswer(verdict=without_value(Outcome.INCORRECT, file.reason), origin=file.path)
    text = ""
    try:
        text, remarks = text_of(submission, file)
        found = _in_file(text, file, form.path, kind, stray=stray)
    except (SpecError, OSError, ValueError) as error:
        reason = f"'{file}' can't be read: {_first_line(error)}"
        return NoAnswer(verdict=_unreadable(reason, text, form.path), origin=file)
    if found is None or (not found.twice and _is_to_come(found.plain, kind)):
        return None
    origin = f"{file}{found.place} {form.path}"
    if found.cut:
        verdict = without_value(Outcome.MANUAL, f"{origin}: got '{found.cut}'", hint=yaml.CUT)
        return NoAnswer(verdict=verdict, origin=origin)
    if found.twice:
        verdict = without_value(Outcome.MANUAL, f"{origin}: {found.twice}", hint="give each entry once")
        return NoAnswer(verdict=verdict, origin=origin)
    return _as_answer(found, kind, origin, remarks)


def _is_to_come(plain: object, kind: AnswerType) -> bool:
    """Return whether an entry holds no value yet; text answers are taken as they are."""
    return kind != "text" and is_placeholder(plain) and not (kind == "shape" and is_in_braces(plain))


_MOST_LINES, _LONGEST = 6, 500
_MEND = "look at this line and the one above it: an entry is `name: value`, those of a task are set in alike below it"


def _unreadable(reason: str, text: str, wanted: str) -> Verdict:
    """Return MANUAL with the lines that have the entry's name, for a file that is no YAML."""
    words = (re.escape(word) for word in re.split(r"[_ -]", wanted.rpartition(".")[2]))
    name = re.compile(rf"(?<![\w-]){'[_ -]?'.join(words)}(?![\w-])\W{{0,8}}\w", re.IGNORECASE)
    numbered = enumerate(text.splitlines(), 1)
    found = [f"{number}: {cut(line.strip())}" for number, line in numbered if name.search(line)]
    if not found:
        return without_value(Outcome.INCORRECT, reason, hint=_MEND if text else "")
    return replace(without_value(Outcome.MANUAL, reason, hint=_MEND), lines=tuple(found[:_MOST_LINES]))


def _as_answer(found: _EntryFound, kind: AnswerType, origin: str, remarks: tuple[str, ...]) -> Answered | None:
    """Return the value found, or what it may mean; None if it is neither and only the task's name leads there."""
    others: tuple[Value, ...] = ()
    if isinstance(found.plain, str):
        found = replace(found, plain=in_stated_units(found.plain))
    problem = "" if not found.alone else f"{origin}: this name is not there; '{found.alone}' is {what(found.plain)}"
    if found.unit and isinstance(found.plain, int | float | Number):
        problem = problem or f"{origin}: the name says '{found.unit}' of the number"
        found, others = replace(found, plain=f"{found.plain} {found.unit}"), (as_value(found.plain, kind),)
    try:
        value = as_value(found.plain, kind)
    except WrongTypeError as error:
        meant = meant_by(found.plain, kind)
        if meant is None and found.alone:
            return None
        if meant is None:
            unclear = _refers(found.plain) or _leaves_names_out(found.plain, kind)
            outcome = Outcome.MANUAL if unclear else Outcome.INCORRECT
            return NoAnswer(verdict=without_value(outcome, f"{origin}: {error}"), origin=origin, remarks=remarks)
        value, others = meant.value, (*others, *meant.others)
        said = f"'{cut(found.plain)}' says more than a {_asked(kind)}" if isinstance(found.plain, str) else error
        problem = problem or ("" if meant.sure else f"{origin}: {said}")
    text = found.plain
    formula = text.lstrip("= ") if isinstance(text, str) and isinstance(value, Number) else "="
    worked = worked_out(formula) if "=" not in formula else None
    if worked is not None and worked.value != cast("Number", value).value:
        unsure = f"{origin}: '{cut(str(text))}' is not worked out"
        return Answer(value=worked, origin=origin, unsure=unsure, instead=found.alone, remarks=remarks)
    if isinstance(text, str) and isinstance(value, Number) and (doubt := _doubt(text, value, str(kind), origin)):
        problem = problem or f"{origin}: '{cut(text)}' says '{doubt}' of the number"
        others = (*others, *_in_powers_of_two(value, doubt))
    return Answer(value=value, others=others, origin=origin, unsure=problem, instead=found.alone, remarks=remarks)


def _in_powers_of_two(value: Number, doubt: str) -> tuple[Value, ...]:
    """Return a number of MB or GB in MiB or GiB, where the text beside it says that these are meant."""
    found = read_number(_DECIMAL.sub(r"\1iB", value.text), "bytes") if _BINARY.search(doubt) else None
    return (found,) if found is not None and found.value != value.value else ()


_DECIMAL = re.compile(r"([kKMGT])B")
_BINARY = re.compile(r"[kKMGT]i(?:B|bi)|bibyte|\b1[ ,]?024|2\s?(?:\^|\*\*)|\b(?:bin|base)", re.IGNORECASE)


def _asked(kind: AnswerType) -> str:
    return "shape" if kind == "shape" else "number"


def _doubt(text: str, value: Number, kind: str, name: str) -> str:
    return says_todo(text) or doubt_of(text, value, kind, name)


_REFERS = re.compile(r"(?:see|same|ditto|siehe|wie|cf\.?|as|vgl\.?|voir|\u898b|\u89c1|\u540c)(?!\w)", re.IGNORECASE)


def _refers(plain: object) -> bool:
    """Return whether an entry says where the answer is, which a person can look up."""
    return isinstance(plain, str) and _REFERS.match(plain.strip()) is not None


_NUMBERS_ALONE = re.compile(r"\s*[\[(]?\s*\d[\d.]*(?:\s*[,;\s]\s*\d[\d.]*)+\s*[\])]?\s*")


def _leaves_names_out(plain: object, kind: AnswerType) -> bool:
    """Return whether a table's values have no row names: a person may know their order."""
    if not isinstance(kind, TableType) and kind != "histogram":
        return False
    if isinstance(plain, str):
        return _NUMBERS_ALONE.fullmatch(plain[:_LONGEST]) is not None
    return isinstance(plain, list) and bool(plain) and all(isinstance(each, int | float | Number) for each in plain)


def read(submission: Submission, file: str) -> object:
    """Return all plain data in a file of entries.

    Raises:
        SpecError, OSError, ValueError: it can't be read; the message is for the student.
    """
    text, _ = text_of(submission, file)
    return parsed_json(text, in_digits=True)[0] if is_json(file) else parsed_yaml(text, file).data


@dataclass(frozen=True, slots=True, kw_only=True)
class _EntryFound:
    """The data under a dotted name.

    `place`: the line, if known; `cut`: a number that commas cut up, or ""; `twice`: the part that is given a second
    time, or ""; `alone`: the name under which it is, if that is another one; `unit`: the unit in its key.
    """

    plain: object
    place: str = ""
    cut: str = ""
    twice: str = ""
    alone: str = ""
    unit: str = ""


def _in_file(text: str, file: str, wanted: str, kind: AnswerType, *, stray: bool) -> _EntryFound | None:
    """Return the data under a dotted name. JSON with single quotes, comments or trailing commas is read as YAML.

    Raises:
        ValueError: it is no JSON.
        SpecError: it is no YAML.
    """
    if not is_json(file):
        return _in_yaml(text, file, wanted, kind, stray=stray)
    try:
        return _in_json(text, wanted, kind, stray=stray)
    except ValueError:
        with contextlib.suppress(SpecError):
            return _in_yaml(without_comments(text), file, wanted, kind, stray=stray)
        raise


def _in_json(text: str, wanted: str, kind: AnswerType, *, stray: bool) -> _EntryFound | None:
    """Return the data under a dotted name. Numbers keep their digits as written.

    Raises:
        ValueError: it is no JSON.
    """
    data, doubles = parsed_json(text, in_digits=kind != "tensor")
    own = None if stray else find_entry(data, wanted)
    path = _other_place(data, wanted, kind, stray=stray) if own is None else own
    twice = _contradicted(doubles, path, wanted)
    said = f"'{cut(str(twice[-1]))}' is given twice, with different values" if twice else ""
    if path is None:
        return _EntryFound(plain=None, twice=said) if said else None
    plain = functools.reduce(lambda inner, key: inner[key], path, data)
    alone = "" if own is not None else ".".join(map(str, path))
    return _EntryFound(plain=plain, twice=said, alone=alone, unit=unit_of(path, wanted))


def _in_yaml(text: str, file: str, wanted: str, kind: AnswerType, *, stray: bool) -> _EntryFound | None:
    """Return the data under a dotted name, and its line. Numbers keep their digits as written (`1.5e9`).

    Raises:
        SpecError: it is no YAML.
    """
    loaded = parsed_yaml(text, file)
    own = None if stray else find_entry(loaded.data, wanted)
    path = _other_place(loaded.data, wanted, kind, stray=stray) if own is None else own
    twice = _contradicted(loaded.twice, path, wanted)
    said = f"'{cut(str(twice[-1]))}' stands there again on line {loaded.twice[twice].line}" if twice else ""
    if path is None:
        return _EntryFound(plain=None, twice=said) if said else None
    data: Any = functools.reduce(lambda inner, key: inner[key], path, cast("Any", loaded.data))
    return _EntryFound(
        plain=_keep_digits(data, loaded, path, kind),
        place=f":{loaded.mark(path).line}",
        twice=said,
        alone="" if own is not None else ".".join(map(str, path)),
        unit=unit_of(path, wanted),
        cut=next((written for place, written in loaded.cut.items() if place[: len(path)] == path), ""),
    )


def _other_place(data: object, wanted: str, kind: AnswerType, *, stray: bool) -> Path | None:
    """Return the path to a value under another name: the task's, or with `stray` a name that likely means it."""
    if not stray:
        return find_alone(data, wanted)
    path = find_stray(data, wanted)
    own = find_entry(data, wanted.partition(".")[0]) if path is None and kind == "histogram" else None
    held = functools.reduce(lambda inner, key: inner[key], own or (), cast("Any", data))
    return own if own and isinstance(held, dict) and not any(TOTAL.match(str(key)) for key in held) else path


def _contradicted(doubles: Iterable[Path], path: Path | None, wanted: str) -> Path | None:
    """Return the path given twice that is the wanted one, leads to it or lies in it; None if there is none."""
    return next((double for double in doubles if _touches(double, path or tuple(wanted.split(".")))), None)


def _touches(one: Path, other: Path) -> bool:
    """Return whether one path leads to the other, or into it."""
    return one[: len(other)] == other or other[: len(one)] == one


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
