"""Programs of ExecuTorch (.pte): what they are made of, and how far off they are on inputs that nobody knew."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from . import _programs
from ._networks import largest_error, scripted

if TYPE_CHECKING:
    from pathlib import Path

    import torch


def pte_relative_error(
    artifact: Path, *, original: str = "", input_shape: list[int] | None = None, draws: int = 2
) -> float:
    """How far a program's output is from the network's on fresh inputs, as a share of its largest value.

    The largest difference over `draws` inputs, drawn from a normal distribution; ExecuTorch's runtime runs the program
    in a process of its own.

    Raises:
        ValueError: it is no program, it does not run on such an input, or its output has another shape.
    """

    def run(given: list[torch.Tensor]) -> list[torch.Tensor]:
        return _programs.run(artifact, given)

    return largest_error(run, scripted(artifact.parent / original), input_shape, draws)


# Kernels that hand a tensor on as it is: of an input that is cloned, of one that a layer has written into.
_COPIES = re.compile(r"\w+::_?(clone|copy|(alias|detach|lift_fresh)_copy|clone_dim_order|to_dim_order_copy)_?(\.\w+)?")


def pte_operators(artifact: Path, *, copies: bool = True) -> dict[str, int]:
    """How often a program calls each kernel, such as `aten::convolution.out`; what delegates do is not in it.

    `copies`: those count that only copy a tensor, such as `dim_order_ops::_clone_dim_order.out`.

    Raises:
        ValueError: it is no program of ExecuTorch.
    """
    called = _programs.plan(artifact).operators
    return {name: count for name, count in called.items() if copies or not _COPIES.fullmatch(name)}


def pte_delegates(artifact: Path) -> int:
    """To how many delegates, such as XNNPACK, a program hands parts of its work.

    Raises:
        ValueError: it is no program of ExecuTorch.
    """
    return len(_programs.plan(artifact).delegates)
