"""A spec's plain data, right or wrong: its parts with their places, and what a case inherits.

What is of another kind than the language wants counts as empty: the schema says so at its place.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from labgrade.files.yaml import Path

OTHER_VALUES = ("also_right", "misconceptions")  # the words of a check that hold alternatives to what is expected
NUMBERS = frozenset({"count", "bytes", "number", "time"})  # the types that are numbers
WHICH = ("model", "file", "handed_in", "config")  # the words of which a subject has one


def mapping(value: object) -> dict[str, Any]:
    """Return the value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def is_number(value: object) -> bool:
    """Return whether the value is a finite number; true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def checks(data: Mapping[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the checks that are mappings, each with its place."""
    for index, check in enumerate(listed(data.get("checks"))):
        if isinstance(check, dict):
            yield ("checks", index), check


def rows(check: Mapping[str, Any], path: Path, word: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the rows of a check's `cases`, `beside`, `partly`, ..., each with its place."""
    for index, row in enumerate(listed(check.get(word))):
        yield (*path, word, index), mapping(row)


def sources(check: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield what a check compares its answer with, with places: `expected`, `also_right`, `misconceptions`."""
    yield (*path, "expected"), mapping(check.get("expected"))
    for word in OTHER_VALUES:
        for place, row in rows(check, path, word):
            yield (*place, "value"), mapping(row.get("value"))


def subjects_of(answer: str, data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return an answer's subjects: the task's, its cases', and those of rows of `beside` that show it."""
    main = mapping(data.get("subject"))
    judged = [(path, check) for path, check in checks(data) if check.get("answer") == answer]
    beside = [row for path, check in checks(data) for _, row in rows(check, path, "beside")]
    shown = [row for row in beside if row.get("answer") == answer]
    cases = [case for path, check in judged for _, case in rows(check, path, "cases")]
    own = [main] if judged or not shown else []
    return own + [with_inherited(each, main) for each in (*cases, *shown)]


def answers_of(check: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    """Yield the answers that a check judges, compares with or shows, each with its place in the check."""
    yield ("answer",), check.get("answer")
    for place, source in sources(check, ()):
        if "answer" in source:
            yield (*place, "answer"), source["answer"]
    for place, row in rows(check, (), "beside"):
        yield (*place, "answer"), row.get("answer")


def with_inherited(case: Mapping[str, Any], main: Mapping[str, Any]) -> dict[str, Any]:
    """Return a case's subject in full: what the case leaves out comes from the task's subject.

    A case that names another model inherits the input, options and seed; of a config all but its name, by which a case
    is known.
    """
    named = {name for name in WHICH if name in case}
    named |= {"input", "inputs"} if {"input", "inputs"} & set(case) else set()
    taken = {name for group in (WHICH, ("input", "inputs")) if named & set(group) for name in group}
    whole = {name: value for name, value in main.items() if name not in taken} | dict(case)
    if isinstance(case.get("config"), dict) and isinstance(main.get("config"), dict):
        whole["config"] = {name: value for name, value in main["config"].items() if name != "name"} | case["config"]
    if isinstance(case.get("arguments"), dict) and isinstance(main.get("arguments"), dict):
        whole["arguments"] = main["arguments"] | case["arguments"]
    return whole
