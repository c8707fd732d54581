"""Slips that carry their own sentence: what a function of `reference/` says of itself in its docstring.

    Slip of: macs
    Hint: Groups are ignored. In a grouped convolution each output channel reads in_channels / groups inputs.
    Credit: 0.4

A line goes on until an empty one. `Credit: 0.8 by share` is that of a number that is nearly right: it falls with how
much of the work is. `Slip of` may name several quantities, separated by commas. `Also with: [{"side":
"width"}]` has conventions of the slip's own, as JSON, under which it is known, too.

A quantity may say under which convention of its own an answer is right whatever the task's author thought of:

    Also right: {"bias": true} with biases
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_OF, _HINT, _CREDIT, _ALSO = "Slip of", "Hint", "Credit", "Also with"
_TWICE = re.compile(r"^Twice: *(\w+)$", re.MULTILINE)
_RIGHT = re.compile(r"^Also right:(.*(?:\n.+)*)", re.MULTILINE)
SINGLE_CREDIT, BESIDES = 0.8, "Besides:"
SINGLE = (
    "These are multiply-accumulates (MACs). A multiply-accumulate is two floating-point operations, a product and a "
    "sum: double the number."
)
_LINE = re.compile(rf"({_OF}|{_HINT}|{_CREDIT}|{_ALSO}):\s*(.*)")
_SHARE = re.compile(r"(0|1|0?\.\d+|1\.0+)(?P<by>\s+by share)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class SlipNote:
    """The quantities of which a function is a slip, the hint for the student, and the credit.

    `by_share`: the less of the work is right, the less.
    """

    of: tuple[str, ...]
    hint: str
    credit: float = 0
    by_share: bool = False
    also_with: tuple[Mapping[str, Any], ...] = ()


class Function(Protocol):
    """What is asked here of an entry of the registry, which reads these notes and so can't be imported."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def docstring(self) -> str: ...  # noqa: D102
    @property
    def takes(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def parameters(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def slip(self) -> SlipNote | None: ...  # noqa: D102
    @property
    def right(self) -> tuple[tuple[Mapping[str, Any], str], ...]: ...  # noqa: D102


F = TypeVar("F", bound=Function)


def slip_note(docstring: str) -> SlipNote | None:
    """Read a docstring's slip note; None if it has none.

    Raises:
        ValueError: it says a part of it, or a credit that is none; the message says what to write.
    """
    said = _slip_lines(docstring)
    if not said:
        return None
    for needed in (_OF, _HINT):
        if not said.get(needed):
            message = f"'{needed}:' is missing: a slip says 'Slip of: QUANTITY', 'Hint: ...' and perhaps 'Credit: 0.5'"
            raise ValueError(message)
    credit = said.get(_CREDIT, "0")
    share = _SHARE.fullmatch(credit)
    if not share:
        message = f"'Credit: {credit}' is no share of the points from 0 to 1, such as 0.5 or 0.5 by share"
        raise ValueError(message)
    names = tuple(name.strip() for name in said[_OF].split(","))
    return SlipNote(
        of=names,
        hint=said[_HINT],
        credit=float(share[1]),
        by_share=bool(share["by"]),
        also_with=_variants(said.get(_ALSO, "[]")),
    )


def _variants(text: str) -> tuple[Mapping[str, Any], ...]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(each, dict) and each for each in found):
        message = f'\'Also with: {text}\' is no list of conventions as JSON, such as [{{"side": "width"}}]'
        raise ValueError(message)
    return tuple(found)


def _slip_lines(docstring: str) -> dict[str, str]:
    said: dict[str, str] = {}
    current = ""
    for line in docstring.splitlines():
        match = _LINE.match(line)
        if match:
            current = match[1]
            said[current] = match[2].strip()
        elif current and line.strip():
            said[current] = f"{said[current]} {line.strip()}"
        else:
            current = ""
    return said


def slips_of(entries: Mapping[str, F], quantity: str) -> Iterator[F]:
    """Yield the slips of a quantity, in the order of their files."""
    return (entry for entry in entries.values() if entry.slip is not None and quantity in entry.slip.of)


def halved_quantity(entries: Mapping[str, Function], quantity: str) -> str:
    """Return the quantity of which another is twice as much, as `Twice: macs` in its docstring says, or ""."""
    found = _TWICE.search(entries[quantity].docstring) if quantity in entries else None
    return found[1] if found and found[1] in entries else ""


def right_notes(docstring: str) -> tuple[tuple[Mapping[str, Any], str], ...]:
    """Return the conventions under which a quantity is right in any task, and what is said of each.

    Raises:
        ValueError: one is no object of JSON, or has no words; the message says what to write.
    """
    found = []
    for said in _RIGHT.findall(docstring):
        text = " ".join(said.split())
        try:
            conventions, end = json.JSONDecoder().raw_decode(text)
            found.append(({**conventions}, text[end:].strip()))
        except (ValueError, TypeError):
            conventions, end = {}, 0
        if not conventions or not text[end:].strip():
            message = f"'Also right: {text}' needs an object of JSON, such as {{\"bias\": true}}, with words behind it"
            raise ValueError(message)
    return tuple(found)


def of_expected(entry: Function, conventions: Mapping[str, Any]) -> dict[str, Any]:
    """Return a slip as a misconception's value, with the conventions that it shares with the expected quantity."""
    shared = {name: value for name, value in conventions.items() if name in entry.parameters}
    return {"quantity": entry.name, **({"with": shared} if shared else {})}


def problem(entry: Function, entries: Mapping[str, Function], kind: str) -> str:
    """Say what is wrong with a function as a slip, or with a quantity's parameters."""
    if kind == "quantity" and len(entry.takes) > 1:
        return _not_by_name(entry)
    for strange in (min(own - entry.parameters.keys(), default="") for own in (each.keys() for each, _ in entry.right)):
        if strange:
            return f"'{entry.name}' takes no '{strange}', which 'Also right' names"
    for name in entry.slip.of if entry.slip is not None else ():
        if name not in entries:
            return f"'{entry.name}' is called a slip of '{name}', which is no quantity"
        needed = {key for key, value in entry.parameters.items() if value.required}
        sure = {key for key, value in entries[name].parameters.items() if value.required}
        own = {key for variant in entry.slip.also_with for key in variant} if entry.slip is not None else set()
        if own - entry.parameters.keys():
            return f"'{entry.name}' takes no '{min(own - entry.parameters.keys())}', which 'Also with' names"
        if needed - sure:
            return f"'{entry.name}' is a slip of '{name}', so '{min(needed - sure)}' needs a default"
        if entry.takes[:1] != entries[name].takes[:1]:
            return f"'{entry.name}' is a slip of '{name}', so it is computed of the same: '{entries[name].takes[0]}'"
    return ""


def _not_by_name(entry: Function) -> str:
    """Say which parameters of a quantity can't be set by name."""
    first, *others = entry.takes
    written = f"def {entry.name}({', '.join((first, '*', *others, *entry.parameters))})"
    return f"what '{entry.name}' takes behind '{first}' is set by name: put a * before it, `{written}`"
