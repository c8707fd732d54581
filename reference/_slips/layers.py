"""Slips in the table of all layers: which have a row, and how many parameters it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .compose import Library, Slip
from .tables import SHAPE, SHAPES, Rows, to_depth

if TYPE_CHECKING:
    from collections.abc import Callable


def _counted(of: str, change: Callable[[dict[str, Any]], int], says: str) -> Slip:
    """Another number of parameters in each row."""

    def changed(rows: Rows) -> Rows:
        return [row | {"parameters": change(row), "also_right": {}} for row in rows]

    return Slip(of=of, change=changed, says=says)


def _last_of_type(rows: Rows) -> Rows:
    last = {row["module"]: row["layer"] for row in rows if not row["inside"]}
    return [row for row in rows if row["inside"] or last[row["module"]] == row["layer"]]


def _shapes_by_type(rows: Rows) -> Rows:
    last = {row["module"]: row[SHAPE] for row in rows}
    return [row | {SHAPE: last[row["module"]]} if row[SHAPE] else row for row in rows]


def _from_one(rows: Rows) -> Rows:
    names = (row["layer"].partition("#") for row in rows)
    return [
        row | {"layer": f"{name}#{int(run) - 1}", "also_named": []} if run else row
        for row, (name, _, run) in zip(rows, names, strict=True)
    ]


LAYERS: Library = {
    **SHAPES,
    "last_of_type": Slip(
        of="types",
        change=_last_of_type,
        says="There is one row for each type of layer, that of its last one. List every layer: a dict keyed by the "
        "type keeps only one.",
    ),
    "shapes_by_type": Slip(
        of="shape",
        change=_shapes_by_type,
        says="All layers of one type show the shape of the last of them: a dict keyed by the type keeps only one. Key "
        "it by the layer's whole name.",
    ),
    "runs_alike": Slip(
        of="names",
        change=lambda rows: [row | {"layer": row["layer"].partition("#")[0]} for row in rows],
        says="Each run of a module bears the same name. The first is called name, the second name#2, the third name#3.",
    ),
    "runs_from_one": Slip(
        of="names",
        change=_from_one,
        says="The second run of a module is called name#1. The first is called name, the second name#2.",
    ),
    **{
        f"depth_{most}": Slip(
            of="rows",
            change=to_depth(most),
            says=f"The table ends at depth {most}; what lies deeper is missing. torchinfo has `depth=`: set it higher.",
        )
        for most in (1, 2, 3)
    },
    "without_parameters": Slip(
        of="rows",
        change=lambda rows: [row for row in rows if row["parameters"] or row["inside"]],
        says="Layers without parameters are left out, such as pools, activations and dropout. They have an output, "
        "too: list every layer.",
    ),
    "tensors": _counted(
        "parameters",
        lambda row: row["tensors"],
        "The number of a layer's parameter tensors is given, not that of their elements. Add up p.numel().",
    ),
    "norms": _counted(
        "parameters",
        lambda row: 0 if row["norm"] else row["parameters"],
        "Batch and layer norm have 0 parameters here. Their weights and biases are parameters, too.",
    ),
    "trainable": _counted(
        "frozen",
        lambda row: row["parameters"] - row["frozen"],
        "Only parameters that require a gradient are counted, where the task asks for all.",
    ),
    "groups": _counted(
        "groups",
        lambda row: row["parameters"] + row["groups"],
        "Groups are ignored in the number of parameters. A grouped convolution has in_channels / groups x "
        "out_channels kernels: add up p.numel() over module.parameters().",
    ),
    "assumed_biases": _counted(
        "assumed biases",
        lambda row: row["parameters"] + row["assumed"],
        "A bias is counted for layers that have none (bias=False). Look whether layer.bias is None.",
    ),
    "assumed_conv_biases": _counted(
        "assumed biases",
        lambda row: row["parameters"] + row["assumed"] * row["convolution"],
        "A bias is counted for convolutions that have none (bias=False). Look whether layer.bias is None.",
    ),
    "no_parameters": _counted(
        "parameters",
        lambda _: 0,
        "Each row says 0 parameters. Add up p.numel() over the module's parameters().",
    ),
    "biases": _counted(
        "biases",
        lambda row: row["parameters"] - row["biases"],
        "Biases are left out of the rows. They are parameters, too: sum over module.parameters().",
    ),
    "buffers": _counted(
        "buffers",
        lambda row: row["parameters"] + row["buffers"],
        "Buffers are counted in the rows: the running statistics of batch norm are state, not parameters.",
    ),
}
