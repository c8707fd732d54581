"""Slips in counting what works on sequences: recurrent layers, attention, and transposed convolutions besides."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from torch import nn

from .common import ratio, times
from .compose import Library, Slip

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .._counting.trace import CountedOperation
    from .compose import Factors, Part

_GATES = {nn.LSTM: (4, 3), nn.GRU: (3, 4)}  # and those of the other one
_PRODUCTS = ("scaled_dot_product_attention", "@", "matmul", "bmm", "einsum")
_EACH_STEP = "A recurrent layer multiplies by all of its weights at each step, in each direction."


def _of_recurrent(factor: Callable[[nn.RNNBase, CountedOperation], Fraction | int]) -> Any:
    def factors(parts: Sequence[Part]) -> Factors:
        own = [part.source.call.module if not part.kind else None for part in parts]
        return [
            factor(module, part.source) if isinstance(module, nn.RNNBase) else 1
            for module, part in zip(own, parts, strict=True)
        ]

    return factors


def _weights(module: nn.RNNBase, *without: str) -> int:
    named = module.named_parameters()
    return sum(each.numel() for name, each in named if "bias" not in name and not any(word in name for word in without))


def _share(*without: str) -> Any:
    """What is left without the weights whose names have one of these words."""
    return _of_recurrent(lambda module, _: Fraction(_weights(module, *without), _weights(module)))


def _first_layer(module: nn.RNNBase, _: CountedOperation) -> Fraction:
    return Fraction(_weights(module, *(f"_l{at}" for at in range(1, module.num_layers))), _weights(module))


def _first_direction(module: nn.RNNBase, _: CountedOperation) -> Fraction:
    first = _weights(module, "_reverse", *(f"_l{at}" for at in range(1, module.num_layers)))
    return Fraction(first, _weights(module))


def _steps(module: nn.RNNBase, o: CountedOperation) -> int:
    given = o.call.inputs[0] if o.call.inputs else ()
    return given[1 if module.batch_first and len(given) > 2 else 0] if given else 1  # noqa: PLR2004 - a batch


def _other_gates(module: nn.RNNBase, _: CountedOperation) -> Fraction:
    own, other = _GATES.get(type(module), (1, 1))
    return Fraction(other, own)


def _with_biases(module: nn.RNNBase, _: CountedOperation) -> Fraction:
    return Fraction(sum(each.numel() for each in module.parameters()), _weights(module))


def _is_product(o: CountedOperation) -> bool:
    return o.name in _PRODUCTS


def _heads(o: CountedOperation) -> int:
    return math.prod(o.output_shape[1:-2])


def _of_products(factor: Callable[[CountedOperation], int | Fraction]) -> Any:
    return times(lambda o: factor(o) if _is_product(o) else 1)


def _by_output(o: CountedOperation) -> Fraction | int:
    transposed = o.name.startswith("conv_transpose")
    return ratio(o.output_shape[2:], o.input_shape[2:]) if transposed and o.input_shape else 1


SEQUENCES: Library = {
    "one_direction": Slip(
        of="recurrent",
        change=_share("_reverse"),
        says=f"Only one direction of a bidirectional layer is counted. {_EACH_STEP}",
    ),
    "first_recurrent": Slip(
        of="recurrent",
        change=_of_recurrent(_first_layer),
        says=f"Only the first layer of a recurrent module is counted, where num_layers is more. {_EACH_STEP}",
    ),
    "first_direction": Slip(
        of="recurrent",
        change=_of_recurrent(_first_direction),
        says="Only one direction of the first layer of a recurrent module is counted (weight_ih_l0 and weight_hh_l0). "
        f"{_EACH_STEP}",
    ),
    "one_step": Slip(
        of="recurrent",
        change=_of_recurrent(lambda module, o: Fraction(1, _steps(module, o) or 1)),
        says=f"A recurrent layer is counted for one step. {_EACH_STEP}",
    ),
    "hidden_weights": Slip(
        of="recurrent",
        change=_share("weight_hh"),
        says=f"A recurrent layer's products with its hidden state (weight_hh) are left out. {_EACH_STEP}",
    ),
    "input_weights": Slip(
        of="recurrent",
        change=_share("weight_ih"),
        says=f"A recurrent layer's products with its input (weight_ih) are left out. {_EACH_STEP}",
    ),
    "other_gates": Slip(
        of="recurrent",
        change=_of_recurrent(_other_gates),
        says="The gates of a recurrent layer are miscounted: an LSTM has four, a GRU three.",
    ),
    "one_gate": Slip(
        of="recurrent",
        change=_of_recurrent(lambda module, _: Fraction(1, _GATES.get(type(module), (1, 1))[0])),
        says="One gate of a recurrent layer is counted. An LSTM has four, a GRU three.",
    ),
    "recurrent_biases": Slip(
        of="recurrent",
        change=_of_recurrent(_with_biases),
        says="The biases of a recurrent layer are counted with its weights. Count the products only.",
    ),
    "half_of_attention": Slip(
        of="attention",
        change=_of_products(lambda _: Fraction(1, 2)),
        says="Half of attention's products are left out: those of queries with keys, those of weights with values, or "
        "what a causal mask hides. Count both, whole.",
    ),
    "heads_multiplied": Slip(
        of="attention",
        change=_of_products(_heads),
        says="Attention's products are multiplied by the number of heads. The heads share the width: each has "
        "width / heads of it.",
    ),
    "one_head": Slip(
        of="attention",
        change=_of_products(lambda o: Fraction(1, _heads(o) or 1)),
        says="Attention's products are counted for one head. Count them in each.",
    ),
    "one_sample_of_products": Slip(
        of="attention",
        change=_of_products(lambda o: Fraction(1, o.output_shape[0] if o.output_shape else 1)),
        says="Attention's products are counted for one sample, layers for the whole batch. Multiply both by the batch "
        "size.",
    ),
    "transposed_by_output": Slip(
        of="transposed",
        change=times(_by_output),
        says="A transposed convolution is counted at each position of its output. Its kernel is used at each position "
        "of its input, which a stride makes fewer.",
    ),
}
