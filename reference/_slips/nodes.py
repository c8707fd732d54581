"""Slips in listing the nodes of an ONNX file with their attributes: which have a row, and what stands in it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from .compose import Library, Slip

if TYPE_CHECKING:
    from collections.abc import Callable

Row = dict[str, Any]
_SIZES = ("channel", "height", "width")
_NO_ATTRIBUTES = frozenset(
    {*_SIZES, "node", "operator", "also_named", "also_right", "floats", "out", "batch", "of_input"}
)
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


def _one_of_type(rows: list[Row], *, last: bool) -> list[Row]:
    kept = {row["operator"]: row["node"] for row in (rows if last else reversed(rows))}
    return [row for row in rows if kept[row["operator"]] == row["node"]]


def _says_more(value: Any) -> bool:
    return bool(value) and not (isinstance(value, str) and value.replace(".", "").strip("0") in ("", "-"))


def _as_bytes(row: Row) -> Row:
    texts = [
        key for key, value in row.items() if isinstance(value, str) and key not in (*row.get("floats", ()), "node")
    ]
    return row | {key: f"b'{row[key]}'" for key in texts if key not in _NO_ATTRIBUTES}


def _floats(row: Row) -> Row:
    floats = row.get("floats", ())
    return row | dict.fromkeys(floats, 0)


def _whole(row: Row) -> Row:
    """Floats stand in a row as text, with the digits that they have."""
    return row | {name: int(float(row[name])) for name in row.get("floats", ()) if isinstance(row.get(name), str)}


def _inherited(rows: list[Row]) -> list[Row]:
    """Rows of one dict that is never emptied: what an earlier node has and a later one has not stays."""
    known: Row = {}
    found = []
    for row in rows:
        floats = [*known.get("floats", ()), *row.get("floats", ())]
        known |= {key: value for key, value in row.items() if key in _SIZES or key not in _NO_ATTRIBUTES}
        known["floats"] = floats
        found.append(row | known)
    return found


ATTRIBUTES: Library = {
    "inherited": Slip(
        of="rows",
        change=_inherited,
        says="Rows have attributes of nodes before them: one dict is used for all nodes and never emptied. Make a new "
        "one for each node.",
    ),
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
    "group_channels": Slip(
        of="group",
        change=_rows(lambda row: row | {"group": row["channel"]} if row["operator"] == "Conv" and _has(row) else row),
        says="group is the number of input channels in each Conv. Read the attribute: it is so of depthwise "
        "convolutions alone.",
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
        of="which have sizes",
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
    "zeros": Slip(
        of="attributes",
        change=_rows(_if(lambda _, value: _says_more(value))),
        says="Attributes that the file sets to 0 are missing, as where their value is asked for its truth (if value). "
        "Give each attribute that a node has.",
    ),
    "text_as_bytes": Slip(
        of="texts",
        change=_rows(_as_bytes),
        says="Texts are written as Python writes bytes (b'SAME_UPPER'). Decode them: value.decode().",
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
    **{
        f"{which}_of_type": Slip(
            of="rows",
            change=partial(_one_of_type, last=which == "last"),
            says=f"There is one row for each operator type, that of its {which} node. List every node: a dict keyed by "
            "the type keeps only one.",
        )
        for which in ("first", "last")
    },
    "input_sizes": Slip(
        of="sizes",
        change=_rows(lambda row: _left_out(*_SIZES)(row) if row.get("of_input") else row),
        says="Nodes that read the model's input have no channel, height and width: value_info does not list it. Look "
        "at graph.input, too.",
    ),
    "by_type": Slip(
        of="rows",
        change=lambda rows: [row | {"node": row["operator"]} for row in _one_of_type(rows, last=True)],
        says="Rows bear the operator's type, so that there is one for each type, that of its last node. List every "
        "node, by its own name (node.name).",
    ),
    "usual_left_out": Slip(
        of="attributes",
        change=_rows(_left_out(*sorted(_USUAL))),
        says="kernel_shape, strides, pads, dilations and group are missing. Give them under these names, ONNX's own, "
        "not under PyTorch's (kernel_size, stride, padding).",
    ),
    "no_channel": Slip(
        of="sizes",
        change=_rows(_left_out("channel")),
        says="The channel is missing. Give channel, height and width of the tensor that comes in.",
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
