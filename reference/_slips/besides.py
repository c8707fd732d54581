"""Slips in counting operations: what somebody counts besides products, or in place of them."""

from __future__ import annotations

from fractions import Fraction

from .common import also, times
from .compose import Library, Slip
from .operations import (
    ACTIVATION,
    BIAS,
    NO_BIAS,
    NORM,
    POOL_IN,
    POOL_OUT,
    WINDOWS,
    is_conv,
    is_linear,
    of_linear,
    summed,
)

BESIDES: Library = {
    "bias": Slip(
        of="extra",
        change=also(BIAS),
        says="The addition of the bias is counted as an operation. Count the products only.",
    ),
    "norm_once": Slip(
        of="extra",
        change=also(NORM, Fraction(1, 2)),
        says="Norm layers are counted, one for each input element. Leave them out.",
    ),
    "norm_twice": Slip(
        of="extra",
        change=also(NORM),
        says="Norm layers are counted, two for each input element. Leave them out.",
    ),
    "norm_four": Slip(
        of="extra",
        change=also(NORM, 2),
        says="Norm layers are counted, four for each input element. Leave them out.",
    ),
    "pool_inputs": Slip(
        of="extra",
        change=also(POOL_IN),
        says="Pools are counted, one for each input element. Leave them out.",
    ),
    "pool_outputs": Slip(
        of="extra",
        change=also(POOL_OUT),
        says="Pools are counted, one for each output element. Leave them out.",
    ),
    "pool_windows": Slip(
        of="extra",
        change=also(WINDOWS),
        says="Pools are counted, a window for each output element. Leave them out.",
    ),
    "assumed_biases": Slip(
        of="extra",
        change=also(NO_BIAS),
        says="The addition of a bias is counted for layers that have none (bias=False), too. Look whether layer.bias "
        "is None; best count the products only.",
    ),
    "bias_always": Slip(
        of="extra",
        change=lambda parts: [int(part.kind in (BIAS, NO_BIAS) and not part.counted) for part in parts],
        says="The addition of a bias is counted for each output of each layer, also where there is none (bias=False). "
        "Count the products only.",
    ),
    "max_pool_windows": Slip(
        of="extra",
        change=lambda parts: [
            int(part.kind == WINDOWS and part.source.call.type.startswith("MaxPool")) for part in parts
        ],
        says="Max pools are counted, a window for each output element. They multiply nothing: leave them out.",
    ),
    "conv_bias": Slip(
        of="extra",
        change=lambda parts: [int(part.kind == BIAS and not part.counted and is_conv(part.source)) for part in parts],
        says="The addition of a convolution's bias is counted as an operation. Count the products only.",
    ),
    "linear_bias": Slip(
        of="extra",
        change=lambda parts: [int(part.kind == BIAS and not part.counted and is_linear(part.source)) for part in parts],
        says="The addition of a linear layer's bias is counted as an operation. Count the products only.",
    ),
    "bias_channels": Slip(
        of="extra",
        change=lambda parts: [
            Fraction(part.source.weight_shape[0], part.count)
            if part.kind == BIAS and part.source.weight_shape and not part.counted
            else 0
            for part in parts
        ],
        says="The bias is counted, once for each channel. It is added to each output; best count the products only.",
    ),
    "relu": Slip(
        of="extra",
        change=lambda parts: [int(part.kind == ACTIVATION and part.source.name.startswith("relu")) for part in parts],
        says="ReLU is counted, one for each element. Leave it out.",
    ),
    "activations": Slip(
        of="extra",
        change=also(ACTIVATION),
        says="Activation functions are counted, one for each element. Leave them out.",
    ),
    "additions": Slip(
        of="additions",
        change=times(lambda o: Fraction(summed(o) - 1, summed(o))),
        says="One product too few is counted for each output: these are the additions. A sum of K products takes K "
        "multiply-accumulates.",
    ),
    "linear_additions": Slip(
        of="additions",
        change=of_linear(lambda o: Fraction(summed(o) - 1, summed(o))),
        says="in_features - 1 is counted for each output of a linear layer: these are the additions. A sum of K "
        "products takes K multiply-accumulates.",
    ),
    "products_and_additions": Slip(
        of="additions",
        change=times(lambda o: Fraction(2 * summed(o) - 1, summed(o))),
        says="Products and additions are counted, 2K - 1 for each output. A sum of K products takes K "
        "multiply-accumulates.",
    ),
}
