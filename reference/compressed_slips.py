"""What slips make of the bytes of weights with few bits. None of these values is ever right."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ._slips.compose import BYTE_UNITS, Composition, Library, Part, Slip, WantedProducts, times, without
from ._slips.likely import with_pairs
from ._weights import weights_of

if TYPE_CHECKING:
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
