"""What slips make of the bytes of weights with few bits. None of these values is ever right."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ._slips.common import BYTE_UNITS, times, without
from ._slips.compose import Composition, Library, Part, Slip, WantedProducts
from ._slips.likely import with_pairs
from ._weights import weights_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._counting.engine import CountedSubject
    from ._slips.compose import Factors, Parts

_BITS, _FLOAT_BYTES = 8, 4
_PACKED, _SCALES, _CODEBOOK = "packed", "scale", "codebook"
_BESIDE = (_SCALES, _CODEBOOK)


def _linear(weight: Any) -> bool:
    return bool(weight.dim() == 2)  # noqa: PLR2004 - outputs and inputs


def _so_many(factor: Fraction, _: Any) -> Fraction:
    return factor


def _of_bits(bits: int, parts: Parts) -> Factors:
    """By how much the packed weights take more with other bits."""
    counts = [_packed(part.source.numel(), bits) if part.kind == _PACKED else part.count for part in parts]
    return [Fraction(count, part.count) if part.count else 1 for count, part in zip(counts, parts, strict=True)]


def _once_in_all(parts: Parts) -> Factors:
    """Leave out what is kept beside all layers but the first.

    Raises:
        ValueError: there is one layer.
    """
    beside = [at for at, part in enumerate(parts) if part.kind in _BESIDE]
    if len(beside) < len(_BESIDE):
        message = "there is one layer"
        raise ValueError(message)
    return [int(at not in beside[1:]) for at in range(len(parts))]


def _one_scale_in_all(parts: Parts) -> Factors:
    """Leave one number beside all layers."""
    factors = zip(parts, _once_in_all(parts), strict=True)
    return [Fraction(each, len(part.source)) if part.kind == _SCALES else each for part, each in factors]


def _by_channel(parts: Parts) -> Factors:
    """Pack each output channel to whole bytes."""
    counts = [
        len(part.source) * _packed(part.source[0].numel(), _width(part)) if part.kind == _PACKED else part.count
        for part in parts
    ]
    return [Fraction(count, part.count) if part.count else 1 for count, part in zip(counts, parts, strict=True)]


def _width(part: Part) -> int:
    """With how many bits a layer is packed."""
    return math.floor(Fraction(_BITS * part.count, part.source.numel()))


def _of_values(change: Callable[[int], int], parts: Parts) -> Factors:
    """Another number of values in each codebook.

    Raises:
        ValueError: there is none.
    """
    books = [part.count // _FLOAT_BYTES for part in parts if part.kind == _CODEBOOK]
    if not books:
        message = "there is no codebook"
        raise ValueError(message)
    factor = Fraction(change(books[0]), books[0])
    return [factor if part.kind == _CODEBOOK else 1 for part in parts]


def _rounded_down(parts: Parts) -> Factors:
    """Leave out a byte that is not full."""
    bits = [Fraction(_BITS * part.count, part.source.numel()) for part in parts if part.kind == _PACKED]
    width = min(map(math.floor, bits), default=0)
    counts = [part.source.numel() * width // _BITS if part.kind == _PACKED else part.count for part in parts]
    return [Fraction(count, part.count) if part.count else 1 for count, part in zip(counts, parts, strict=True)]


_LIBRARY: Library = {
    **BYTE_UNITS,
    "alone": Slip(
        of="beside",
        change=without(lambda _: True, _BESIDE),
        says="What is kept beside the weights is missing: scales, or the values of the codebook, four bytes each.",
    ),
    "beside_once": Slip(
        of="beside",
        change=times(lambda weight: Fraction(1, len(weight)), (_SCALES,)),
        says="Each layer has one scale here. There is one for each output channel.",
    ),
    "beside_by_input": Slip(
        of="beside",
        change=times(lambda weight: Fraction(weight.shape[1], len(weight)), (_SCALES,)),
        says="Each layer has a scale for each input channel here. There is one for each output channel.",
    ),
    **{
        name: Slip(
            of="width",
            change=times(partial(_so_many, factor), _BESIDE),
            says=f"Scales, or values of the codebook, have {width} each here. In float32 they have four.",
        )
        for name, factor, width in (
            ("one_byte", Fraction(1, 4), "one byte"),
            ("two_bytes", Fraction(1, 2), "two bytes"),
            ("eight_bytes", Fraction(2), "eight bytes"),
            ("bits_for_bytes", Fraction(8), "32 bytes"),
        )
    },
    "one_scale_in_all": Slip(
        of="beside", change=_one_scale_in_all, says="There is one scale for all layers. Each output channel has one."
    ),
    "once_in_all": Slip(
        of="beside",
        change=_once_in_all,
        says="What is kept beside the weights is counted once for the whole network. Each layer has its own.",
    ),
    "codebook_by_channel": Slip(
        of="beside",
        change=times(len, (_CODEBOOK,)),
        says="Each output channel has a codebook here. There is one for each layer.",
    ),
    **{
        name: Slip(of="values", change=partial(_of_values, change), says=says)
        for name, change, says in (
            ("values_of_bits", lambda count: count.bit_length() - 1, "A codebook has `bits` values. It has 2**bits."),
            ("values_less_one", lambda count: count - 1, "A codebook has 2**bits - 1 values here. It has 2**bits."),
            ("values_half", lambda count: count // 2, "A codebook has 2**(bits - 1) values here. It has 2**bits."),
            ("values_as_one", lambda _: 1, "A codebook has one value here. It has 2**bits."),
        )
    },
    **{
        f"{bits}_bits": Slip(
            of="packing",
            change=partial(_of_bits, bits),
            says=f"Each weight takes {bits} bits here.",
        )
        for bits in (1, 2, 3, 4, 8, 16, 32)
    },
    "rounded_down": Slip(
        of="packing",
        change=_rounded_down,
        says="What is left of a layer's bits counts nothing here. It takes a byte, too: round up.",
    ),
    "by_channel": Slip(
        of="packing",
        change=_by_channel,
        says="Each output channel is packed to whole bytes by itself. Each layer is.",
    ),
    "no_linear": Slip(
        of="left out", change=without(_linear, (_PACKED, *_BESIDE)), says="Linear layers are left out. They count, too."
    ),
    "no_convolutions": Slip(
        of="left out",
        change=without(lambda weight: not _linear(weight), (_PACKED, *_BESIDE)),
        says="Convolutions are left out. They count, too.",
    ),
}


def compressed_weight_bytes_slips(
    subject: CountedSubject,
    *,
    bits: int = 4,
    kept: Literal["scale", "codebook"] = "scale",
    most: int = 1,
    among: list[str] | None = None,
    between: list[str] | None = None,
) -> dict[str, Any]:
    """What slips make of `compressed_weight_bytes`."""
    found = []
    for weight in weights_of(subject).values():
        beside = _FLOAT_BYTES * (len(weight) if kept == _SCALES else 2**bits)
        found.append(Part(row="", count=_packed(weight.numel(), bits), source=weight, kind=_PACKED))
        found.append(Part(row="", count=beside, source=weight, kind=kept))
    wanted = WantedProducts(most=most, among=among, between=between)
    return with_pairs(Composition(library=_LIBRARY, make=lambda _: found), wanted)


def _packed(numbers: int, bits: int) -> int:
    """The bytes of so many numbers without gaps."""
    return -(-numbers * bits // _BITS)
