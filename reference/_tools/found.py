"""Numbers that tools print, with one sentence for each, whichever tools print it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .sentences import Difference, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

_PARAMETERS = "parameters"
_MOST = 2  # reasons that are given of one number
_SCALED = ("twice", "half")
_BYTES = " bytes"
_OTHER_UNIT = Fraction(4, 5)  # what is left of the credit of a number that is in another unit besides


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A number that a tool prints. `how`: in what unit, or `twice`, `half`; `note`: of how much of the batch it is."""

    tool: str
    how: str
    value: int | float
    differs: Difference
    note: str = ""


def numbers(found: Sequence[Found], asked: str) -> list[dict[str, Any]]:
    """Each number once, with what is said of it."""
    by_value: dict[int | float, list[Found]] = {}
    for each in found:
        by_value.setdefault(each.value, []).append(each)
    return [_of_value(value, some, asked) for value, some in by_value.items()]


def _of_value(value: float, found: Sequence[Found], asked: str) -> dict[str, Any]:
    plain = [each for each in found if each.how not in _SCALED] or found
    if not value:  # in whatever unit
        plain = [replace(each, how="") for each in plain]
    groups: dict[tuple[str, str, str], list[Found]] = {}
    for each in plain:
        groups.setdefault((each.how, each.note, each.differs.says(many=True, amounts=True)), []).append(each)
    ordered = _each_once(sorted(groups.values(), key=len, reverse=True))
    return {
        "value": value,
        "tools": list(dict.fromkeys(each.tool for each in plain)),
        "says": _sentence(ordered, asked, amounts=False),
        "amounts": _sentence(ordered, asked, amounts=True),
        "share": float(
            min(
                each.differs.share * (_OTHER_UNIT if each.how and not each.how.endswith(_BYTES) else 1)
                for each in plain
            )
        ),
    }


def _each_once(groups: Sequence[list[Found]]) -> list[list[Found]]:
    """The groups without tools that an earlier one names: it may give one number in two ways."""
    told: set[str] = set()
    left = []
    for group in groups:
        new = [each for each in group if each.tool not in told]
        told |= {each.tool for each in new}
        left += [new] if new else []
    return left


def _sentence(groups: Sequence[Sequence[Found]], asked: str, *, amounts: bool) -> str:
    said = [_of_group(group, amounts=amounts, first=at == 0) for at, group in enumerate(groups[:_MOST])]
    told = {each.tool for group in groups[:_MOST] for each in group}
    others = list(dict.fromkeys(each.tool for group in groups[_MOST:] for each in group if each.tool not in told))
    if others:
        said.append(f"{_capital(listed(others))} {'give' if len(others) > 1 else 'gives'} it, too, for other reasons.")
    remedy = groups[0][0].differs.remedy if asked != _PARAMETERS else _WHOLE
    return " ".join([*said, remedy]).strip()


_WHOLE = "Add up numel() over parameters(), which has each parameter once."


def _of_group(group: Sequence[Found], *, amounts: bool, first: bool) -> str:
    tools, one = list(dict.fromkeys(each.tool for each in group)), group[0]
    many = len(tools) > 1
    verb = "give" if many else "gives"
    if not one.differs:
        return f"These are MACs, of which each is two FLOPs: double the number. {_capital(listed(tools))} {verb} them."
    if one.how.endswith(_BYTES):  # few print bytes themselves
        head = f"This is {one.how} for each parameter that {listed(tools)} {'count' if many else 'counts'}."
    elif one.how in _SCALED:
        head = f"This is {one.how} {'of ' if one.how == 'half' else ''}what {listed(tools)} {verb}."
    elif one.how:
        how = one.how.replace("and counts", "and count") if many else one.how
        head = f"{_capital(listed(tools))} {verb} this number {how}."
    else:
        names = listed(tools)
        head = f"{_capital(names)} {verb} this number." if first else f"So {'do' if many else 'does'} {names}."
    note = f" {one.note}" if one.note else ""
    parts = f" {one.differs.says(many=many, amounts=amounts)}" if one.differs else ""
    return head + note + parts


def _capital(text: str) -> str:
    """A sentence of our own words begins with a capital; names of tools are as they are."""
    return text[0].upper() + text[1:] if text.startswith("a ") else text
