"""Whether checkers, quantities, published figures and ranges fit the type of the answer. Nothing is computed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from labgrade.core.did_you_mean import did_you_mean, offer
from labgrade.core.errors import SpecFinding
from labgrade.core.task import ARTIFACT_KINDS, SCALAR_KINDS
from labgrade.spec.data import NUMBERS, checks, is_number, listed, mapping, rows, sources
from labgrade.spec.registry import COLUMN, COMPARED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.files.yaml import Loaded, Path
    from labgrade.spec.course import Course

_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")  # and not the e of 1e-6
_EVERYTHING = frozenset({*SCALAR_KINDS, "histogram", "tensor", "table", "table_of"})
# What a checker's annotation of its answer takes, in types of the language.
_TAKEN = {
    "Number": NUMBERS,
    "str": frozenset({"text"}),
    "tuple[int, ...]": frozenset({"shape"}),
    "Scalar": frozenset(SCALAR_KINDS),
    "Mapping[str, Number]": frozenset({"histogram"}),
    "Table": frozenset({"table"}),
    "Findings": frozenset(),  # measured, never handed in
    "Artifact": frozenset(),  # handed in, never judged itself
    "Array": frozenset({"tensor"}),
    "Mapping[str, Array]": frozenset({"table_of"}),
}
# What a quantity's return annotation can stand for; others are known only once they are computed.
_GIVEN = {
    "int": NUMBERS | {"text", "tensor"},
    "float": NUMBERS | {"text", "tensor"},
    "str": frozenset({"text"}),
    "list[int]": frozenset({"shape", "tensor"}),
    "list[dict[str, Any]]": frozenset({"table"}),
    "dict[str, int]": frozenset({"histogram", "table"}),
    "dict[str, torch.Tensor]": frozenset({"table_of"}),
}
_BOUNDS = (
    ("above", "below", True),
    ("above", "at_most", True),
    ("at_least", "below", True),
    ("at_least", "at_most", False),
)


def findings(loaded: Loaded, course: Course) -> Iterator[SpecFinding]:
    """What does not fit, each with its place. Tolerant of data that the schema already refused."""
    data = mapping(loaded.data)
    for path, check in checks(data):
        kind = _kind(mapping(data.get("answers")), check.get("answer"))
        for place, message in (
            *_time(check, kind, path),
            *_checker(check, kind, course, path),
            *_columns(check, mapping(data.get("answers")), course, path),
            *_picture(check, mapping(data.get("answers")), course, path),
            *_quantities(check, kind, course, path),
            *_ranges(check, path),
            *_answers(check, mapping(data.get("answers")), path),
        ):
            yield SpecFinding(loaded.mark(place), message)


_BEST = ("argmax", "argmin")


def _answers(check: dict[str, Any], answers: dict[str, Any], path: Path) -> Iterator[tuple[Path, str]]:
    """Check another answer used as the right value: its type, and what is taken from its rows."""
    own, kind = check.get("answer"), _kind(answers, check.get("answer"))
    for place, source in sources(check, path):
        name, take = source.get("answer"), source.get("take")
        if name not in answers:
            continue
        other, rows_of = _kind(answers, name), mapping(mapping(answers[name]).get("type")).get("table")
        if name == own:
            yield (*place, "answer"), f"'{name}' is always what it is itself; compare it with another answer"
        elif take and other not in ("table", "histogram"):
            yield (*place, "take"), f"'{take}' is taken of rows, and '{name}' is a {other}"
        elif not take and kind and other != kind and not {kind, other} <= NUMBERS:
            yield place, f"'{name}' is a {other}, and '{own}' a {kind}: say what is taken of it, 'take: argmax'"
        for message in _of_rows(source, mapping(rows_of)):
            yield place, message
        if "cases" in check and not any("call" in mapping(form) for form in listed(answers[name].get("from"))):
            yield (*place, "answer"), f"the cases of '{own}' need '{name}' of the same subjects: give it a 'call'"


def _of_rows(source: dict[str, Any], table: dict[str, Any]) -> Iterator[str]:
    take, columns = source.get("take"), mapping(table.get("columns"))
    words = [word for word in ("of", "by") if word in source]
    if words and not take:
        yield f"'{words[0]}' says of what is taken: 'take: argmax', or sum, mean, max, min"
    elif "by" in source and take not in _BEST:
        yield f"'by' is of {' and '.join(_BEST)}, and not of '{take}'"
    elif take and columns:
        numbers = [column for column, kind in columns.items() if kind in NUMBERS]
        if "of" not in source and list(columns) != numbers[:1]:
            yield f"say of which column: 'of: {next(iter(numbers), 'COLUMN')}'"
        elif "of" in source and source["of"] not in numbers:
            yield f"'{source['of']}' is no column of numbers{did_you_mean(str(source['of']), numbers)}"
        if "by" in source and source["by"] not in (*columns, table.get("row")):
            yield f"there is no column '{source['by']}'{did_you_mean(str(source['by']), columns)}"


def _kind(answers: dict[str, Any], name: object) -> str:
    """The type of an answer as one word; empty where the schema refuses it."""
    kind = mapping(answers.get(str(name))).get("type")
    word = kind if isinstance(kind, str) else next(iter(mapping(kind)), "")
    return word if word in _EVERYTHING else ""


def _time(check: dict[str, Any], kind: str, path: Path) -> Iterator[tuple[Path, str]]:
    """Check that a time is compared with a limit or with the student's own figure, since machines differ."""
    for place, source in sources(check, path) if kind == "time" else ():
        given = place[-1] == "value" or "expected" in check
        if given and "answer" not in source:
            yield (
                place,
                "times are not compared with a value, because machines differ; write 'checker: {at_most: {limit: 60}}'",
            )


