"""Slips in counting operations by type or by layer: under which row something stands, and what a row adds up."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from .common import also, ratio, times
from .compose import Factors, Library, Part, Slip
from .counts import LIBRARY
from .left_out import is_pointwise
from .operations import NORM, NORM_AS_CONV, POOL_IN, POOL_OUT, WINDOWS, last_of_rows

if TYPE_CHECKING:
    from collections.abc import Sequence


def _pools_by(kind: str, parts: Sequence[Part]) -> Factors:
    """Count pools by another kind of parts, where they are asked for."""
    rows = {part.row for part in parts if part.kind == POOL_IN and part.counted}
    if not rows:
        message = "pools are not asked for"
        raise ValueError(message)
    return [int(part.kind == kind and part.row in rows) - int(part.kind == POOL_IN and part.counted) for part in parts]


BY_TYPE: Library = {
    **LIBRARY,
    "one_type": Slip(
        of="row",
        change=lambda parts: [next(part.row for part in parts if part.counted)] * len(parts),
        says="All layers stand under one type, that of the first. Take the type of each: type(module).__name__.",
    ),
    "pointwise_as_linear": Slip(
        of="row",
        change=lambda parts: ["Linear" if is_pointwise(part.source) else part.row for part in parts],
        says="Convolutions with a 1x1 kernel stand under Linear. They are Conv2d modules.",
    ),
    "norm_as_convolution": Slip(
        of="extra",
        change=also(NORM_AS_CONV),
        says="What batch norm does is added to the convolutions' number, two for each input element. Leave it "
        "out: Conv2d stands for the convolutions alone.",
    ),
    "norm_as_convolution_once": Slip(
        of="extra",
        change=also(NORM_AS_CONV, Fraction(1, 2)),
        says="What batch norm does is added to the convolutions' number, one for each input element. Leave it out.",
    ),
    "norm_halved": Slip(
        of="norm",
        change=times(lambda _: Fraction(1, 2), (NORM,)),
        says="Batch norm counts one for each input element. The task has two: a product and a sum.",
    ),
    "norm_doubled": Slip(
        of="norm",
        change=times(lambda _: 2, (NORM,)),
        says="Batch norm counts four for each input element. The task has two: a product and a sum.",
    ),
    "norm_channels": Slip(
        of="norm",
        change=times(lambda o: ratio(o.input_shape[1:2], [o.norm_inputs]) if o.norm_inputs else 1, (NORM,)),
        says="Batch norm counts two for each channel. It computes two for each input element: every pixel of every "
        "image.",
    ),
    **{
        f"pools_{name}": Slip(
            of="which",
            change=partial(_pools_by, kind),
            says=f"Pools count {words}. The task has one for each input element.",
        )
        for name, kind, words in (
            ("by_windows", WINDOWS, "the elements of the window for each output element"),
            ("by_output", POOL_OUT, "one for each output element"),
        )
    },
    "names_for_types": Slip(
        of="row",
        change=lambda parts: [part.source.call.name.rpartition(".")[2] for part in parts],
        says="Rows bear the last part of each layer's name, such as conv. Take its type: type(module).__name__.",
    ),
    "last_of_type": Slip(
        of="left out",
        change=last_of_rows,
        says="Each type has the value of its last layer alone. Add up over its layers: += in place of =.",
    ),
}
BY_LAYER: Library = {
    **LIBRARY,
    "last_names": Slip(
        of="row",
        change=lambda parts: [part.row.rpartition(".")[2] for part in parts],
        says="Rows bear the last part of each layer's name, so that layers of different blocks come under one name. "
        "Take the whole name in named_modules().",
    ),
    "block_names": Slip(
        of="row",
        change=lambda parts: [part.row.rpartition(".")[0] or part.row for part in parts],
        says="Rows bear the name of the block around a layer. Take the layer's own, the whole one in named_modules().",
    ),
    "outermost_names": Slip(
        of="row",
        change=lambda parts: [part.row.partition(".")[0] for part in parts],
        says="Rows bear the first part of each layer's name, so that the layers of a block are added up under it. Take "
        "the whole name in named_modules().",
    ),
    "last_of_row": Slip(
        of="left out",
        change=last_of_rows,
        says="A row that is written again keeps its last value alone. Add up: += in place of =.",
    ),
}
