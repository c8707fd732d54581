"""A subject as a few lines of Python to paste: they build what was tried, and call the student's function on it."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from labgrade.core.errors import FaultError
from labgrade.core.subject import of_call
from labgrade.core.task import CallForm, QuantityCall, TableType
from labgrade.core.text import one_line
from labgrade.diagnosis.explain import companion, layers_of
from labgrade.subjects.networks import GENERATED, JOINS, OWN, flat
from labgrade.values import Number, Table, show

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labgrade.core.task import SubjectSpec
    from labgrade.diagnosis.probe import Trials

_POSITIONAL: Mapping[str, tuple[str, ...]] = {
    "Conv2d": ("in_channels", "out_channels", "kernel_size"),
    "Linear": ("in_features", "out_features"),
    "OwnConv2d": ("in_channels", "out_channels", "kernel_size"),
    "OwnLinear": ("in_features", "out_features"),
    "MaxPool2d": ("kernel_size", "stride"),
    "AvgPool2d": ("kernel_size", "stride"),
    "BatchNorm2d": ("num_features",),
    "LayerNorm": ("normalized_shape",),
    "AdaptiveAvgPool2d": ("output_size",),
    "Attention": ("width", "heads"),
    "Products": ("width",),
    "Scaled": ("width",),
    "Tied": ("width", "classes"),
}
_FILE = "network.onnx"


def lines(subject: SubjectSpec, form: CallForm, said: str = "") -> list[str]:
    """Return the lines that build and call. `said` is a comment behind the call: the value and the right one."""
    module = form.file.rpartition("/")[2].removesuffix(".py")
    comment = f"  # {said}" if said else ""
    own, files = of_call(form, subject)
    known = {**_given(subject), **{name: repr(value) for name, value in {**own, **files}.items()}}
    call = f"{form.function}({', '.join(known.get(name, name) for name in form.given)})"
    shown = call if "save_to" in form.given else f"print({call})"
    imported = f"from {module} import {form.function}"
    if not subject.model.startswith(GENERATED):
        return [imported, *(_layers(subject, form) or [""]), shown + comment]
    program: Any = subject.options["program"]
    body = [*_classes(program), *_model(program), *_written(subject, form), shown + comment]
    needs = ["import torch"] if any("torch." in line for line in body) else []
    return [*needs, "from torch import nn", imported, "", *body]


def expression(step: Mapping[str, Any]) -> str:
    """Return one step as the expression that builds it: `nn.Conv2d(2, 2, 1, groups=2)`."""
    if "join" in step:
        return f"{_class_of(step)}({', '.join(_path(path) for path in step['paths'])})"
    if "twice" in step:
        return f"Twice({_path(step['twice'])})"
    name, values = step["layer"], step.get("with", {})
    first = [key for key in _POSITIONAL.get(name, ()) if key in values]
    written = [_literal(values[key]) for key in first]
    written += [f"{key}={_literal(value)}" for key, value in values.items() if key not in first]
    return f"{_class_of(step)}({', '.join(written)})"


def _given(subject: SubjectSpec) -> dict[str, str]:
    shape = tuple(subject.input.shape)
    widths: Any = subject.options.get("widths") or [None]
    sizes = {"m": shape[0], "k": shape[-1], "n": widths[-1]}
    return {
        "model": "model",
        "input": f"torch.randn({shape})",
        "input_size": repr(shape),
        "model_path": repr(_FILE),
        "save_to": repr("written.onnx"),
        **{name: repr(size) for name, size in sizes.items()},
    }


def _layers(subject: SubjectSpec, form: CallForm) -> list[str]:
    """Return the lines that write linear layers as an ONNX file, where the function is given a file."""
    if "model_path" not in form.given:
        return []
    widths: Any = subject.options["widths"]
    bias = "" if subject.options.get("bias", True) else ", bias=False"
    layers = [f"nn.Linear({a}, {b}{bias})" for a, b in pairwise((subject.input.shape[-1], *widths))]
    model = f"model = nn.Sequential({', nn.ReLU(), '.join(layers)}).eval()"
    return ["import torch", "from torch import nn", "", model, *_written(subject, form)]


def _classes(program: Sequence[Mapping[str, Any]]) -> list[str]:
    used = dict.fromkeys(_class_of(step) for step in flat(program))
    texts = [OWN[name].splitlines() for name in used if name in OWN]
    return list(chain.from_iterable([*text, "", ""] for text in texts))


def _class_of(step: Mapping[str, Any]) -> str:
    if "layer" not in step:
        return JOINS[step["join"]] if "join" in step else "Twice"
    name: str = step["layer"]
    return name if name in OWN else f"nn.{name}"


def _model(program: Sequence[Mapping[str, Any]]) -> list[str]:
    return ["model = nn.Sequential(", *(f"    {expression(step)}," for step in program), ").eval()"]


def _written(subject: SubjectSpec, form: CallForm) -> list[str]:
    """Return the lines that write the ONNX file, if a file is given. Parameters differ, so that none are merged."""
    if "model_path" not in form.given:
        return []
    opset = subject.options.get("opset", 17)
    shape = tuple(subject.input.shape)
    return [
        "for parameter in model.parameters():",
        "    nn.init.normal_(parameter)",
        f"torch.onnx.export(model, torch.randn({shape}), {_FILE!r}, opset_version={opset}, dynamo=False)",
    ]


def _path(steps: Sequence[Mapping[str, Any]]) -> str:
    inner = [expression(step) for step in steps]
    if not inner:
        return "nn.Identity()"
    return inner[0] if len(inner) == 1 else f"nn.Sequential({', '.join(inner)})"


def _literal(value: object) -> str:
    return repr(tuple(value)) if isinstance(value, list) else repr(value).replace("'", '"')


_MOST_ROWS = 12


def layer_lines(trials: Trials, subject: SubjectSpec) -> list[str]:
    """Return a line for each layer with both values; none if they are unknown or say no more than the total."""
    source = companion(trials.check.expected, trials.quantities)
    if source is None:
        return []
    try:
        right = {layer.name: show(Fraction(layer.value)) for layer in layers_of(trials.value_of(source, subject))}
    except FaultError:
        return []
    name, column = _table_of(trials, source)
    yours = _numbers(trials.other(name, subject), column) if name else {}
    if len(right) < 2 and not yours:  # noqa: PLR2004 - one row is the total
        return []
    rows = [(layer, right.get(layer, "none"), yours.get(layer, "none")) for layer in {**right, **yours}]
    if not yours:
        rows = [(layer, number, "") for layer, number, _ in rows]
    heads = ("layer", "right", "yours" if yours else "")
    widths = [max(len(row[place]) for row in [heads, *rows]) for place in range(3)]
    written = [
        f"# {row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}".rstrip()
        for row in [heads, *rows[:_MOST_ROWS]]
    ]
    more = len(rows) - _MOST_ROWS
    return [*written, f"# and {more} more"] if more > 0 else written


def _table_of(trials: Trials, source: QuantityCall) -> tuple[str, str]:
    """Return the answer of the task that has this quantity by layer, if a function gives it, and its number column."""
    for check in trials.task.checks:
        expected, answer = check.expected, trials.task.answers[check.answer]
        if (
            isinstance(expected, QuantityCall)
            and expected.quantity == source.quantity
            and isinstance(answer.type, TableType)
            and len(answer.type.columns) == 1
            and any(isinstance(form, CallForm) for form in answer.forms)
        ):
            return answer.name, next(iter(answer.type.columns))
    return "", ""


def _numbers(table: object, column: str) -> dict[str, str]:
    if not isinstance(table, Table):
        return {}
    cells = {row.name: row.cells.get(column) for row in table.rows}
    return {one_line(name): show(cell.value) for name, cell in cells.items() if isinstance(cell, Number)}
