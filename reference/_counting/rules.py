"""Rules for the functions that models call most: what each counts, and an output of the right shape.

A rule has its torch function's own signature after `add`, which records an operation. The kernels of the meta device
would give the same shapes, ten to a hundred times slower. What a rule does not know is an UnsureError or a TypeError:
then the function itself is run, and its kernels are watched.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch
from torch.nn import functional

from . import attention
from .shapes import UnsureError, adapted, alike, convolved, each, like, multiplied, pooled, transposed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from .trace import CountedOperation

    Add: TypeAlias = Callable[..., CountedOperation]
    Sizes: TypeAlias = int | Sequence[int]
    Rule: TypeAlias = Callable[..., Any]


def _convolution(  # noqa: PLR0913, PLR0917 - torch's signature
    add: Add,
    input: Tensor,  # noqa: A002
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Each output element takes one multiply-accumulate for each weight of its filter (in_channels / groups x k)."""
    alike(input, weight)
    shape, weights = tuple(input.shape), tuple(weight.shape)
    n = len(weights) - 2
    _fits(f"conv{n}d", shape[-n - 1], weights[1] * groups)
    strides, spread = each(stride, n), each(dilation, n)
    pads = padding if isinstance(padding, str) else each(padding, n)
    out = (*shape[: -n - 1], weights[0], *convolved(shape[-n:], weights[2:], strides, pads, spread))
    elements = math.prod(out)
    add(
        f"conv{n}d",
        macs=elements * math.prod(weights[1:]),
        bias=elements if bias is not None else 0,
        input_shape=shape,
        weight_shape=weights,
        output_shape=out,
        groups=groups,
    )
    return like(input, out)


