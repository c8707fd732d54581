"""The conventions of a quantity side by side, and those under which a 0 is none."""

from __future__ import annotations

import itertools
import sys
from typing import TYPE_CHECKING, Any

from labgrade.core.errors import FaultError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from labgrade.spec.registry import Entry, Parameter

_MOST = 256


def compared(entry: Entry, chosen: dict[str, Any], compute: Callable[[dict[str, Any]], Any]) -> list[dict[str, Any]]:
    """Return a row for each choice of conventions: the choice, the value, and whether it differs from the default's.

    Free are those with few values (words to choose from, yes or no) that `chosen` does not set. What can't be computed
    under a choice is said in its place.

    Raises:
        UsageError: there are more than 256 choices.
    """
    free = {name: own for name, each in entry.parameters.items() if name not in chosen and (own := _choices(each))}
    combinations = [dict(zip(free, values, strict=True)) for values in itertools.product(*free.values())]
    if len(combinations) > _MOST:
        message = f"'{entry.name}' has {len(combinations):,} choices of conventions; say some with --set"
        raise UsageError(message)
    values = [_tried(compute, {**chosen, **each}) for each in combinations]
    usual = {name: _default(entry.parameters[name]) for name in free}
    # What is required has no default: then the others are compared with the first choice.
    first = next((value for each, value in zip(combinations, values, strict=True) if each == usual), values[0])
    pairs = zip(combinations, values, strict=True)
    return [{**each, entry.name: value, "differs": value != first} for each, value in pairs]


def short(value: Any) -> Any:
    """Return a value on one line; of a table the number of rows and the sums of its numbers."""
    if not isinstance(value, list | dict):
        return value
    numbers = list(_numbers(value))
    return f"{len(value)} rows, sum {sum(numbers):,}" if numbers else f"{len(value)} rows"


def _choices(parameter: Parameter) -> list[Any]:
    schemas: Any = parameter.schema.get("anyOf", [parameter.schema])
    options = [_values(each) for each in schemas]
    return [value for each in options for value in each] if all(options) else []


def _values(schema: dict[str, Any]) -> list[Any]:
    """Return the values that a schema allows where these are few, else none."""
    few: dict[str, list[Any]] = {"boolean": [False, True], "null": [None]}
    return list(schema["enum"]) if "enum" in schema else few.get(str(schema.get("type")), [])


def _default(parameter: Parameter) -> Any:
    words = {"None": None, "True": True, "False": False}
    return words.get(parameter.default, parameter.default.strip("'\""))


def _tried(compute: Callable[[dict[str, Any]], Any], parameters: dict[str, Any]) -> Any:
    try:
        return compute(parameters)
    except (FaultError, UsageError) as error:
        return f"can't be computed: {str(error).partition(': ')[2] or error}"


def _numbers(value: Any) -> Iterator[int | float]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _numbers(item)


def say_why_nothing(
    value: object, entry: Entry, chosen: dict[str, Any], compute: Callable[[dict[str, Any]], Any]
) -> None:
    """Where the answer is 0, say the conventions under which it is not: a 0 may mislead."""
    if isinstance(value, bool) or value != 0:
        return
    for name, each in entry.parameters.items():
        if name in chosen or each.default not in ("True", "False"):
            continue
        flipped = each.default == "False"
        other = _tried(compute, {**chosen, name: flipped})
        if isinstance(other, int) and other:
            print(f"with --set {name}={str(flipped).lower()} it is {other:,}", file=sys.stderr)  # noqa: T201
