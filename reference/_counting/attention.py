"""Attention by its formula: projections, and the two products between queries, keys and values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .shapes import UnsureError, alike, broadcast, like

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from .trace import CountedOperation, Shape


def scaled_dot_product(  # noqa: PLR0913 - torch's signature
    add: Callable[..., CountedOperation],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,  # noqa: ARG001
    is_causal: bool = False,  # noqa: FBT001, FBT002, ARG001
    *,
    scale: float | None = None,  # noqa: ARG001
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(Q K^T / sqrt(E)) V: L S (E + Ev) multiply-accumulates a head. A mask saves none.

    What stands before length and features broadcasts, in each of the two products for itself; with `enable_gqa` each
    head of keys and values is read by several of queries.
    """
    alike(query, key, value)
    queries, keys, values = tuple(query.shape), tuple(key.shape), tuple(value.shape)
    if min(len(queries), len(keys), len(values)) < 2 or queries[-1] != keys[-1] or keys[-2] != values[-2]:  # noqa: PLR2004
        raise UnsureError
    if enable_gqa:
        keys, values = _for_all_heads(keys, queries), _for_all_heads(values, queries)
    scores = (*broadcast(queries[:-2], keys[:-2]), queries[-2], keys[-2])
    masked = scores if attn_mask is None else broadcast(scores, tuple(attn_mask.shape))
    if masked[-2:] != scores[-2:]:
        raise UnsureError
    out = (*broadcast(masked[:-2], values[:-2]), queries[-2], values[-1])
    macs = math.prod(scores) * queries[-1] + math.prod(out) * keys[-2]
    _both_products(add, macs, queries, (keys[-2], values[-1]), masked, out)
    return like(query, out)


def _for_all_heads(shape: Shape, queries: Shape) -> Shape:
    if len(shape) < 3 or len(queries) < 3 or queries[-3] % shape[-3]:  # noqa: PLR2004
        raise UnsureError
    return (*shape[:-3], queries[-3], *shape[-2:])


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
    alike(query, key, value, out_proj_weight)
    length, batch = query.shape[0], tuple(query.shape[1:-1])
    if static_k is not None or static_v is not None or not key.shape[:-1] == value.shape[:-1] == (key.shape[0], *batch):
        raise UnsureError
    width = embed_dim_to_check
    for tensor, fixed in ((query, None), (key, static_k), (value, static_v)):
        if fixed is None:
            _projection(add, tuple(tensor.shape), width, biased=in_proj_bias is not None)
    source = key.shape[0] if static_k is None else static_k.shape[1]
    source += (bias_k is not None) + add_zero_attn
    heads = (*batch, num_heads, length, width // num_heads)
    scores = (*heads[:-1], source)
    _both_products(add, 2 * math.prod(scores) * heads[-1], heads, (source, heads[-1]), scores, heads)
    out = (*query.shape[:-1], out_proj_weight.shape[0])
    _projection(add, (*query.shape[:-1], width), out[-1], biased=out_proj_bias is not None)
    weights = (length, source) if average_attn_weights else (num_heads, length, source)
    return like(query, out), like(query, (*batch, *weights)) if need_weights else None


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


def _both_products(
    add: Callable[..., CountedOperation], macs: int, query: Shape, weight: Shape, scores: Shape, out: Shape
) -> None:
    """Q K^T and A V, and the softmax between them, of which the elements are counted."""
    name = "scaled_dot_product_attention"
    add(name, macs=macs, input_shape=query, weight_shape=weight, output_shape=out)
    add("attention_softmax", activation_outputs=math.prod(scores), input_shape=scores, output_shape=scores)
