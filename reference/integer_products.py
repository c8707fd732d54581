"""A layer in whole numbers alone, and how it goes wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
    return _product(config, data, cut=True)


def integer_product_without_x_zero(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """Without the zero point of x.

    Slip of: integer_product
    Hint: The zero point of x is not subtracted before the product.
    Credit: 0.5
    """
    return _product(config, data, x_zero=0)


def integer_product_without_w_zero(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """Without the zero point of w.

    Slip of: integer_product
    Hint: The zero point of w is not subtracted before the product.
    Credit: 0.5
    """
    return _product(config, data, w_zero=0)


def integer_product_without_zeros(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """Without the zero points of x and w.

    Slip of: integer_product
    Hint: Neither zero point is subtracted: the int8 numbers themselves are multiplied.
    Credit: 0.3
    """
    return _product(config, data, x_zero=0, w_zero=0)


def integer_product_without_bias(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """Without the bias.

    Slip of: integer_product
    Hint: The bias is not added to the sums.
    Credit: 0.6
    """
    return _product(config, data, bias=0)


def integer_product_without_y_zero(config: dict[str, Any], *, data: str) -> dict[str, NDArray[np.int64]]:
    """Without the zero point of y.

    Slip of: integer_product
    Hint: The zero point of the outputs is not added.
    Credit: 0.6
    """
    return _product(config, data, y_zero=0)


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


def _product(
    config: dict[str, Any], data: str, *, wraps: bool = False, narrow: bool = False, cut: bool = False, **changed: int
) -> dict[str, NDArray[np.int64]]:
    import numpy as np

    del config
    with np.load(data) as loaded:
        own: dict[str, Any] = {**{name: loaded[name] for name in loaded.files}, **changed}
    x, w = (own[name].astype(np.int64) - int(own[f"{name}_zero"]) for name in ("x", "w"))
    sums = x @ w.T + own["bias"]
    sums = sums.astype(np.int8).astype(np.int64) if narrow else sums
    rule = np.trunc if cut else np.rint
    outputs = rule(float(own["multiplier"]) * sums).astype(np.int64) + int(own["y_zero"])
    outputs = outputs.astype(np.int8).astype(np.int64) if wraps else np.clip(outputs, -128, 127)
    return {"sums": sums, "outputs": outputs}
