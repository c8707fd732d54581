"""`labgrade compute`: any quantity of any subject, under one convention or all of them side by side."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade.commands.course import add_for, variant_owner
from labgrade.core.did_you_mean import did_you_mean
from labgrade.core.errors import UsageError
from labgrade.core.subject import CONFIG, InputSpec, QuantityCall, SubjectSpec
from labgrade.spec import course
from labgrade.truth.conventions import compared, say_why_nothing, short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from labgrade.spec.course import Course
    from labgrade.spec.registry import Entry

_TOKENS = "tokens"  # needs the number of them
_SAID = "inputs"  # the parameter of a quantity of files that takes what is said of their inputs
_NOT_SHOWN = ("also_named", "also_right", "optional")
DIFFERS = "*"
_COMPUTED_OF = {
    "subject": "a model, such as torchvision/resnet18",
    "artifact": "a file, such as torchvision/resnet18.onnx, or what --file names",
    "config": "a config, such as --config layers=12 heads=8",
}


def add_compute(parser: argparse.ArgumentParser) -> None:
    """The arguments of `compute`."""
    parser.add_argument("quantity")
    what = parser.add_mutually_exclusive_group(required=True)
    said = "such as torchvision/resnet18, or torchvision/resnet18.onnx"
    what.add_argument("--model", metavar="NAME", help=said)
    what.add_argument("by_name", nargs="?", metavar="NAME", help="the same as --model NAME")
    what.add_argument(
        "--file", type=Path, metavar="FILE", help="a file that a quantity is computed of: an ONNX file, weights as .pth"
    )
    what.add_argument(
        "--config", nargs="+", metavar="KEY=VALUE", help="plain data in place of a model, such as layers=12 heads=8"
    )
    what.add_argument("--task", metavar="TASK", help="the subject of a task, such as 2-1-4-macs")
    add_for(parser)
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="SHAPE",
        help="such as 1,3,224,224 (the default), or 2x8:tokens=100, :ones; once for each input of the network. Of an "
        "ONNX --file also by name, image=1,3,64,64, or the value of a small input: sr=16000, sizes=[3,4]",
    )
    parser.add_argument(
        "--option", action="append", default=[], metavar="KEY=VALUE", help="of the model, such as num_classes=10"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="a convention, such as bias=true"
    )
    parser.add_argument("--all-conventions", action="store_true", help="every choice of conventions, side by side")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print JSON")
    shape.add_argument("--csv", action="store_true", help="print CSV")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print one value, a table, JSON or CSV."""
    options.model = options.model or options.by_name
    found = course.find(Path.cwd())
    entry = found.quantity(options.quantity)
    chosen = conventions_of(options.set, entry)
    if not options.all_conventions and (lacking := _missing_parameters(entry, chosen)):
        message = f"'{entry.name}' needs {', '.join(f'--set {key}=...' for key in lacking)}"
        raise UsageError(message)
    subject = _subject(options, found)
    kind = "config" if subject.is_config else "artifact" if subject.is_onnx else "subject"
    if entry.takes[:1] != (kind,):
        what = _COMPUTED_OF.get("".join(entry.takes[:1]), "nothing that labgrade knows: see docs/write-a-quantity.md")
        message = f"'{options.quantity}' is computed of {what}; '{subject.short_name}' is none"
        raise UsageError(message)
    if options.file is not None and options.input and _SAID in entry.parameters:
        chosen[_SAID] = [_without_fill(each) for each in options.input]
    with _value_source(found, entry, subject) as ask:

        def compute(parameters: dict[str, Any]) -> object:
            return _tensors_as_shapes(ask(parameters))

        if options.all_conventions:
            _side_by_side(compared(entry, chosen, compute), entry.name, options)
        else:
            value = compute(chosen)
            _print(value, entry.name, options)
            say_why_nothing(value, entry, chosen, compute)
    return 0


def _missing_parameters(entry: Entry, chosen: dict[str, Any]) -> list[str]:
    return [key for key, each in entry.parameters.items() if each.required and key not in chosen]


def _print(value: object, name: str, options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps(value, ensure_ascii=False))  # noqa: T201
    elif options.csv:
        sys.stdout.write(_csv(_rows(value, name)))
    else:
        _show(value, name)