def _checker(check: dict[str, Any], kind: str, course: Course, path: Path) -> Iterator[tuple[Path, str]]:
    given = check.get("checker")
    name = given if isinstance(given, str) else next(iter(mapping(given)), "")
    entry = course.checkers.entries.get(name)
    taken = _types_judged(entry.judges) if entry else _EVERYTHING
    if kind and kind not in taken:
        fitting = [
            other for other, each in sorted(course.checkers.entries.items()) if kind in _types_judged(each.judges)
        ]
        yield (*path, "checker"), f"'{name}' judges no {kind}; there is {', '.join(fitting) or 'no checker that does'}"


def _columns(check: dict[str, Any], answers: dict[str, Any], course: Course, path: Path) -> Iterator[tuple[Path, str]]:
    """Find columns that a checker names and that the answer's table lacks, or that hold no numbers."""
    kind = mapping(answers.get(str(check.get("answer")))).get("type")
    columns = mapping(mapping(mapping(kind).get("table")).get("columns"))
    numbers = [column for column, of in columns.items() if of in NUMBERS]
    for name, given in mapping(check.get("checker")).items() if columns and "measured" not in check else ():
        entry = course.checkers.entries.get(name)
        for key, value in mapping(given).items():
            if entry is None or key not in entry.parameters or COLUMN not in str(entry.parameters[key].schema):
                continue
            compared = COMPARED in str(entry.parameters[key].schema)
            for at, said in enumerate(value if isinstance(value, list) else [value]):
                place = (*path, "checker", name, key, *([at] if isinstance(value, list) else []))
                for column in dict.fromkeys(_NAME.findall(str(said))) if compared else [said]:
                    if column is not None and column not in columns:
                        yield place, f"the table has no column '{column}'{offer(str(column), numbers)}"
                    elif column is not None and column not in numbers:
                        yield place, f"the column '{column}' holds no numbers{offer('', numbers)}"


def _picture(check: dict[str, Any], answers: dict[str, Any], course: Course, path: Path) -> Iterator[tuple[Path, str]]:
    """Check that a picture names existing columns or a grid, and shows nothing hidden."""
    drawn, place = mapping(check.get("picture")), (*path, "picture")
    if not drawn:
        return
    if check.get("hidden") is True:
        yield place, "a hidden check draws nothing, as students see its pictures; take out 'picture' or 'hidden'"
    if check.get("cases"):
        yield place, "a check with 'cases' has many answers, and a picture is of one: put it at a check without"
    if ("step" in drawn) == ("x" in drawn or "y" in drawn) or ("x" in drawn) != ("y" in drawn):
        yield place, "a picture has two columns, '{x: n, y: gflops}', or a 'step', '{step: 1}', and not both"
        return
    kind = mapping(answers.get(str(check.get("answer")))).get("type")
    measured = mapping(drawn.get("measured"))
    if "step" in drawn or measured:
        if measured and not (isinstance(kind, str) and kind in ARTIFACT_KINDS):
            yield (*place, "measured"), "'measured' is for an answer that is a file, and this one is none"
        if measured.get("quantity") not in (None, *course.quantities.entries):
            name, known = str(measured["quantity"]), course.quantities.entries
            yield (*place, "measured", "quantity"), f"there is no '{name}'{did_you_mean(name, known)}"
        return
    columns = mapping(mapping(mapping(kind).get("table")).get("columns"))
    numbers = [column for column, of in columns.items() if of in NUMBERS]
    for axis in ("x", "y"):
        named = drawn[axis]
        if named not in numbers:
            yield (*place, axis), f"the answer has no column of numbers '{named}'{offer(str(named), numbers)}"


def _types_judged(annotation: str) -> frozenset[str]:
    known = [_TAKEN.get(part) for part in annotation.split(" | ")]
    return _EVERYTHING if None in known else frozenset().union(*(each for each in known if each))


def _quantities(check: dict[str, Any], kind: str, course: Course, path: Path) -> Iterator[tuple[Path, str]]:
    """Find quantities whose values can't be of the answer's type, and published values that are no numbers."""
    for place, source in sources(check, path):
        name = source.get("quantity")
        entry = course.quantities.entries.get(name) if isinstance(name, str) else None
        given = _GIVEN.get(entry.returns) if entry else None
        if entry is None or given is None:
            continue
        if kind and kind not in given:
            yield (*place, "quantity"), f"'{name}' gives {entry.returns}, and the answer is a {kind}"
        published = source.get("published")
        if isinstance(published, str) and entry.returns in ("int", "float"):
            digits = published.replace(",", "").replace(" ", "")
            remedy = f": {digits}" if re.fullmatch(r"\d+(\.\d+)?", digits) else ""
            yield (
                (*place, "published"),
                f"the published value is text; write a number without quotes and commas{remedy}",
            )


def _ranges(check: dict[str, Any], path: Path) -> Iterator[tuple[Path, str]]:
    for place, row in rows(check, path, "partly"):
        when = mapping(row.get("when"))
        for low, high, strict in _BOUNDS:
            if not is_number(when.get(low)) or not is_number(when.get(high)):
                continue
            if when[low] > when[high] or (strict and when[low] == when[high]):
                yield (
                    (*place, "when"),
                    f"no value is {_bound_as_written(low)} {when[low]} and {_bound_as_written(high)} {when[high]}",
                )
                break


def _bound_as_written(bound: str) -> str:
    return bound.replace("_", " ")
