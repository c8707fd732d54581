"""Wrong values on purpose of MACs: those that leave out attention, or a part of it. None of these is ever right.

They are as in `slips.py`. docs/conventions.md says why counts with and without attention differ so much.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from torch import nn

from ._counting.engine import analyse
from ._slips.operations import MULTIPLYING
from .macs import macs

if TYPE_CHECKING:
    from ._counting.engine import CountedSubject


def macs_modules_only(subject: CountedSubject, *, layers: list[str] | None = None) -> int | None:
    """The MACs that convolution and linear modules do when they are called; None where `layers` are named.

    Comes of counting with module hooks: products inside an attention, and functional calls, are no modules.

    Slip of: macs
    Hint: Only what convolution and linear layers do when they are called is counted. What functions multiply (products
    of tensors, attention, recurrent layers) calls no such layer, so that a hook on these never sees it.
    Credit: 0.5 by share
    """
    if layers is not None or any(call.sealed for call in analyse(subject).calls):
        return None
    return macs(subject, layers=list(MULTIPLYING))


def macs_without_projections(subject: CountedSubject, *, layers: list[str] | None = None) -> int | None:
    """The MACs without those of queries, keys, values and output of attention modules; None where there are none.

    Comes of adding the products alone to what module hooks see. None, too, where `layers` are named.

    Slip of: macs
    Hint: The projections of attention are missing: queries, keys and values (in_proj_weight), and the output
    (out_proj), n * d * d each for n tokens and d features. They call no layer that a hook would see.
    Credit: 0.75 by share
    """
    return macs_without_attention(subject, part="projections") if layers is None else None


def macs_without_attention_products(subject: CountedSubject, *, layers: list[str] | None = None) -> int | None:
    """The MACs without queries by keys and weights by values in attention modules; None where there are none.

    Comes of counting the projections alone. None, too, where `layers` are named.

    Slip of: macs
    Hint: The products inside attention are missing. They are in no layer of their own (matmul, not a module), but
    they multiply: queries by keys, and the weights by the values, in every head.
    Credit: 0.75 by share
    """
    return macs_without_attention(subject, part="products") if layers is None else None


def macs_without_attention(subject: CountedSubject, *, part: Literal["projections", "products"]) -> int | None:
    """The MACs without a part of what attention modules do; None where no attention is a module.

    `projections`: of queries, keys and values, and of the output. `products`: queries by keys, and weights by values.
    """
    of_attention = [each for each in analyse(subject).operations if isinstance(each.call.module, nn.MultiheadAttention)]
    left_out = sum(each.macs for each in of_attention if (each.name == "linear") is (part == "projections"))
    return macs(subject) - left_out if of_attention else None
