"""Whether the parts of a spec fit one another: types, options, forms, cases, ranges. All known without computing."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from labgrade import model_options
from labgrade.errors import Finding, did_you_mean
from labgrade.forms import SCALAR_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from labgrade.course import Course
    from labgrade.yamlfile import Loaded, Path

_NUMBERS = frozenset({"count", "bytes", "number"})
_EVERYTHING = frozenset({*SCALAR_KINDS, "histogram", "tensor", "table", "table_of"})
# What a checker's annotation of its answer takes, in types of the language.
_TAKEN = {
    "Number": _NUMBERS,
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
    "int": _NUMBERS | {"text", "tensor"},
    "float": _NUMBERS | {"text", "tensor"},
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
_OUTSIDE = re.compile(r"[/\\~]|[A-Za-z]:|(?:.*[/\\])?\.\.(?:[/\\]|$)")


def findings(loaded: Loaded, course: Course) -> Iterator[Finding]:
    """Every two places of the file that contradict each other."""
    data: dict[str, Any] = loaded.data if isinstance(loaded.data, dict) else {}
    for name, answer in _dict(data.get("answers")).items():
        for path, message in _forms(_list(_dict(answer).get("from")), ("answers", name, "from")):
            yield Finding(loaded.mark(path), message)
    if "subject" in data:
        yield from _options(_dict(data["subject"]), ("subject",), loaded)
    for index, check in enumerate(_list(data.get("checks"))):
        path = ("checks", index)
        kind = _kind(_dict(data.get("answers")), _dict(check).get("answer"))
        for place, message in (
            *_checker(_dict(check), kind, course, path),
            *_quantities(_dict(check), kind, course, path),
            *_ranges(_list(_dict(check).get("partly")), (*path, "partly")),
        ):
            yield Finding(loaded.mark(place), message)
        yield from _cases(_dict(check), _dict(data.get("subject")), path, loaded)


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _kind(answers: dict[str, Any], name: object) -> str:
    """The type of an answer as one word; empty where the schema refuses it."""
    kind = _dict(answers.get(str(name))).get("type")
    word = kind if isinstance(kind, str) else next(iter(_dict(kind)), "")
    return word if word in _EVERYTHING else ""


def _forms(forms: list[Any], path: Path) -> Iterator[tuple[Path, str]]:
    for index, form in enumerate(forms):
        if form in forms[:index]:
            yield (*path, index), "this form stands twice; the second is never looked at"
        for word in ("call", "file", "files"):
            named = _dict(form).get(word)
            if isinstance(named, str) and _OUTSIDE.match(named):
                yield (*path, index, word), f"'{named}' leads out of a submission; name a file within its folder"


def _checker(check: dict[str, Any], kind: str, course: Course, path: Path) -> Iterator[tuple[Path, str]]:
    given = check.get("checker")
    name = given if isinstance(given, str) else next(iter(_dict(given)), "")
    entry = course.checkers.entries.get(name)
    taken = _taken(entry.judges) if entry else _EVERYTHING
    if kind and kind not in taken:
        fitting = [other for other, each in sorted(course.checkers.entries.items()) if kind in _taken(each.judges)]
        yield (*path, "checker"), f"'{name}' judges no {kind}; there is {', '.join(fitting) or 'no checker that does'}"


def _taken(annotation: str) -> frozenset[str]:
    known = [_TAKEN.get(part) for part in annotation.split(" | ")]
    return _EVERYTHING if None in known else frozenset().union(*(each for each in known if each))


def _quantities(check: dict[str, Any], kind: str, course: Course, path: Path) -> Iterator[tuple[Path, str]]:
    """Quantities whose values can't be of the answer's type, and published figures that are no figures."""
    for place, source in _sources(check, path):
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


def _sources(check: dict[str, Any], path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    yield (*path, "expected"), _dict(check.get("expected"))
    for word in ("also_right", "misconceptions"):
        for index, other in enumerate(_list(check.get(word))):
            yield (*path, word, index, "value"), _dict(_dict(other).get("value"))


def _ranges(partly: list[Any], path: Path) -> Iterator[tuple[Path, str]]:
    for index, item in enumerate(partly):
        when = _dict(_dict(item).get("when"))
        for low, high, strict in _BOUNDS:
            if not _is_number(when.get(low)) or not _is_number(when.get(high)):
                continue
            if when[low] > when[high] or (strict and when[low] == when[high]):
                yield (*path, index, "when"), f"no value is {_said(low)} {when[low]} and {_said(high)} {when[high]}"
                break


def _said(bound: str) -> str:
    return bound.replace("_", " ")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _cases(check: dict[str, Any], main: dict[str, Any], path: Path, loaded: Loaded) -> Iterator[Finding]:
    seen: list[dict[str, Any]] = []
    for index, case in enumerate(_list(check.get("cases"))):
        place = (*path, "cases", index)
        whole = {**main, **_dict(case)}
        if whole in seen:
            yield Finding(loaded.mark(place), "this case stands twice")
        seen.append(whole)
        yield from _options(whole, place, loaded)


def _options(subject: dict[str, Any], path: Path, loaded: Loaded) -> Iterator[Finding]:
    """Options that the model does not take; a case may have inherited them."""
    model = subject.get("model")
    known = model_options.of(model) if isinstance(model, str) else None
    if known is None:
        return
    for option in _dict(subject.get("options")):
        if option not in known:
            message = f"'{model}' has no option '{option}'{did_you_mean(option, known) or _there_is(known)}"
            yield Finding(loaded.key_mark((*path, "options", option)), message)


def _there_is(known: Iterable[str]) -> str:
    return f"; there is {', '.join(sorted(known))}"