def _side_by_side(rows: list[dict[str, Any]], name: str, options: argparse.Namespace) -> None:
    """Print values under several conventions; mark those that differ from the default's."""
    if options.json or options.csv:
        _print(rows, name, options)
        return
    _show([{**row, name: short(row[name]), "differs": DIFFERS * row["differs"]} for row in rows], name)


# ---- what is computed ------------------------------------------------------------------------------------------


def _subject(options: argparse.Namespace, found: Course) -> SubjectSpec:
    if options.task is not None:
        return _subject_of_task(options, found)
    if options.model is not None and options.model not in found.model_names:
        message = f"there is no model '{options.model}'{did_you_mean(options.model, found.model_names)}"
        raise UsageError(message)
    if options.file is not None and not options.file.is_file():
        message = f"there is no file '{options.file}'"
        raise UsageError(message)
    if options.config is not None:
        return SubjectSpec(model=CONFIG, options=pairs(options.config, "--config"), input=InputSpec(shape=()))
    own = options.file is not None and any("=" in each for each in options.input)  # what only the file can judge
    first, *further = map(_input_of, (not own and options.input) or ["1,3,224,224"])
    return SubjectSpec(
        model=options.model or "",
        code=found.code_of(options.model) if options.model else {},
        file=str(options.file.absolute()) if options.file is not None else "",
        options=pairs(options.option),
        input=first,
        further=tuple(further),
    )


def _without_fill(text: str) -> str:
    """Return a typed input without its fill, since a file is run on shapes alone."""
    from labgrade.subjects import models

    shape, _, fill = text.rpartition(":")
    return shape if fill in models.FILLS or fill.startswith(f"{_TOKENS}=") else text


def _input_of(text: str) -> InputSpec:
    """Parse an input as it is typed: `2,8`, `2x8:ones`, `2x8:tokens=100`."""
    shape, _, fill = text.partition(":")
    kind, _, below = fill.partition("=")
    if kind == _TOKENS and below.isdecimal() and int(below):
        return InputSpec(shape=shape_of(shape), fill=kind, dtype="int64", below=int(below))
    if fill:
        from labgrade.subjects import models

        plain = [each for each in models.FILLS if each != _TOKENS]
        if fill not in plain:
            message = f"'{fill}' fills no input: {', '.join(plain)} or tokens=100, whole numbers below 100"
            raise UsageError(message)
    return InputSpec(shape=shape_of(shape), fill=fill or "normal")


def _subject_of_task(options: argparse.Namespace, found: Course) -> SubjectSpec:
    from labgrade.judging.variants import variant_of
    from labgrade.spec import load

    task = load.read(load.task_file(found, options.task), found)
    about = variant_of(task, variant_owner(options, found), found.key).subject
    if about is None or about.handed_in:
        message = f"'{options.task}' has no subject of labgrade's"
        raise UsageError(message)
    if about.is_config and (options.input or options.option):
        message = f"'{options.task}' is about a config, which has no --input and no --option"
        raise UsageError(message)
    options_of = {**about.options, **pairs(options.option)}
    if not options.input:
        return replace(about, options=options_of)
    first, *further = options.input
    given = _input_of(first) if ":" in first else replace(about.input, shape=shape_of(first))
    behind = tuple(map(_input_of, further)) or about.further
    return replace(about, input=given, further=behind, options=options_of)


def pairs(settings: list[str], flag: str = "--option") -> dict[str, Any]:
    """Parse a list of KEY=VALUE settings; each value is YAML.

    Raises:
        UsageError: one has no value.
    """
    if not settings:
        return {}
    from labgrade.files import yaml

    return {key: yaml.load(text, flag).data for key, text in (_pair(each, flag) for each in settings)}


def _pair(setting: str, flag: str) -> tuple[str, str]:
    key, equals, text = setting.partition("=")
    if not equals:
        message = f"{flag} takes KEY=VALUE, not '{setting}'"
        raise UsageError(message)
    return key, text


