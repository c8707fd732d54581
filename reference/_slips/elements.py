"""Slips in how many elements an ONNX tensor has, and how many bytes each takes."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from .._onnx.tensors import type_name
from .common import ratio, times, without
from .compose import Library, Slip
from .moved import ALL

if TYPE_CHECKING:
    from collections.abc import Callable

    from .moved import Moved

_TYPE = "read the tensor's type"
_LONG = ("int64", "uint64")
_WORD, _IMAGE = 4, 4
_HALVES = "size of half a byte"  # which one may get wrong besides the size of another type


def _as_bytes(size: int, *, types: tuple[str, ...] = ()) -> Callable[[Moved], Fraction | int]:
    """So many bytes an element, of all types or of these alone."""

    def factor(moved: Moved) -> Fraction | int:
        there = moved.tensor.size and (not types or type_name(moved.tensor.data_type) in types)
        return ratio([size, *moved.tensor.shaped()], [moved.tensor.size]) if there else 1

    return factor


def _at_least(size: int) -> Callable[[Moved], Fraction | int]:
    """Not less than so many bytes an element."""

    def factor(moved: Moved) -> Fraction | int:
        held = moved.tensor.size
        return Fraction(max(size * math.prod(moved.tensor.shaped()), held), held) if held else 1

    return factor


def _channels(moved: Moved) -> Fraction:
    shape = moved.tensor.shaped()
    return Fraction(1, max(shape[1], 1)) if len(shape) == _IMAGE else Fraction(1)


ELEMENTS: Library = {
    "channels": Slip(
        of="dimensions",
        change=times(_channels, ALL),
        says="The channels of images are left out. Multiply all dimensions: batch, channels, height and width.",
    ),
    "scalars": Slip(
        of="left out",
        change=without(lambda moved: not moved.tensor.shaped(), ALL),
        says="A tensor without dimensions counts nothing. It has one element.",
    ),
    "images_alone": Slip(
        of="left out",
        change=without(lambda moved: len(moved.tensor.shaped()) != _IMAGE, ALL),
        says="Only tensors of four dimensions are counted. Those of others, behind Flatten or Gemm, take bytes, too.",
    ),
    **{
        name: Slip(of=_HALVES if name == "whole_bytes" else "size of an element", change=times(factor, ALL), says=says)
        for name, factor, says in (
            ("elements", _as_bytes(1), "This is the number of elements. Each has four bytes here."),
            (
                "float32",
                _as_bytes(4),
                f"Every element counts four bytes. float16 has two, int8 one, int64 eight; {_TYPE}.",
            ),
            ("float16", _as_bytes(2), f"Every element counts two bytes, as in float16. A float32 has four; {_TYPE}."),
            ("double", _as_bytes(8), f"Every element counts eight bytes. A float32 has four; {_TYPE}."),
            (
                "whole_bytes",
                _at_least(1),
                "Elements of four bits (int4, uint4) count a byte each, as numpy holds them. Two of them share a byte.",
            ),
            (
                "whole_words",
                _at_least(_WORD),
                f"Elements of less than four bytes count four. A float16 has two, an int8 and a bool one; {_TYPE}.",
            ),
            (
                "short_integers",
                _as_bytes(_WORD, types=_LONG),
                f"An element of 64 bits (int64) counts four bytes. It has eight; {_TYPE}.",
            ),
        )
    },
}
