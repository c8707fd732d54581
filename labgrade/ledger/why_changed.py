"""Why a verdict changed: which word of the spec, which file, which library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from labgrade.judging.items import Item

_LONGEST = 60
_MOST = 6
_FAULT = "FAULT"


def difference(before: Mapping[str, Any], after: Mapping[str, Any], item: Item | None = None) -> str:
    """Describe the difference between two sets of parts, or "". `item` gives the spec's lines."""
    found = [said for name in {**before, **after} for said in _part(name, before.get(name), after.get(name), item)]
    more = f"; {len(found) - _MOST} more" if len(found) > _MOST else ""
    return "; ".join(found[:_MOST]) + more


def changed_wording(before: Any, after: Any) -> str:
    """Say what changed in a verdict whose dependencies did not."""
    if before["points"] != after["points"]:
        return f"points: {_number(before['points'])} before, {_number(after['points'])} now"
    if before["verdict"]["outcome"] == _FAULT:
        return "it had failed on our side, and was tried again"
    if _result(before) != _result(after):
        return "what it needs changed, or it was tried again"
    return "its wording changed"


def says_the_same(before: Any, after: Any) -> bool:
    """Return whether two plain checks say the same, apart from their duration and files."""
    told_of_neither = {"seconds": 0, "basis": ""}
    return {**before, **told_of_neither} == {**after, **told_of_neither}


def _result(plain: Any) -> tuple[str, str]:
    return plain["verdict"]["outcome"], plain["verdict"]["credit"]


def _part(name: str, before: Any, after: Any, item: Item | None) -> Iterator[str]:
    if before == after:
        return
    old, new = before or {}, after or {}
    changed = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    if name == "spec":
        yield from (_word_difference(key, old.get(key), new.get(key), item) for key in changed)
        return
    for key in changed:
        if name in ("libraries", "imports"):
            yield f"{key} is {_version(new.get(key))}, was {_version(old.get(key))}"
        else:
            what = "was added" if key not in old else "is gone" if key not in new else "changed"
            yield f"'{key}' {'of the submission ' if name == 'submission' else ''}{what}"


def _version(version: str | None) -> str:
    return version or "not imported"


def _word_difference(key: str, before: Any, after: Any, item: Item | None) -> str:
    """Describe a changed word of the spec, with its line today."""
    place = _line(key, item)
    old, new = _value_in_words(before), _value_in_words(after)
    values = f" from {old} to {new}" if len(old) + len(new) <= 2 * _LONGEST else ""
    return f"'{key}' in the spec{f' ({place})' if place else ''} changed{values}"


def _line(key: str, item: Item | None) -> str:
    if item is None:
        return ""
    value = getattr(item.check, key, None)
    several = value[0] if isinstance(value, tuple) and value else value
    mark = getattr(several, "mark", None) or (item.subject.mark if key == "subject" and item.subject else None)
    mark = mark or item.check.mark
    return f"{mark.file}:{mark.line}" if mark is not None else ""


def _value_in_words(value: Any) -> str:
    if isinstance(value, dict) and set(value) == {"is", "value"}:
        return _value_in_words(value["value"])
    if isinstance(value, dict) and "quantity" in value:
        given = ", ".join(f"{key}={each}" for key, each in value.get("parameters", {}).items())
        return f"{value['quantity']}({given})" if given else str(value["quantity"])
    return "nothing" if value is None else str(value)


def _number(points: str) -> str:
    over, _, under = points.partition("/")
    return f"{int(over) / int(under or 1):g}"
