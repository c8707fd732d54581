"""What `labgrade new` writes for people: title, statement, and the text of the spec, laid out to be gone on with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labgrade import spec_text
from labgrade.answers import obtain
from labgrade.model import CONFIG
from labgrade.spec_forms import form

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from labgrade.registry import Entry

_FIRST_LINE = "# yaml-language-server: $schema=../task.schema.json\n"


def text(data: Mapping[str, Any]) -> str:
    """The spec's text; a check has a line a key, since it is there that its author goes on."""
    checks = "".join(_item(check) for check in data["checks"])
    before = spec_text.dump({key: value for key, value in data.items() if key != "checks"})
    return f"{_FIRST_LINE}{before}checks:\n{checks}"


def title(entry: Entry, subject: Mapping[str, Any]) -> str:
    """What is asked, of what: `Weight bytes of resnet18`."""
    words = entry.name.replace("_", " ")
    name = str(subject["model"]).rpartition("/")[2] if "model" in subject else subject[CONFIG].get("name", "")
    return f"{words[0].upper()}{words[1:]}{f' of {name}' if name else ''}"


def statement(entry: Entry, subject: Mapping[str, Any], forms: list[dict[str, Any]], path: Path) -> str:
    """What the quantity says of itself, of what it is asked, and how it may be handed in."""
    *places, last = obtain.places(tuple(form(each, path) for each in forms))
    told = entry.description.rstrip(".") or entry.name
    return f"{told}.\nAbout {_of(subject)}.\nHand in {', '.join(places)}{' or ' if places else ''}{last}.\n"


def checker(kind: Any, tolerance: float | None) -> Any:
    """How a value of a type is judged: as printed, to a number of digits (1 or more), or within a share."""
    word = kind if isinstance(kind, str) else next(iter(kind))
    if word == "table_of":
        return {"close": {"rtol": tolerance}} if tolerance else "close"
    if word == "table":
        return "same_rows"
    if tolerance is None or word not in ("count", "bytes", "number"):
        return "equal"
    return {"equal": {"digits": tolerance}} if tolerance >= 1 else {"close": {"rtol": tolerance}}


def form_of(form: str, task: str, quantity: str, about: str) -> dict[str, Any]:
    """A way of handing in, `call`, `entry`, `report` or `file`, as a spec has it."""
    words = quantity.replace("_", " ").capitalize()
    match form:
        case "call":
            given = {"artifact": ["model_path"], CONFIG: [CONFIG]}.get(about, ["model", "input_size"])
            return {"call": f"hw.py:{quantity}", "given": given}
        case "entry":
            return {"entry": f"{task}.value"}
        case "report":
            return {"after": words, "report": f"under {task}"}
    return {"after": words, "file": f"{task}-output.txt"}


def _item(check: Mapping[str, Any]) -> str:
    first, *others = spec_text.dump(dict(check)).splitlines()
    return "".join(f"{line}\n" for line in (f"  - {first}", *(f"    {line}" for line in others)))


def _of(subject: Mapping[str, Any]) -> str:
    if CONFIG in subject:
        return "a config with " + ", ".join(f"{key} {value}" for key, value in subject[CONFIG].items())
    return f"{subject['model']}, with an input of {'x'.join(map(str, subject['input']))}"
