"""Programs of ExecuTorch (.pte): what they are made of, and how far off they are on inputs that nobody knew."""

from __future__ import annotations

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


def pte_operators(artifact: Path) -> dict[str, int]:
    """How often a program calls each kernel, such as `aten::convolution.out`; what delegates do is not in it.

    Raises:
        ValueError: it is no program of ExecuTorch.
    """
    return _programs.plan(artifact).operators


def pte_delegates(artifact: Path) -> int:
    """To how many delegates, such as XNNPACK, a program hands parts of its work.

    Raises:
        ValueError: it is no program of ExecuTorch.
    """
    return len(_programs.plan(artifact).delegates)
