"""Slips in listing the nodes of an ONNX file: which are counted, and what stands in the rows of their attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .compose import Library, Slip

if TYPE_CHECKING:
    from collections.abc import Callable

Row = dict[str, Any]
_SIZES = ("channel", "height", "width")


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


def _floats(row: Row) -> Row:
    floats = row.get("floats", ())
    return row | dict.fromkeys(floats, 0)


ATTRIBUTES: Library = {
    "floats": Slip(
        of="floats",
        change=_rows(_floats),
        says="Float attributes are 0. Read the field that the attribute's type names: f for FLOAT, i for INT, ints "
        "for INTS; "
        "onnx.helper.get_attribute_value does so.",
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
        "that the "
        "node reads, which shape inference finds.",
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
