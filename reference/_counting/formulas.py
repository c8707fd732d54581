"""What torch's kernels compute: products by a formula, and which of them are norms, pools or activations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    Formula = Callable[..., tuple[int, int]]  # of what comes out and all that goes in: MACs, and elements with a bias


def _product(out: Tensor, left: Tensor, *_: Any, **__: Any) -> tuple[int, int]:
    """mm, bmm, mv, dot: the last dimension of the left factor is summed over."""
    return math.prod(out.shape) * left.shape[-1], 0


def _added_product(out: Tensor, _: Tensor, left: Tensor, *__: Any, **___: Any) -> tuple[int, int]:
    """addmm, addmv, baddbmm: the same with something added to each element."""
    return math.prod(out.shape) * left.shape[-1], math.prod(out.shape)


def _summed_product(out: Tensor, _: Tensor, left: Tensor, *__: Any, **___: Any) -> tuple[int, int]:
    """addbmm: the batch is summed over, too."""
    return math.prod(out.shape) * left.shape[-1] * left.shape[0], math.prod(out.shape)


def _linear(out: Tensor, _: Tensor, weight: Tensor, bias: Tensor | None = None, *__: Any) -> tuple[int, int]:
    return math.prod(out.shape) * weight.shape[-1], math.prod(out.shape) if bias is not None else 0


def _convolution(  # noqa: PLR0913, PLR0917 - the kernel's signature
    out: Tensor,
    image: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: list[int],  # noqa: ARG001
    padding: list[int],  # noqa: ARG001
    dilation: list[int],  # noqa: ARG001
    transposed: bool,  # noqa: FBT001
    *_: Any,
) -> tuple[int, int]:
    elements = math.prod((image if transposed else out).shape)
    return elements * math.prod(weight.shape[1:]), math.prod(out.shape) if bias is not None else 0


def _convolution_backward(  # noqa: PLR0913, PLR0917 - the kernel's signature
    _: Any,
    grad: Tensor,
    image: Tensor,
    weight: Tensor,
    bias_sizes: Any,  # noqa: ARG001
    stride: list[int],  # noqa: ARG001
    padding: list[int],  # noqa: ARG001
    dilation: list[int],  # noqa: ARG001
    transposed: bool,  # noqa: FBT001
    output_padding: list[int],  # noqa: ARG001
    groups: int,  # noqa: ARG001
    wanted: list[bool],
) -> tuple[int, int]:
    """The gradients of image and weight take as many products as the convolution itself, each."""
    elements = math.prod((image if transposed else grad).shape)
    return elements * math.prod(weight.shape[1:]) * sum(wanted[:2]), 0


def _vecdot(_: Tensor, left: Tensor, right: Tensor, *__: Any, **___: Any) -> tuple[int, int]:
    return math.prod(torch.broadcast_shapes(left.shape, right.shape)), 0  # type: ignore[no-untyped-call]


def _time_steps(out: tuple[Tensor, ...], steps: Tensor, of_input: Tensor, of_state: Tensor, *_: Any) -> tuple[int, int]:
    """A layer of an LSTM, as MKL-DNN runs it: at each step of each sample each weight is used once."""
    positions = math.prod(steps.shape[:2])
    return positions * (of_input.numel() + of_state.numel()), 2 * positions * of_input.shape[0] if out else 0


def _attention(
    out: tuple[Tensor, ...], query: Tensor, key: Tensor, value: Tensor, *_: Any, **__: Any
) -> tuple[int, int]:
    """Fused attention over (batch, heads, length, features): both of its products. A mask saves none."""
    del out
    return math.prod(query.shape[:-1]) * key.shape[-2] * (query.shape[-1] + value.shape[-1]), 0


PRODUCTS: dict[str, Formula] = {
    "mm": _product,
    "bmm": _product,
    "mv": _product,
    "dot": _product,
    "vdot": _product,
    "linalg_vecdot": _vecdot,
    "_int_mm": _product,
    "_scaled_mm": _product,
    "addmm": _added_product,
    "addmv": _added_product,
    "baddbmm": _added_product,
    "addbmm": _summed_product,
    "linear": _linear,
    "mkldnn_linear": _linear,
    "convolution": _convolution,
    "_convolution": _convolution,
    "convolution_overrideable": _convolution,
    "convolution_backward": _convolution_backward,
    "mkldnn_rnn_layer": _time_steps,
    "_scaled_dot_product_flash_attention_for_cpu": _attention,
}

_NORMS = """
    native_batch_norm _native_batch_norm_legit _native_batch_norm_legit_no_training _batch_norm_with_update
    _batch_norm_no_update _batch_norm_with_update_functional _native_batch_norm_legit_functional native_layer_norm
    native_group_norm rms_norm _fused_rms_norm
"""
_POOLS = """
    max_pool2d_with_indices max_pool3d_with_indices avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d
    adaptive_avg_pool2d adaptive_avg_pool3d _adaptive_avg_pool2d _adaptive_avg_pool3d adaptive_max_pool2d
    adaptive_max_pool3d fractional_max_pool2d fractional_max_pool3d mkldnn_adaptive_avg_pool2d mkldnn_max_pool2d
    mkldnn_max_pool3d
"""
_ACTIVATIONS = """
    relu hardtanh leaky_relu elu celu selu gelu silu mish hardswish hardsigmoid sigmoid log_sigmoid_forward tanh
    softplus hardshrink softshrink threshold _softmax _log_softmax _safe_softmax softmax log_softmax _prelu_kernel
    rrelu_with_noise rrelu_with_noise_functional glu _masked_softmax
"""


def _of(kind: Callable[[int, int], dict[str, int]], names: str) -> dict[str, Callable[[int, int], dict[str, int]]]:
    return dict.fromkeys(names.split(), kind)


# What else is counted, by elements that go in and elements that come out.
KINDS: dict[str, Callable[[int, int], dict[str, int]]] = {
    **_of(lambda given, _: {"norm_inputs": given}, _NORMS),
    **_of(lambda given, made: {"pooling_inputs": given, "pooling_outputs": made}, _POOLS),
    **_of(lambda _, made: {"activation_outputs": made}, _ACTIVATIONS),
}