def _transposed_convolution(  # noqa: PLR0913, PLR0917 - torch's signature
    add: Add,
    input: Tensor,  # noqa: A002
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """Each input element is multiplied with each weight of its filter (out_channels / groups x k)."""
    alike(input, weight)
    shape, weights = tuple(input.shape), tuple(weight.shape)
    n = len(weights) - 2
    _fits(f"conv_transpose{n}d", shape[-n - 1], weights[0])
    strides, pads, spread = each(stride, n), each(padding, n), each(dilation, n)
    spatial = transposed(shape[-n:], weights[2:], strides, pads, each(output_padding, n), spread)
    out = (*shape[: -n - 1], weights[1] * groups, *spatial)
    add(
        f"conv_transpose{n}d",
        macs=math.prod(shape) * math.prod(weights[1:]),
        bias=math.prod(out) if bias is not None else 0,
        input_shape=shape,
        weight_shape=weights,
        output_shape=out,
        groups=groups,
    )
    return like(input, out)


def _linear(add: Add, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:  # noqa: A002
    """Each output element takes one multiply-accumulate for each input feature."""
    alike(input, weight)
    shape, weights = tuple(input.shape), tuple(weight.shape)
    _fits("linear", shape[-1], weights[-1])
    out = shape[:-1] + weights[:-1]
    elements = math.prod(out)
    add(
        "linear",
        macs=elements * weights[-1],
        bias=elements if bias is not None else 0,
        input_shape=shape,
        weight_shape=weights,
        output_shape=out,
    )
    return like(input, out)


def _matmul(name: str, add: Add, input: Tensor, other: Tensor) -> Tensor:  # noqa: A002
    """Each output element takes one multiply-accumulate for each element of the dimension that is summed over."""
    alike(input, other)
    left, right = tuple(input.shape), tuple(other.shape)
    _fits(name, left[-1], right[-2] if len(right) > 1 else right[-1])
    out = multiplied(left, right)
    add(name, macs=math.prod(out) * left[-1], input_shape=left, weight_shape=right, output_shape=out)
    return like(input, out)


def _vecdot(add: Add, x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Products of vectors, which torch makes of `mul` and `sum`, two operations that count nothing by themselves."""
    alike(x, y)
    whole = torch.broadcast_shapes(x.shape, y.shape)  # type: ignore[no-untyped-call]
    if not -len(whole) <= dim < len(whole) or x.shape[dim] != y.shape[dim]:
        raise UnsureError
    at = dim % len(whole)
    out = (*whole[:at], *whole[at + 1 :])
    add("vecdot", macs=math.prod(whole), input_shape=tuple(x.shape), weight_shape=tuple(y.shape), output_shape=out)
    return like(x, out)


def _norm(name: str, weight_at: float, add: Add, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:  # noqa: A002
    """A normalisation: its cost is a convention, so input elements are counted. Its scale stands at `weight_at`."""
    weight = kwargs.get("weight", args[int(weight_at)] if len(args) > weight_at else None)
    shape = tuple(input.shape)
    add(name, norm_inputs=math.prod(shape), affine=weight is not None, input_shape=shape, output_shape=shape)
    return like(input, shape)


def _max_pool(  # noqa: PLR0913, PLR0917 - torch's signature
    n: int,
    add: Add,
    input: Tensor,  # noqa: A002
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,  # noqa: FBT001, FBT002
    return_indices: bool = False,  # noqa: FBT001, FBT002
) -> Tensor | tuple[Tensor, Tensor]:
    kernel = each(kernel_size, n)
    strides = each(stride, n) if stride else kernel
    shape = tuple(input.shape)
    spatial = pooled(shape[-n:], kernel, strides, each(padding, n), each(dilation, n), ceil_mode=ceil_mode)
    out = _pool(f"max_pool{n}d", add, input, spatial)
    return (out, out.to(torch.int64)) if return_indices else out


def _avg_pool(
    n: int,
    add: Add,
    input: Tensor,  # noqa: A002
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,  # noqa: FBT001, FBT002
    *_: Any,
    **__: Any,
) -> Tensor:
    kernel = each(kernel_size, n)
    strides = each(stride, n) if stride else kernel
    spatial = pooled(tuple(input.shape)[-n:], kernel, strides, each(padding, n), each(1, n), ceil_mode=ceil_mode)
    return _pool(f"avg_pool{n}d", add, input, spatial)


def _adaptive_avg_pool(n: int, add: Add, input: Tensor, output_size: Any) -> Tensor:  # noqa: A002
    return _pool(f"adaptive_avg_pool{n}d", add, input, adapted(tuple(input.shape)[-n:], output_size))


def _adaptive_max_pool(
    n: int,
    add: Add,
    input: Tensor,  # noqa: A002
    output_size: Any,
    return_indices: bool = False,  # noqa: FBT001, FBT002
) -> Tensor | tuple[Tensor, Tensor]:
    out = _pool(f"adaptive_max_pool{n}d", add, input, adapted(tuple(input.shape)[-n:], output_size))
    return (out, out.to(torch.int64)) if return_indices else out


def _pool(name: str, add: Add, input: Tensor, spatial: tuple[int, ...]) -> Tensor:  # noqa: A002
    shape = tuple(input.shape)
    out = (*shape[: -len(spatial)], *spatial)
    add(
        name,
        pooling_inputs=math.prod(shape),
        pooling_outputs=math.prod(out),
        input_shape=shape,
        output_shape=out,
    )
    return like(input, out)


def _activation(name: str, add: Add, input: Tensor, *_: Any, inplace: bool = False, **kwargs: Any) -> Tensor:  # noqa: A002
    if not input.is_floating_point() or kwargs.get("out") is not None or kwargs.get("dtype") not in (None, input.dtype):
        raise UnsureError
    shape = tuple(input.shape)
    add(name, activation_outputs=math.prod(shape), input_shape=shape, output_shape=shape)
    return input if inplace or name.endswith("_") else like(input, shape)


def _elementwise(function: Callable[..., Tensor], input: Tensor, other: Any, **kwargs: Any) -> Tensor:  # noqa: A002
    """Sums and products of elements, which count nothing: only where no type can change is the shape all there is."""
    if not kwargs and input.is_floating_point():
        if isinstance(other, int | float):
            return like(input, input.shape)
        if isinstance(other, torch.Tensor) and other.dtype == input.dtype:
            if input.shape == other.shape:
                return like(input, input.shape)
            return like(input, np.broadcast_shapes(input.shape, other.shape))  # torch's own loads sympy
    return function(input, other, **kwargs)


def _joined(function: Callable[..., Tensor], tensors: Sequence[Tensor], *args: Any, **kwargs: Any) -> Tensor:
    """Tensors of one type behind each other: to ask the meta device for the shape takes torch all of sympy."""
    dim = args[0] if args else kwargs.get("dim", 0)
    shapes = [list(tensor.shape) for tensor in tensors]
    alike = {(tensor.is_meta, tensor.dtype, len(shape)) for tensor, shape in zip(tensors, shapes, strict=True)}
    if kwargs.keys() <= {"dim"} and isinstance(dim, int) and len(alike) == 1:
        meta, _type, dimensions = next(iter(alike))
        if meta and -dimensions <= dim < dimensions:
            joined = sum(shape.pop(dim) for shape in shapes)
            if any(shape != shapes[0] for shape in shapes):
                message = f"tensors of shapes {[tuple(tensor.shape) for tensor in tensors]} can't be joined along {dim}"
                raise ValueError(message)
            shapes[0].insert(dim % dimensions, joined)
            return like(tensors[0], tuple(shapes[0]))
    return function(tensors, *args, **kwargs)


def _reduced(function: Callable[..., Tensor], input: Tensor, *args: Any, **kwargs: Any) -> Tensor:  # noqa: A002
    """Sums and means over dimensions, which count nothing; torch asks sympy for their shape, too."""
    told = dict(zip(("dim", "keepdim", "dtype"), args, strict=False)) | kwargs
    wanted, keep = told.pop("dim", None), told.pop("keepdim", False)
    dims = (wanted,) if isinstance(wanted, int) else tuple(wanted or ())
    among = {dim % input.dim() for dim in dims if isinstance(dim, int) and -input.dim() <= dim < input.dim()}
    if told or not among or len(among) < len(dims) or not (input.is_meta and input.is_floating_point()):
        return function(input, *args, **kwargs)
    sizes = [1 if at in among else size for at, size in enumerate(input.shape) if keep or at not in among]
    return like(input, tuple(sizes))


def _fits(name: str, got: int, wanted: int) -> None:
    """A rule computes shapes alone, so it must refuse what the function itself would refuse."""
    if got != wanted:
        message = f"{name} expects {wanted} channels or features, but its input has {got}"
        raise ValueError(message)


_NORMS = {"batch_norm": 2, "instance_norm": 2, "layer_norm": 1, "group_norm": 1, "rms_norm": 1}
_ELEMENTWISE = ("add", "sub", "mul", "div")
# fmt: off
_ACTIVATIONS = (
    "relu", "relu_", "relu6", "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "prelu", "rrelu", "elu", "elu_",
    "selu", "celu", "gelu", "silu", "mish", "hardswish", "hardsigmoid", "sigmoid", "sigmoid_", "logsigmoid", "tanh",
    "tanh_", "softplus", "softsign", "hardshrink", "softshrink", "tanhshrink", "threshold", "threshold_", "softmax",
    "softmin", "log_softmax",
)
# fmt: on


def _table() -> dict[Any, Rule]:
    """Which rule stands for which function; a function that torch offers in several places has one in each."""
    rules: dict[Any, Rule] = {
        functional.linear: _linear,
        torch.matmul: partial(_matmul, "matmul"),
        torch.Tensor.matmul: partial(_matmul, "@"),
        torch.linalg.vecdot: _vecdot,
        functional.multi_head_attention_forward: attention.multi_head,
        functional.scaled_dot_product_attention: attention.scaled_dot_product,
    }
    for n in (1, 2, 3):
        rules[getattr(functional, f"conv{n}d")] = _convolution
        rules[getattr(functional, f"conv_transpose{n}d")] = _transposed_convolution
        rules[getattr(functional, f"max_pool{n}d")] = partial(_max_pool, n)
        rules[getattr(functional, f"avg_pool{n}d")] = partial(_avg_pool, n)
        rules[getattr(functional, f"adaptive_avg_pool{n}d")] = partial(_adaptive_avg_pool, n)
        rules[getattr(functional, f"adaptive_max_pool{n}d")] = partial(_adaptive_max_pool, n)
        rules[getattr(torch, f"max_pool{n}d")] = partial(_max_pool, n)
    rules[torch.avg_pool1d] = partial(_avg_pool, 1)
    rules[torch.adaptive_avg_pool1d] = partial(_adaptive_avg_pool, 1)
    for name, weight_at in _NORMS.items():
        rules[getattr(functional, name)] = partial(_norm, name, weight_at)
    rules[functional.local_response_norm] = partial(_norm, "local_response_norm", math.inf)
    for name in _ACTIVATIONS:
        for place in (functional, torch, torch.Tensor):
            if hasattr(place, name):
                rules[getattr(place, name)] = partial(_activation, name)
    return rules


def _counts_nothing() -> dict[Any, Rule]:
    """What stands for functions that count nothing and whose shape takes torch long to find."""
    found: dict[Any, Rule] = {}
    for name, rule in (*((name, _elementwise) for name in _ELEMENTWISE), ("mean", _reduced), ("sum", _reduced)):
        for place in (torch, torch.Tensor):
            found[getattr(place, name)] = partial(rule, getattr(place, name))
    for name in ("cat", "concat", "concatenate"):
        found[getattr(torch, name)] = partial(_joined, getattr(torch, name))
    return found


RULES = _table()
SHAPES = _counts_nothing()
