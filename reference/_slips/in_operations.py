"""Slips in counting floating-point operations: those of multiply-accumulates, each of which is two, and a few more."""

from __future__ import annotations

from fractions import Fraction

from .common import also, times
from .compose import Library, Slip
from .counts import LIBRARY
from .operations import ACTIVATION, BIAS, NORM, POOL_IN, POOL_OUT, WINDOWS, of_conv, of_linear, summed

_ALL = ("", BIAS, NORM, POOL_IN, POOL_OUT, WINDOWS, ACTIVATION)
_OF_MACS = frozenset(
    {"twice", "half", "products_twice", "convolutions_twice", "linear_twice", "layers"}
    | {"additions", "linear_additions", "products_and_additions"}
)
_TWO = "A multiply-accumulate is two floating-point operations, a product and a sum: double the number."
LIBRARY_OF_OPERATIONS: Library = {
    **{name: slip for name, slip in LIBRARY.items() if name not in _OF_MACS},
    "macs": Slip(
        of="unit", change=times(lambda _: Fraction(1, 2), _ALL), says=f"These are multiply-accumulates (MACs). {_TWO}"
    ),
    "convolutions_in_macs": Slip(
        of="unit",
        change=of_conv(lambda _: Fraction(1, 2)),
        says=f"Convolutions are counted in multiply-accumulates, linear layers in operations. {_TWO}",
    ),
    "linear_in_macs": Slip(
        of="unit",
        change=of_linear(lambda _: Fraction(1, 2)),
        says=f"Linear layers are counted in multiply-accumulates, convolutions in operations. {_TWO}",
    ),
    "twice": Slip(
        of="unit",
        change=times(lambda _: 2, _ALL),
        says="Everything is counted twice. A multiply-accumulate is two floating-point operations: double once.",
    ),
    "bias_twice": Slip(
        of="extra",
        change=also(BIAS, 2),
        says="The addition of the bias is counted, as two operations. Count the products and their sums only.",
    ),
    "one_addition_less": Slip(
        of="additions",
        change=times(lambda o: Fraction(2 * summed(o) - 1, 2 * summed(o))),
        says="2K - 1 operations are counted for each output. The task counts two for each of its K products.",
    ),
}
