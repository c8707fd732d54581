"""What a network that a student hands in holds and puts out: of its TorchScript."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._torchscript_file import loaded, ran

if TYPE_CHECKING:
    from pathlib import Path

    import torch


def times_as_many_parameters(artifact: Path, *, original: str = "") -> float:
    """How many times as many parameters a network has as the subject's; buffers are none, a shared one counts once.

    Raises:
        ValueError: the file is no TorchScript.
    """
    own, other = _parameters(loaded(artifact)), _parameters(loaded(artifact.parent / original))
    return own / other


def network_file_parameters(artifact: Path) -> int:
    """How many parameters a network has; buffers are none, a shared one counts once.

    Raises:
        ValueError: the file is no TorchScript.
    """
    return _parameters(loaded(artifact))


def network_file_sparsity(artifact: Path) -> float:
    """The share of weights that are zero, in all: of parameters with two dimensions or more, as layers' weights have.

    Biases and what a norm holds have one, and are left out; a shared one counts once.

    Raises:
        ValueError: the file is no TorchScript, or has no such weights.
    """
    weights = list(_weights(loaded(artifact)).values())
    if not weights:
        message = "the network has no weights of two dimensions or more"
        raise ValueError(message)
    return sum(int((each == 0).sum()) for each in weights) / sum(each.numel() for each in weights)


def network_file_sparsity_of_layers(artifact: Path) -> list[dict[str, Any]]:
    """By layer, the share of its weight that is zero; as in `network_file_sparsity`.

    Raises:
        ValueError: the file is no TorchScript.
    """
    weights = _weights(loaded(artifact)).items()
    return [
        {"layer": name.rpartition(".")[0] or name, "sparsity": int((each == 0).sum()) / each.numel()}
        for name, each in weights
    ]


def network_output_shape(artifact: Path, *, input_shape: list[int] | None = None) -> list[int]:
    """The shape of what a network puts out for an input of the subject's shape, in eval mode.

    Raises:
        ValueError: the file is no TorchScript, or the network does not take such an input.
    """
    import torch

    with torch.no_grad():
        made = ran(loaded(artifact).eval(), torch.zeros(input_shape or []))
    if not isinstance(made, torch.Tensor):
        message = f"the network puts out {type(made).__name__}, not one tensor"
        raise ValueError(message)  # noqa: TRY004 - what the student reads
    return list(made.shape)


def _parameters(module: torch.nn.Module) -> int:
    return sum(each.numel() for each in {id(each): each for each in module.parameters()}.values())


def _weights(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: each for name, each in module.named_parameters() if each.dim() > 1 and each.numel()}
