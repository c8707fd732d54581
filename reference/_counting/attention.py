"""Attention by its formula: projections, and the two products between queries, keys and values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .shapes import like

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from .trace import CountedOperation, Shape


def scaled_dot_product(
    add: Callable[..., CountedOperation],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *_: Any,
    **__: Any,
) -> Tensor:
    """softmax(Q K^T / sqrt(E)) V: L S (E + Ev) multiply-accumulates a head. A mask saves none."""
    out = (*query.shape[:-1], value.shape[-1])
    _products(add, tuple(query.shape), key.shape[-2], value.shape[-1])
    return like(query, out)


def multi_head(  # noqa: PLR0913, PLR0917 - torch's signature
    add: Callable[..., CountedOperation],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,  # noqa: ARG001 - one matrix or three: the products are the same
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,  # noqa: ARG001 - there is one exactly where there is a bias_k
    add_zero_attn: bool,  # noqa: FBT001
    dropout_p: float,  # noqa: ARG001
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,  # noqa: FBT001, FBT002, ARG001
    key_padding_mask: Tensor | None = None,  # noqa: ARG001
    need_weights: bool = True,  # noqa: FBT001, FBT002
    attn_mask: Tensor | None = None,  # noqa: ARG001
    *_: Any,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    **__: Any,
) -> tuple[Tensor, Tensor | None]:
    """Projections of queries, keys and values (length, [batch,] features), attention by head, output projection."""
    length, batch = query.shape[0], tuple(query.shape[1:-1])
    width = embed_dim_to_check
    for tensor, fixed in ((query, None), (key, static_k), (value, static_v)):
        if fixed is None:
            _projection(add, tuple(tensor.shape), width, biased=in_proj_bias is not None)
    source = key.shape[0] if static_k is None else static_k.shape[1]
    source += (bias_k is not None) + add_zero_attn
    heads = (*batch, num_heads, length, width // num_heads)
    _products(add, heads, source, width // num_heads)
    out = (*query.shape[:-1], out_proj_weight.shape[0])
    _projection(add, (*query.shape[:-1], width), out[-1], biased=out_proj_bias is not None)
    scores = (length, source) if average_attn_weights else (num_heads, length, source)
    return like(query, out), like(query, (*batch, *scores)) if need_weights else None


def _projection(add: Callable[..., CountedOperation], shape: Shape, width: int, *, biased: bool) -> None:
    out = (*shape[:-1], width)
    elements = math.prod(out)
    add(
        "linear",
        macs=elements * shape[-1],
        bias=elements if biased else 0,
        input_shape=shape,
        weight_shape=(width, shape[-1]),
        output_shape=out,
    )


def _products(add: Callable[..., CountedOperation], query: Shape, source: int, value_width: int) -> None:
    """Q K^T and A V, and the softmax between them, of which the elements are counted."""
    scores = math.prod(query[:-1]) * source
    out = (*query[:-1], value_width)
    add(
        "scaled_dot_product_attention",
        macs=scores * (query[-1] + value_width),
        input_shape=query,
        weight_shape=(source, value_width),
        output_shape=out,
    )
    shape = (*query[:-1], source)
    add("attention_softmax", activation_outputs=scores, input_shape=shape, output_shape=shape)
