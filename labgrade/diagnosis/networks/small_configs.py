"""The configs that a wrong function is called on where a task is about plain data: each key changed alone, then all.

The same for everybody, so that what is said of a function is the same every time.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labgrade.diagnosis.networks.small_networks import SmallNetwork

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from labgrade.core.task import SubjectSpec, Task

_RICH, _MORE = 8, 6
_LEAST, _MOST = 2, 97
_LABEL = "name"


def configs(task: Task) -> list[SmallNetwork]:
    """Return copies of the task's config with one number changed each, and some with all of them changed."""
    own, others = _known(task)
    found = [
        _made(own, _with(dict(own.options), key, value), words=f"another `{key}`", rank=0)
        for key, value in _one_changed(own.options, others)
    ]
    found += [
        _made(own, options, words=f"{word} in another order", rank=0) for word, options in _reordered(own.options)
    ]
    found += [*_all_changed(own, others, seed=0, count=_RICH), *_cases_with_arguments(task)]
    return list({_what(each.subject): each for each in reversed(found)}.values())[::-1]


def more(task: Task) -> Iterator[SmallNetwork]:
    """Yield further configs, the same each time, one of which may tell hypotheses apart."""
    own, others = _known(task)
    yield from _all_changed(own, others, seed=1, count=_MORE)


def _what(subject: SubjectSpec) -> str:
    """Return what a subject is without its name: a difference in the name alone tells nothing."""
    options = [(key, repr(value)) for key, value in subject.options.items() if key != _LABEL]
    return repr((sorted(options), sorted((key, repr(value)) for key, value in subject.arguments.items())))


def _cases_with_arguments(task: Task) -> Iterator[SmallNetwork]:
    """Yield the task's cases in which a function gets other arguments, which are in no config."""
    assert task.subject is not None  # noqa: S101 - it is a config
    own = task.subject.arguments
    for case in (each for check in task.checks for each in check.cases if each.is_config):
        if changed := " and ".join(f"`{name}`" for name, value in case.arguments.items() if value != own.get(name)):
            yield _made(case, dict(case.options), words=f"another {changed}", rank=0)


def _known(task: Task) -> tuple[SubjectSpec, list[Mapping[str, Any]]]:
    """Return the task's own config, and those of its checks on which functions are called besides."""
    assert task.subject is not None  # noqa: S101 - it is a config
    return task.subject, [case.options for check in task.checks for case in check.cases if case.is_config]


def _made(own: SubjectSpec, options: dict[str, Any], *, words: str, rank: int) -> SmallNetwork:
    return SmallNetwork(subject=replace(own, options=options, passing=True), words=words, rank=rank)


def _one_changed(options: Mapping[str, Any], others: list[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    for key, value in _leaves(options):
        if isinstance(value, bool):
            yield key, not value
        elif isinstance(value, int | float):
            yield key, _another(key, value, options)
        else:
            yield from ((key, other) for other in _seen(key, value, others)[:1])
    for key in dict.fromkeys(key for other in others for key in other if key not in options):
        yield key, next(other[key] for other in others if key in other)


def _reordered(options: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the options with the values of a mapping reversed: does a function take the first or the largest?"""
    for key, value in options.items():
        if isinstance(value, dict) and len({*map(repr, value.values())}) > 1:
            yield f"the values of `{key}`", {**options, key: dict(zip(value, reversed(value.values()), strict=True))}


def _another(key: str, value: float, options: Mapping[str, Any]) -> int | float:
    """Return another number; for groups (`kv_heads` beside `heads`) one that divides the other as before."""
    if not isinstance(value, int):
        return value * 1.5
    if any(key != other and key.endswith(f"_{other}") for other in options):
        return next((each for each in range(value - 1, 0, -1) if value % each == 0), value)
    return 2 * value if any(other.endswith(f"_{key}") for other in options) else value + 1 + value // 3


def _all_changed(own: SubjectSpec, others: list[Mapping[str, Any]], *, seed: int, count: int) -> Iterator[SmallNetwork]:
    chance = random.Random(seed)  # noqa: S311 - the same numbers every time are what is wanted
    for at in range(count):
        options = {**own.options, **(chance.choice(others) if others else {})}
        for key, value in list(_leaves(options)):
            _with(options, key, _drawn(key, value, chance, others, wide=at % 2 == 1))
        pairs = [(key, whole) for key in options for whole in options if key.endswith(f"_{whole}")]
        for key, whole in pairs:  # a number of groups divides what is in groups
            options[key] = chance.randint(1, 3)
            options[whole] = options[key] * chance.randint(2, 5)
        yield _made(own, options, words="", rank=1 + at)


def _drawn(key: str, value: Any, chance: random.Random, others: list[Mapping[str, Any]], *, wide: bool) -> Any:
    if isinstance(value, bool):
        return chance.choice((True, False))
    if isinstance(value, int):  # small beside large ones, as in what a task asks for
        return chance.randint(_LEAST, _MOST) if value >= _LEAST else value
    if isinstance(value, float):
        times = 10 ** chance.uniform(-1.5, 1.5) if wide else chance.uniform(0.3, 3)  # another one is the largest then
        return round(value * times, 3) or value
    return chance.choice([value, *_seen(key, value, others)])


def _seen(key: str, value: Any, others: list[Mapping[str, Any]]) -> list[Any]:
    """Return other values of a key in the task's cases."""
    found = [other[key] for other in others if key in other and other[key] != value]
    return [*found, *([value[:-1]] if isinstance(value, list) and len(value) > 1 else [])]


def _leaves(options: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in options.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{before}{key}.")
        elif before or key != _LABEL:
            yield f"{before}{key}", value


def _with(options: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """Return the options with another value under a key, which may lead into a mapping."""
    first, _, rest = key.partition(".")
    options[first] = _with(dict(options[first]), rest, value) if rest else value
    return options
