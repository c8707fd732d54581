"""What a check means, as plain data: all of a spec that can change a verdict, and nothing that only people read.

Left out are titles, statements, every `says` and `for`, points, and who may see it: these are put in when a verdict is
read. What a check needs is left out, too, because it is looked at anew each time.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade.ledger import sources
from labgrade.model import Alternative, Check, Partly, QuantityCall, SubjectSpec
from labgrade.onnx_files import beside

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labgrade.forms import AnswerSpec
    from labgrade.items import Item
    from labgrade.model import Task

_FOR_PEOPLE: dict[type, set[str]] = {
    Check: {"id", "points", "hidden", "bonus", "needs", "cases", "by_hand", "reveal"},
    Alternative: {"says"},
    Partly: {"says"},
    QuantityCall: {"published"},
}


def meaning(task: Task, item: Item) -> dict[str, Any]:
    """What the spec says of an item, by the words of the language."""
    found = _fields(item.check)
    wanted, *others = answers_read(task, item)
    if others:
        found["answers beside"] = {each.name: [_plain(each.type), _plain(each.forms)] for each in others}
    return {
        **found,
        "answer": wanted.name,
        "type": _plain(wanted.type),
        "from": _plain(wanted.forms),
        "subject": _plain(item.subject),
        "limits": _plain(task.limits),
        "cases": bool(item.check.cases),
        "by_hand": bool(item.check.by_hand),
    }


def answers_read(task: Task, item: Item) -> list[AnswerSpec]:
    """The answer that is judged, then those that whoever marks it is shown beside it."""
    return [task.answers[name] for name in (item.check.answer, *(row.answer for row in item.check.beside))]


def _fields(thing: Any) -> dict[str, Any]:
    left_out = _FOR_PEOPLE.get(type(thing), set()) | {"mark"}
    return {field.name: _plain(getattr(thing, field.name)) for field in fields(thing) if field.name not in left_out}


def _plain(thing: Any) -> Any:
    match thing:
        case None | bool() | int() | float() | str():
            return thing
        case Fraction():
            return str(thing)
        case Path():
            return {"file": thing.name, "content": sources.digest(thing)}
        case list() | tuple():
            return [_plain(each) for each in thing]
        case SubjectSpec() if thing.file:
            return {**_fields(thing), "file": _onnx(Path(thing.file))}
        case _ if is_dataclass(thing):
            return {"is": type(thing).__name__, **_fields(thing)}
    return _mapping(thing)


def _mapping(thing: Mapping[str, Any]) -> dict[str, Any]:
    return {str(key): _plain(value) for key, value in thing.items()}


def _onnx(path: Path) -> dict[str, str]:
    """A file and its external data, by content: where it lies means nothing."""
    if not path.is_file():
        return {path.name: "unreadable"}
    return {each.name: sources.digest(each) for each in (path, *beside(path).values())}
