"""Slips in listing the nodes of an ONNX file: which are counted, and what stands in the rows of their attributes."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .compose import Library, Slip, also, times, without

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .compose import Factors, Part

Row = dict[str, Any]
NESTED, ELSE, STORED, INSIDE = "nested", "nested in an else branch", "stored", "inside of a function"
_NODES = ("", NESTED, ELSE)
_SIZES = ("channel", "height", "width")
_NO_ATTRIBUTES = frozenset({*_SIZES, "node", "operator", "also_named", "also_right", "floats", "out", "batch"})
_USUAL = frozenset({"kernel_shape", "strides", "pads", "dilations", "group"})


def _rows(change: Callable[[Row], Row]) -> Callable[[list[Row]], list[Row]]:
    return lambda rows: [change(dict(row)) for row in rows]


def _swapped(one: str, other: str) -> Callable[[Row], Row]:
    def change(row: Row) -> Row:
        first, second = row.pop(one, None), row.pop(other, None)
        return row | ({one: second} if second is not None else {}) | ({other: first} if first is not None else {})

    return change


def _only(name: str, change: Callable[[Any], Any]) -> Callable[[Row], Row]:
    return lambda row: row | {name: change(row[name])} if name in row else row


def _left_out(*names: str) -> Callable[[Row], Row]:
    return lambda row: {key: value for key, value in row.items() if key not in names}


def _if(kept: Callable[[str, Any], bool]) -> Callable[[Row], Row]:
    """Keep the attributes that pass, and what is no attribute."""
    return lambda row: {key: value for key, value in row.items() if key in _NO_ATTRIBUTES or kept(key, value)}


def _rotated(row: Row) -> Row:
    return (
        row | dict(zip(("height", "width", "channel"), (row[key] for key in _SIZES), strict=True)) if _has(row) else row
    )


def _shifted(row: Row) -> Row:
    sizes = (row.get("batch", 1), *(row[key] for key in _SIZES[:2])) if _has(row) else ()
    return row | dict(zip(_SIZES, sizes, strict=False))


def _of_weight(row: Row) -> Row:
    return row | {"channel": row["channel"] // row.get("group", 1)} if _has(row) and row["operator"] == "Conv" else row


def _first_of_lists(row: Row) -> Row:
    lists = {key for key, value in row.items() if key not in _NO_ATTRIBUTES and isinstance(value, list)}
    return row | {key: row[key][:1] for key in lists}


def _shape_of_weight(row: Row) -> Row:
    sizes = row.get("kernel_shape", ()) if row["operator"] == "Conv" and _has(row) else ()
    return _of_weight(row) | dict(zip(_SIZES[1:], sizes, strict=False))


def _both(row: Row) -> bool:
    return _has(row) and _has(row.get("out") or {})


def _has(row: Row) -> bool:
    return all(key in row for key in _SIZES)


def _last_of_type(rows: list[Row]) -> list[Row]:
    last = {row["operator"]: row["node"] for row in rows}
    return [row for row in rows if last[row["operator"]] == row["node"]]


def _floats(row: Row) -> Row:
    floats = row.get("floats", ())
    return row | dict.fromkeys(floats, 0)


def _whole(row: Row) -> Row:
    return row | {name: int(row[name]) for name in row.get("floats", ()) if isinstance(row.get(name), float)}


def _without_part(parts: Sequence[Part], at: int) -> Factors:
    places = [place for place, part in enumerate(parts) if part.counted]
    if not places:
        message = "there is nothing to leave out"
        raise ValueError(message)
    return [int(place != places[at]) for place in range(len(parts))]


def in_else_branches(graph: Any) -> Iterator[Any]:
    """The nodes in the branches that an If takes where its condition is false, and in the graphs of these."""
    for node in graph.node:
        for attribute in node.attribute:
            for each in _graphs(attribute):
                yield from _all_nodes(each) if attribute.name == "else_branch" else in_else_branches(each)


def _all_nodes(graph: Any) -> Iterator[Any]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for each in _graphs(attribute):
                yield from _all_nodes(each)


def _graphs(attribute: Any) -> list[Any]:
    return [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]


ATTRIBUTES: Library = {
    "floats": Slip(
        of="floats",
        change=_rows(_floats),
        says="Float attributes are left out, or 0. Read the field that the attribute's type names: f for FLOAT, i for "
        "INT, ints for INTS; onnx.helper.get_attribute_value does so.",
    ),
    "whole_floats": Slip(
        of="floats",
        change=_rows(_whole),
        says="Float attributes are cut to whole numbers. Give them as they are: alpha of LeakyRelu is 0.01.",
    ),
    "strides_for_dilations": Slip(
        of="strides",
        change=_rows(lambda row: row | {"dilations": row["strides"]} if {"strides", "dilations"} <= set(row) else row),
        says="dilations bear the value of strides. Find each attribute by its name.",
    ),
    "strides_dilations": Slip(
        of="strides",
        change=_rows(_swapped("strides", "dilations")),
        says="strides and dilations are swapped. Find each attribute by its name: their order is not fixed.",
    ),
    "strides_kernel": Slip(
        of="strides",
        change=_rows(_swapped("strides", "kernel_shape")),
        says="strides and kernel_shape are swapped. Find each attribute by its name: their order is not fixed.",
    ),
    "two_pads": Slip(
        of="pads",
        change=_rows(_only("pads", lambda pads: pads[: len(pads) // 2])),
        says="Only the first half of pads is listed. There are four for an image: top, left, bottom, right.",
    ),
    "one_pad": Slip(
        of="pads",
        change=_rows(_only("pads", lambda pads: pads[:1])),
        says="Only the first of the pads is listed. There are four for an image: top, left, bottom, right.",
    ),
    "one_stride": Slip(
        of="strides",
        change=_rows(_only("strides", lambda strides: strides[:1])),
        says="Only the first of the strides is listed. There is one for each dimension.",
    ),
    "first_of_lists": Slip(
        of="attributes",
        change=_rows(_first_of_lists),
        says="Of each list (kernel_shape, strides, pads) only the first number is given. Give the whole list.",
    ),
    "one_kernel": Slip(
        of="kernel",
        change=_rows(_only("kernel_shape", lambda kernel: kernel[:1])),
        says="Only the first number of kernel_shape is listed. A kernel has a height and a width.",
    ),
    "group_one": Slip(
        of="group",
        change=_rows(_only("group", lambda _: 1)),
        says="group is 1 in each row. Read the attribute: a depthwise convolution has as many groups as channels.",
    ),
    "sizes": Slip(
        of="sizes",
        change=_rows(_left_out(*_SIZES)),
        says="Channel, height and width are missing. They are no attributes: they come from the shape of the tensor "
        "that the node reads, which shape inference finds.",
    ),
    "channels_last": Slip(
        of="sizes",
        change=_rows(_rotated),
        says="The shape is read as batch, height, width, channel. ONNX has batch, channel, height, width.",
    ),
    "shifted": Slip(
        of="sizes",
        change=_rows(_shifted),
        says="The shape is read from its beginning, where the batch stands: channel is shape[1], height shape[2], "
        "width shape[3].",
    ),
    "out_channel": Slip(
        of="sizes",
        change=_rows(lambda row: row | {"channel": row["out"]["channel"]} if row.get("out") and _has(row) else row),
        says="The channel is that of the tensor that comes out. The task asks for the tensor that comes in.",
    ),
    "out_sizes": Slip(
        of="sizes",
        change=_rows(lambda row: row | {name: row["out"][name] for name in _SIZES[1:]} if _both(row) else row),
        says="Height and width are those of the tensor that comes out. The task asks for the tensor that comes in.",
    ),
    "out_shape": Slip(
        of="sizes",
        change=_rows(lambda row: row | {name: row["out"][name] for name in _SIZES} if _both(row) else row),
        says="Channel, height and width are those of the tensor that comes out. The task asks for the tensor that "
        "comes in: node.input[0].",
    ),
    "weight_shape": Slip(
        of="sizes",
        change=_rows(_shape_of_weight),
        says="Channel, height and width of convolutions are those of the weight (node.input[1]). The task asks for the "
        "tensor that comes in: node.input[0].",
    ),
    "sizes_of_convolutions_alone": Slip(
        of="sizes",
        change=_rows(lambda row: row if row["operator"] == "Conv" else _left_out(*_SIZES)(row)),
        says="Only convolutions have channel, height and width. Every node that reads an image has them.",
    ),
    "weight_channel": Slip(
        of="sizes",
        change=_rows(_of_weight),
        says="The channel is taken from the weight, which has in_channels / group of them. The task asks for the "
        "tensor that comes in.",
    ),
    "lists_alone": Slip(
        of="attributes",
        change=_rows(_if(lambda _, value: isinstance(value, list))),
        says="Only attributes that are lists are given. Those of one number or a text (group, axis, alpha) belong "
        "there, too: onnx.helper.get_attribute_value reads each type.",
    ),
    "usual_alone": Slip(
        of="attributes",
        change=_rows(_if(lambda key, _: key in _USUAL)),
        says="Only kernel_shape, strides, pads, dilations and group are given. Go through all of node.attribute: other "
        "operators have others.",
    ),
    "with_attributes_alone": Slip(
        of="rows",
        change=lambda rows: [row for row in rows if set(row) - _NO_ATTRIBUTES],
        says="Nodes without attributes are missing. They have a channel, height and width, too: list every node.",
    ),
    "convolutions_alone": Slip(
        of="rows",
        change=lambda rows: [row for row in rows if row["operator"] == "Conv"],
        says="Only Conv nodes are listed. The task asks for every node.",
    ),
    "last_of_type": Slip(
        of="rows",
        change=_last_of_type,
        says="There is one row for each operator type, that of its last node. List every node: a dict keyed by the "
        "type keeps only one.",
    ),
    "height_width": Slip(
        of="sizes",
        change=_rows(_swapped("height", "width")),
        says="Height and width are swapped. A tensor's dimensions are batch, channel, height, width.",
    ),
    **{
        f"no_{name}": Slip(
            of=name,
            change=_rows(_left_out(name)),
            says=f"The attribute {name} is left out. List all that a node has.",
        )
        for name in ("pads", "strides", "dilations", "group", "kernel_shape")
    },
}


def _is(kind: str) -> Callable[[Any], bool]:
    return lambda node: bool(node.op_type == kind)


_ONE_LESS = (
    "This is one less: a loop leaves out the first or the last node, or the tensors of value_info are counted, where "
    "the model's output is missing. Count all of graph.node."
)
COUNTS: Library = {
    "types": Slip(
        of="factor",
        change=lambda parts: [Fraction(1, [each.row for each in parts].count(part.row)) for part in parts],
        says="Each operator type counts once, however many nodes it has. Count nodes.",
    ),
    "constants": Slip(
        of="left out",
        change=without(lambda node: node.op_type == "Constant", _NODES),
        says="Constant nodes are left out. They are nodes of the file, too.",
    ),
    "identities": Slip(
        of="left out",
        change=without(lambda node: node.op_type in ("Constant", "Identity"), _NODES),
        says="Constant and Identity nodes are left out. They are nodes of the file, too.",
    ),
    **{
        f"no_{kind}": Slip(
            of="left out",
            change=without(_is(kind), _NODES),
            says=f"{kind} nodes are left out. They are nodes of the file, too.",
        )
        for kind in ("Flatten", "Reshape", "Relu", "Clip", "Add", "Concat", "Dropout", "Identity")
    },
    "first_node": Slip(
        of="left out",
        change=lambda parts: _without_part(parts, 0),
        says=_ONE_LESS,
    ),
    "last_node": Slip(
        of="left out",
        change=lambda parts: _without_part(parts, -1),
        says=_ONE_LESS,
    ),
    "nested": Slip(
        of="left out",
        change=lambda parts: [int(part.kind not in (NESTED, ELSE)) for part in parts],
        says="The nodes inside If and Loop are missing. Their graphs are attributes of the node (attribute.g).",
    ),
    "holders": Slip(
        of="left out",
        change=without(lambda node: any(each.HasField("g") for each in node.attribute), _NODES),
        says="If, Loop and Scan are left out where their graphs are gone through. They are nodes, too.",
    ),
    "else_branches": Slip(
        of="nested",
        change=lambda parts: [int(part.kind != ELSE) for part in parts],
        says="Of an If only then_branch is counted. The nodes of else_branch are nodes, too.",
    ),
    "outputs": Slip(
        of="factor",
        change=times(lambda node: sum(1 for each in node.output if each), _NODES),
        says="Outputs are counted, not nodes: a node of two outputs counts twice. Count nodes.",
    ),
    "function_bodies": Slip(
        of="extra",
        change=also(INSIDE),
        says="The nodes inside of the file's own functions are counted, too. A call of a function is one node; what is "
        "inside is none of the graph's.",
    ),
    "initializers": Slip(
        of="extra",
        change=also(STORED),
        says="Initializers are counted. They are weights, not nodes.",
    ),
}
