"""A layer in whole numbers alone, and how it goes wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

_ROUNDED: Mapping[str, Callable[[Any], Any]] = {
    "nearest": lambda each: each.round(),
    "cut": lambda each: each.astype(int),
    "floor": lambda each: each // 1,
    "half up": lambda each: (each + 0.5) // 1,
}


def integer_product(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """What an integer-only layer puts out, and what it adds up before that.

    `data` is an .npz with x (n x k, int8), w (m x k, int8), bias (m, int32), x_zero, w_zero, y_zero and multiplier.
    sums = sum over k of (x - x_zero) * (w - w_zero), plus the bias; outputs = round(multiplier * sums) + y_zero,
    clamped to int8 (Jacob et al. 2018, section 2.2). Rounded to the nearest, ties to even.
    """
    return _product(config, data)


def integer_product_truncated(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """With outputs cut off.

    Slip of: integer_product
    Hint: The multiplied sums are cut off, as a cast to whole numbers does. They have to be rounded to the nearest.
    Credit: 0.6
    """
    return _product(config, data, rule="cut")


def integer_product_without_x_zero(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """Without the zero point of x.

    Slip of: integer_product
    Hint: The zero point of x is not subtracted before the product.
    Credit: 0.5
    """
    return _product(config, data, changed={"x_zero": 0})


def integer_product_without_w_zero(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """Without the zero point of w.

    Slip of: integer_product
    Hint: The zero point of w is not subtracted before the product.
    Credit: 0.5
    """
    return _product(config, data, changed={"w_zero": 0})


def integer_product_without_zeros(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """Without the zero points of x and w.

    Slip of: integer_product
    Hint: Neither zero point is subtracted: the int8 numbers themselves are multiplied.
    Credit: 0.3
    """
    return _product(config, data, changed={"x_zero": 0, "w_zero": 0})


def integer_product_without_bias(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """Without the bias.

    Slip of: integer_product
    Hint: The bias is not added to the sums.
    Credit: 0.6
    """
    return _product(config, data, changed={"bias": 0})


def integer_product_without_y_zero(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """Without the zero point of y.

    Slip of: integer_product
    Hint: The zero point of the outputs is not added.
    Credit: 0.6
    """
    return _product(config, data, changed={"y_zero": 0})


def integer_product_wrapped(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """Outputs that wrap round.

    Slip of: integer_product
    Hint: Outputs beyond -128 and 127 wrap round, as a cast to int8 does. Clamp them.
    Credit: 0.6
    """
    return _product(config, data, wraps=True)


def integer_product_of_eight_bits(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """Sums of eight bits.

    Slip of: integer_product
    Hint: The sums are kept in int8 and wrap round. They need int32: convert x and w before the product.
    Credit: 0.3
    """
    return _product(config, data, narrow=True)


def integer_product_clamped_before_y_zero(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """With outputs clamped first.

    Slip of: integer_product
    Hint: Outputs are clamped before the zero point is added. Add it, then clamp.
    Credit: 0.6
    """
    return _product(config, data, order=("round", "clamp", "move"))


def integer_product_moved_before_rounding(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """With the zero point added to the sums.

    Slip of: integer_product
    Hint: The zero point of the outputs is added before the multiplication. It is added to what is rounded.
    Credit: 0.5
    """
    return _product(config, data, early=True)


def integer_product_subtracted_in_eight_bits(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """With zero points subtracted in int8.

    Slip of: integer_product
    Hint: The zero points are subtracted in int8, which wraps round. Convert x and w to int32 before that.
    Credit: 0.5
    """
    return _product(config, data, eight=True)


def integer_product_not_clamped(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """With outputs that are not clamped.

    Slip of: integer_product
    Hint: Outputs are not clamped to -128 ... 127.
    Credit: 0.6
    """
    return _product(config, data, order=("round", "move"))


def integer_product_clamped_from_zero(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """With outputs of no sign.

    Slip of: integer_product
    Hint: Outputs are clamped to 0 ... 255. They are int8: -128 ... 127.
    Credit: 0.6
    """
    return _product(config, data, ends=(0, 255))


def integer_product_without_the_lowest(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """With outputs from -127 on.

    Slip of: integer_product
    Hint: Outputs are clamped to -127 ... 127. The lowest int8 is -128.
    Credit: 0.8
    """
    return _product(config, data, ends=(-127, 127))


def integer_product_with_relu(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """With outputs from 0 on.

    Slip of: integer_product
    Hint: What is negative becomes 0, as in a ReLU. Clamp to -128 ... 127 alone.
    Credit: 0.5
    """
    return _product(config, data, ends=(0, 127))


def integer_product_floored(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """With outputs rounded down.

    Slip of: integer_product
    Hint: The multiplied sums are rounded down, as // and a shift do. They have to be rounded to the nearest.
    Credit: 0.6
    """
    return _product(config, data, rule="floor")


def integer_product_half_up(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """With ties rounded up.

    Slip of: integer_product
    Hint: Values half-way between two whole numbers are rounded up, as floor(x + 0.5) does. They go to the even one.
    Credit: 0.8
    """
    return _product(config, data, rule="half up")


def integer_product_with_the_bias_late(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """With the bias added behind the multiplication.

    Slip of: integer_product
    Hint: The bias is added to the outputs. It belongs to the sums, before the multiplication.
    Credit: 0.5
    """
    return _product(config, data, late=True)


def integer_product_with_zeros_added(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """With zero points added.

    Slip of: integer_product
    Hint: The zero points of x and w are added. They are subtracted.
    Credit: 0.4
    """
    return _product(config, data, sign=-1)


def integer_product_divided(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """With sums divided by the multiplier.

    Slip of: integer_product
    Hint: The sums are divided by the multiplier.
    Credit: 0.5
    """
    return _product(config, data, divided=True)


@dataclass(frozen=True, kw_only=True)
class _How:
    """What is otherwise about a product. `changed`: other numbers than those of the file."""

    changed: Mapping[str, int] = field(default_factory=dict)
    sign: int = 1
    eight: bool = False
    narrow: bool = False
    late: bool = False
    early: bool = False
    divided: bool = False
    rule: str = "nearest"
    order: tuple[str, ...] = ("round", "move", "clamp")
    ends: tuple[int, int] = (-128, 127)
    wraps: bool = False


def _product(config: dict[str, Any], data: str, **otherwise: Any) -> dict[str, NDArray[np.int64]]:
    import numpy as np

    del config
    how = _How(**otherwise)
    with np.load(data) as loaded:
        own: dict[str, Any] = {**{name: loaded[name] for name in loaded.files}, **how.changed}
    x, w = (own[name].astype(np.int64) - how.sign * int(own[f"{name}_zero"]) for name in ("x", "w"))
    if how.eight:
        x, w = (each.astype(np.int8).astype(np.int64) for each in (x, w))
    sums = x @ w.T + (0 if how.late else own["bias"])
    sums = sums.astype(np.int8).astype(np.int64) if how.narrow else sums
    multiplier, y_zero = float(own["multiplier"]), int(own["y_zero"])
    made = (sums + (y_zero if how.early else 0)) * (1 / multiplier if how.divided else multiplier)
    steps = {
        "round": lambda each: _ROUNDED[how.rule](each).astype(np.int64) + (own["bias"] if how.late else 0),
        "move": lambda each: each + (0 if how.early else y_zero),
        "clamp": lambda each: each.astype(np.int8).astype(np.int64) if how.wraps else np.clip(each, *how.ends),
    }
    for step in how.order:
        made = steps[step](made)
    return {"sums": sums, "outputs": made}
