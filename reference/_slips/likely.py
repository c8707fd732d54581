"""Which slips many students make: two of them at once are looked for, and one behind a small number."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

from .compose import answered, compatible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from .compose import Composition, Library, Names, Part, WantedProducts

LIKELY = frozenset(
    # of parameters, buffers and bytes
    {"biases", "named_biases", "frozen", "all", "swapped", "state", "shared", "buffers", "running_statistics"}
    | {"buffers_alone", "assumed_biases", "norms", "elements", "four", "two", "counters", "means", "parameters"}
    # of operations
    | {"bias", "bias_always", "norm_once", "norm_twice", "relu", "groups", "batch", "linear", "linear_once", "products"}
    | {"other_layers", "repeats", "containers", "products_twice", "macs", "transposed_by_output", "transposed"}
    | {"half_of_attention", "one_direction", "one_step", "kernel_height", "square"}
)
_BY_HOOKS = ("products", "other_layers")  # what a hook does not see is left out whatever is wrong besides
_STATE, _BUFFERS = "state", "buffers"
_ENDS = {"first_layer": 0, "last_layer": -1, "first_tensor": 0, "last_tensor": -1}


def pairs(library: Library, known: Sequence[str]) -> Iterator[Names]:
    """Two of the `known` slips of which both are likely; or a slip that leaves out what hooks miss, with any other."""
    for names in combinations(known, 2):
        likely = sum(name in LIKELY for name in names)
        if names[0].partition("_")[0] == names[1].partition("_")[0]:  # bias and bias_always: one in two ways
            continue
        if (likely == len(names) or any(name in _BY_HOOKS for name in names)) and compatible(names, library):
            yield names


def with_pairs(found: Composition, wanted: WantedProducts) -> dict[str, Any]:
    """What a function of slips of a sum returns, with the `pairs` to ask for next, and what fits `by_chance`."""
    answer = answered(found.library, found.totals(wanted))
    if wanted.among is None:
        answer["values"] = _without_same(answer["values"])
    return answer | further(found, [name for name, _ in answer["values"]], wanted)


def _without_same(values: Sequence[Any]) -> list[Any]:
    """Without all of a state_dict where it holds no more than buffers, which another slip says."""
    known: dict[str, Any] = dict(values)
    of_buffers = {name: known.get(name.replace(_STATE, _BUFFERS)) for name in known if _STATE in name.split("+")}
    return [[name, value] for name, value in values if of_buffers.get(name) != value]


def further(found: Composition, names: Sequence[str], wanted: WantedProducts) -> dict[str, list[str]]:
    """Of single slips: the `pairs` to ask for next, which are `likely`, and which fit `by_chance`."""
    if wanted.most != 1 or wanted.among is not None:
        return {}
    known = [name for name in names if name]
    return {
        "pairs": ["+".join(each) for each in pairs(found.library, known)],
        "likely": [name for name in known if name in LIKELY],
        "by_chance": _by_chance(found),
    }


def _by_chance(found: Composition) -> list[str]:
    """The slips that leave out an end whose value something else in the middle has, too: a number can't tell them."""
    try:
        parts = [part for part in found.found(()).parts if part.counted and part.count]
    except ValueError:
        return []
    sizes: dict[str, int | Fraction] = {}
    for part in parts:
        sizes[part.row] = sizes.get(part.row, 0) + part.count
    return [name for name, at in _ENDS.items() if name in found.library and _again(parts, sizes, name, at)]


def _again(parts: list[Part], sizes: dict[str, int | Fraction], name: str, at: int) -> bool:
    known = [part.count for part in parts] if name.endswith("tensor") else [*sizes.values()]
    return bool(known) and known.count(known[at]) > 1
