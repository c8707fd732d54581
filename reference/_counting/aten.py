"""Counts what no rule knows: functions run on the meta device, and the kernels that multiply are counted.

This is what keeps an unfamiliar function (`torch.tensordot`, an LSTM, a decomposition) from silently counting nothing.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from torch.utils._python_dispatch import TorchDispatchMode

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from .trace import CountedOperation

# Kernels whose names say that they multiply matrices, but which no formula below knows.
_MULTIPLIES = re.compile(
    r"(^|_)(conv|convolution|deform|mm|bmm|baddbmm|addmm|addbmm|mv|addmv|dot|vdot|matmul|einsum|linear|bilinear"
    r"|trilinear|attention|lstm|gru|rnn|cdist|fft|multi_dot)(?![a-z])"
)
_INTERPOLATES = "upsample"


class Kernels(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records the multiplying kernels that run inside as operations of the function `name`."""

    def __init__(self, add: Callable[..., CountedOperation], name: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._add = add
        self._name = name

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run the kernel, then count it."""
        out = func(*args, **(kwargs or {}))
        kernel = func.overloadpacket.__name__
        formula = _FORMULAS.get(kernel)
        if formula:
            macs, bias = formula(out, *args)
            self._add(self._name, macs=macs, bias=bias, output_shape=tuple(out.shape))
        elif _MULTIPLIES.search(kernel) and not kernel.startswith(_INTERPOLATES):
            message = f"'{self._name}' runs '{func}', which multiplies, but there is no formula for it"
            raise NotImplementedError(message)
        return out


def _product(out: Tensor, left: Tensor, _: Tensor, *__: Any) -> tuple[int, int]:
    """mm, bmm, mv, dot: the last dimension of the left factor is summed over."""
    return math.prod(out.shape) * left.shape[-1], 0


def _added_product(out: Tensor, _: Tensor, left: Tensor, *__: Any) -> tuple[int, int]:
    """addmm, addmv, baddbmm: the same with something added to each element."""
    return math.prod(out.shape) * left.shape[-1], math.prod(out.shape)


def _summed_product(out: Tensor, _: Tensor, left: Tensor, *__: Any) -> tuple[int, int]:
    """addbmm: the batch is summed over, too."""
    return math.prod(out.shape) * left.shape[-1] * left.shape[0], math.prod(out.shape)


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


_FORMULAS: dict[str, Callable[..., tuple[int, int]]] = {
    "mm": _product,
    "bmm": _product,
    "mv": _product,
    "dot": _product,
    "vdot": _product,
    "addmm": _added_product,
    "addmv": _added_product,
    "baddbmm": _added_product,
    "addbmm": _summed_product,
    "convolution": _convolution,
}
