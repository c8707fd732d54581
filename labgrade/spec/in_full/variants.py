"""A subject that differs from student to student: `{each: [0.5, 0.75]}` in place of a value, and what follows of it."""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from labgrade.core.errors import SpecFinding
from labgrade.spec.data import checks, listed, mapping, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.files.yaml import Loaded, Path

EACH = "each"
MOST = 64  # variants: each is validated, and its values are computed
_WITHIN = ("options", "config", "arguments")


def each_variant(loaded: Loaded) -> list[tuple[str, Loaded]]:
    """Return the spec of each variant with its label, in file order; the spec itself if it has no variants.

    Of more than `MOST` the first alone: `problems` says so.
    """
    subject = mapping(mapping(loaded.data).get("subject"))
    places = list(_places(subject))
    choices = product(*(values for _, values in places))
    if not places or not all(values for _, values in places):
        return [("", loaded)]
    many = _count(places) > MOST
    return [_with(loaded, places, chosen) for chosen in ([next(choices)] if many else choices)]


def problems(loaded: Loaded, whole: Loaded) -> Iterator[SpecFinding]:
    """Find too many or too few variants, and cases whose names would differ between variants."""
    data = mapping(loaded.data)
    places = list(_places(mapping(data.get("subject"))))
    if _count(places) > MOST:
        message = f"these are {_count(places):,} variants; {MOST} are enough for any class"
        yield SpecFinding(loaded.mark(("subject", *places[0][0])), message)
    for path, values in places:
        if len(values) < 2 or any(value in values[:place] for place, value in enumerate(values)):  # noqa: PLR2004
            yield SpecFinding(loaded.mark(("subject", *path)), "variants are two values or more, each once")
    named = any(path == ("model",) for path, _ in places)
    for path, check in checks(mapping(whole.data)):
        for place, case in rows(check, path, "cases"):
            for inner, _ in _places(case):
                yield SpecFinding(whole.mark((*place, *inner)), "variants are of the task's own subject, not of cases")
            if named and "model" not in case:
                message = "the model has variants, and a case is called by it: give the case a model of its own"
                yield SpecFinding(whole.mark(place), message)


def _count(places: list[tuple[Path, list[Any]]]) -> int:
    return prod(len(values) for _, values in places)


def _places(subject: dict[str, Any]) -> Iterator[tuple[Path, list[Any]]]:
    """Yield the places where a value has variants, with these."""
    for word, value in subject.items():
        if _is_each(value):
            yield (word,), listed(value[EACH])
        for name, inner in mapping(value).items() if word in _WITHIN else ():
            if _is_each(inner):
                yield (word, name), listed(inner[EACH])


def _is_each(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {EACH}


def _with(loaded: Loaded, places: list[tuple[Path, list[Any]]], chosen: tuple[Any, ...]) -> tuple[str, Loaded]:
    data: Any = {**mapping(loaded.data), "subject": copy.deepcopy(mapping(loaded.data)["subject"])}
    for (path, _), value in zip(places, chosen, strict=True):
        holder = data["subject"] if len(path) == 1 else data["subject"][path[0]]
        holder[path[-1]] = value
    label = ", ".join(f"{path[-1]} {value}" for (path, _), value in zip(places, chosen, strict=True))
    return label, replace(loaded, data=data)
