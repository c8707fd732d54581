"""Plain data -> YAML as a person would write a spec: short things on one line, long texts as blocks.

What is written reads back as exactly the same data: a text that YAML would take for something else is quoted.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from labgrade.core.errors import FaultError, SpecError
from labgrade.files import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.core.task import Plain

_WIDTH = 120
_PLAIN = re.compile(r"[A-Za-z0-9_./+\u0080-\uffff-]+(?: [A-Za-z0-9_./+\u0080-\uffff-]+)*")
_AFTER_A_DASH = 2


def dump(data: dict[str, Plain]) -> str:
    """The YAML text of a mapping, in its order.

    Raises:
        FaultError: it would not read back as the same data, which no data from YAML or JSON does.
    """
    text = "".join(f"{line}\n" for line in _mapping(data, 0))
    try:
        same = yaml.load(text, "").data == data
    except SpecError:
        same = False
    if not same:
        message = "a spec could not be written as YAML"
        raise FaultError(message)
    return text


def scalar(value: Plain) -> str:
    """Write a scalar as YAML; a text that would be read as something else is quoted."""
    if not isinstance(value, str):
        return json.dumps(value)
    if value.isprintable() and _PLAIN.fullmatch(value) and value[0] != "-" and yaml.load(value, "").data == value:
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    return "".join(each if each.isprintable() else f"\\U{ord(each):08x}" for each in quoted)


def _mapping(data: dict[str, Plain], indent: int) -> Iterator[str]:
    for key, value in data.items():
        yield from _entry(f"{' ' * indent}{scalar(key)}:", value, indent)


def _entry(head: str, value: Plain, indent: int) -> Iterator[str]:
    """Write a key, or the dash of an item, with its value."""
    short = _flow(value)
    if len(head) + 1 + len(short) <= _WIDTH and _is_leaf(value):
        yield f"{head} {short}"
    elif isinstance(value, str) and _is_block(value):
        yield f"{head} |{'' if value.endswith(chr(10)) else '-'}"
        yield from (f"{' ' * (indent + 2)}{line}" if line else "" for line in value.removesuffix("\n").split("\n"))
    elif isinstance(value, dict) and value:
        yield head
        yield from _mapping(value, indent + 2)
    elif isinstance(value, list) and value:
        yield head
        for item in value:
            yield from _item(item, indent + 2)
    else:
        yield f"{head} {short}"


def _item(item: Plain, indent: int) -> Iterator[str]:
    """Write an item of a list; a mapping's first key follows the dash."""
    if isinstance(item, dict) and item and not _fits(item, indent):
        lines = list(_mapping(item, indent + _AFTER_A_DASH))
        yield f"{' ' * indent}- {lines[0].lstrip()}"
        yield from lines[1:]
    else:
        yield from _entry(f"{' ' * indent}-", item, indent)


def _fits(value: Plain, indent: int) -> bool:
    return _is_leaf(value) and indent + _AFTER_A_DASH + len(_flow(value)) <= _WIDTH


def _is_leaf(value: Plain) -> bool:
    """Return whether a value reads well on one line: not deep, no long text."""
    if isinstance(value, dict):
        return all(not isinstance(item, list | dict) or _is_flat(item) for item in value.values())
    if isinstance(value, list):
        return _is_flat(value)
    return not (isinstance(value, str) and "\n" in value)


def _is_flat(value: list[Plain] | dict[str, Plain]) -> bool:
    items = value.values() if isinstance(value, dict) else value
    return not any(isinstance(item, list | dict) for item in items)


def _is_block(value: str) -> bool:
    """Return whether a block scalar can hold exactly this text."""
    body = value.removesuffix("\n")
    lines = body.split("\n")
    plain = all(line == line.rstrip() and line.isprintable() for line in lines)
    return bool(body) and plain and lines[0][:1] not in ("", " ") and lines[-1] != ""


def _flow(value: Plain) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar(key)}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return scalar(value)
