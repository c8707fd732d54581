"""Plain data that a quantity is computed of: what nobody reads, or nobody could mean, is refused by name."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

LABEL = "name"  # of a task's case, for people


def _whole(value: Any) -> str:
    """What is wrong with a number of things; nothing where it is one."""
    fits = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    return "" if fits else "a whole number from 1"


def _number(value: Any) -> str:
    """What is wrong with a size, such as half a byte; nothing where it is one."""
    fits = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    return "" if fits else "a number from 0"


def _flag(value: Any) -> str:
    """What is wrong with yes or no."""
    return "" if isinstance(value, bool) else "true or false"


def _one_of(*values: Any) -> Callable[[Any], str]:
    """What is wrong with one of a few values."""
    wanted = f"one of {', '.join(map(str, values))}"
    return lambda value: "" if value in values and not isinstance(value, bool) else wanted


def _some_of(*values: str) -> Callable[[Any], str]:
    """What is wrong with a list of some of a few words."""

    def wrong(value: Any) -> str:
        fits = isinstance(value, list | tuple) and value and len(set(value)) == len(value) and set(value) <= {*values}
        return "" if fits else f"a list of some of {', '.join(values)}, each once"

    return wrong


_MATRICES = ("q", "k", "v", "o", "gate", "up", "down")
_KINDS: dict[str, Callable[[Any], str]] = {
    **dict.fromkeys(("layers", "width", "heads", "kv_heads", "head_dim", "ff", "vocab"), _whole),
    "ff_matrices": _one_of(2, 3),
    "tied": _flag,
    **dict.fromkeys(("tokens", "batch", "rank"), _whole),
    "targets": _some_of(*_MATRICES),
    **dict.fromkeys(("bytes", "weight_bytes", "gradient_bytes", "moment_bytes", "copy_bytes"), _number),
    **dict.fromkeys(("rows", "columns", "bits", "group", "workers", "elements"), _whole),
}


def known(config: dict[str, Any]) -> dict[str, Any]:
    """The config, each of whose keys some quantity reads, and all of whose values are of their kind.

    Raises:
        ValueError: nothing reads one, or it is of another kind.
    """
    for key, value in config.items():
        if key == LABEL:
            continue
        if key not in _KINDS:
            close = difflib.get_close_matches(key, list(_KINDS), n=1, cutoff=0.6)
            hint = f"did you mean '{close[0]}'?" if close else f"known are {', '.join(_KINDS)}"
            message = f"nothing reads '{key}' of the config, so that it would change nothing; {hint}"
            raise ValueError(message)
        if wanted := _KINDS[key](value):
            message = f"'{key}' of the config is {value!r}, and must be {wanted}"
            raise ValueError(message)
    return config