@contextlib.contextmanager
def _value_source(found: Course, entry: Entry, subject: SubjectSpec) -> Iterator[Callable[[dict[str, Any]], object]]:
    """Yield a function that computes the quantity under given conventions, of a model or of a file."""

    def call(parameters: dict[str, Any]) -> QuantityCall:
        return QuantityCall(quantity=entry.name, parameters=parameters)

    if not subject.file:
        from labgrade.spec.registry import Registry
        from labgrade.truth.named import FORWARD, value_of
        from labgrade.truth.oracle import Oracle

        needed = {each: found.quantity(each) for each in (entry.name, FORWARD.quantity)}
        with Oracle(Registry(kind="quantity", entries=needed)) as oracle:
            yield lambda own: value_of(oracle.value, call(own), subject)
        return
    from labgrade.sandbox.runner import Runner
    from labgrade.truth.one_file import measured
    from labgrade.truth.parameters import parameters_of

    with Runner() as runner:
        yield lambda own: measured(runner, entry, Path(subject.file), parameters_of(call(own), entry, subject))


def conventions_of(settings: list[str], entry: Entry) -> dict[str, Any]:
    """The conventions that `--set KEY=VALUE` chooses.

    Raises:
        UsageError: the quantity takes none of that name, or no such value.
    """
    chosen: dict[str, Any] = {}
    if not settings:
        return chosen
    from labgrade.files import validate, yaml

    for setting in settings:
        key, text = _pair(setting, "--set")
        if key not in entry.parameters:
            known = ", ".join(entry.parameters) or "none at all"
            message = f"'{entry.name}' takes no '{key}'{did_you_mean(key, entry.parameters) or f'; it takes {known}'}"
            raise UsageError(message)
        loaded = yaml.load(text, "--set")
        found = validate.findings({"title": f"'{key}'", **entry.parameters[key].schema}, loaded)
        if found:
            raise UsageError(found[0].message)
        chosen[key] = loaded.data
    return chosen


def shape_of(text: str) -> tuple[int, ...]:
    """Parse an input shape: `1,3,224,224` or `1x3x224x224`.

    Raises:
        UsageError: it is none.
    """
    try:
        shape = tuple(int(part) for part in text.replace("x", ",").split(","))
    except ValueError:
        shape = ()
    if not shape or min(shape) < 1:
        message = f"an input shape is whole numbers such as 1,3,224,224, not '{text}'"
        raise UsageError(message)
    return shape


def _tensors_as_shapes(value: object) -> object:
    """Replace tensors by their shapes: nobody reads a million values."""
    if isinstance(value, dict):
        return {key: _tensors_as_shapes(item) for key, item in value.items()}
    shape = getattr(value, "shape", None)
    return value if shape is None else {"shape": list(shape), "dtype": str(getattr(value, "dtype", ""))}


# ---- tables ----------------------------------------------------------------------------------------------------


def _rows(value: Any, title: str) -> list[dict[str, Any]]:
    """Return a value as rows: a table's rows, a row for each name, or a single row."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [{key: item for key, item in row.items() if key not in _NOT_SHOWN} for row in value]
    if isinstance(value, dict):
        return [{"": key, title: item} for key, item in value.items()]
    return [{title: value}]


def _csv(rows: list[dict[str, Any]]) -> str:
    import csv

    written = io.StringIO()
    keys = dict.fromkeys(key for row in rows for key in row)
    writer = csv.DictWriter(written, list(keys), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _csv_cell(item) for key, item in row.items()} for row in rows)
    return written.getvalue()


def _csv_cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _show(value: Any, title: str) -> None:
    if isinstance(value, int | float):
        print(_cell(value))  # noqa: T201
        return
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    rows = _rows(value, title)
    if len(rows) == 1 and list(rows[0]) == [title] and not isinstance(value, dict):
        console.print(_cell(value), markup=False)
        return
    table = Table(box=None, pad_edge=False)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    for column in columns:
        numeric = isinstance(rows[0].get(column), int | float) and not isinstance(rows[0].get(column), bool)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row.get(column, "")) for column in columns))
    console.print(table)


def _cell(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        if isinstance(value, int):
            return f"{value:,}"
        from labgrade.values import show

        return show(value)
    return json.dumps(value) if isinstance(value, list | dict) else str(value)
