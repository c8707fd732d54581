"""What a model holds: parameters, buffers, and the bytes that they take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch

from ._counting.trace import UncountableError

if TYPE_CHECKING:
    from torch import nn

    from ._counting.engine import CountedSubject


def parameters(subject: CountedSubject, *, which: Literal["all", "trainable", "frozen"] = "all") -> int:
    """How many parameters the model has.

    A parameter that several modules share counts once. `trainable` ones require a gradient, `frozen` ones do not.
    Buffers (running statistics of a BatchNorm) are not parameters. Agrees with the `num_params` that torchvision
    publishes in `weights.meta`.
    """
    module, _ = subject.on_meta()
    wanted = {"all": (True, False), "trainable": (True,), "frozen": (False,)}[which]
    return sum(p.numel() for p in module.parameters() if p.requires_grad in wanted)


Which = Literal["all", "saved", "not_saved"]


def buffers(subject: CountedSubject, *, which: Which = "all") -> int:
    """How many elements the model's buffers have: state that is not trained, such as running statistics.

    `saved` ones are in a state_dict, `not_saved` ones are registered with persistent=False.
    """
    module, _ = subject.on_meta()
    return sum(buffer.numel() for buffer in _buffers(module, which))


def buffer_bytes(subject: CountedSubject, *, which: Which = "all") -> int:
    """The bytes of the model's buffers; a counter such as num_batches_tracked has 8 bytes an element.

    `saved` ones are in a state_dict, `not_saved` ones are registered with persistent=False.
    """
    module, _ = subject.on_meta()
    return sum(buffer.nbytes for buffer in _buffers(module, which))


def weight_bytes(subject: CountedSubject, *, buffers: bool = False) -> int:
    """The bytes of the model's parameters as they lie in memory: 4 an element in float32.

    With `buffers` the bytes of those that are saved are added, as in a saved state_dict.

    Raises:
        UncountableError: the state_dict holds something else than tensors.
    """
    module, _ = subject.on_meta()
    held = sum(parameter.nbytes for parameter in module.parameters())
    return held + sum(buffer.nbytes for buffer in _buffers(module, "saved")) if buffers else held


def _buffers(module: nn.Module, which: Which) -> list[torch.Tensor]:
    """The buffers, each once. One that has two names is saved if it is by one of them."""
    known = list(module.buffers())
    if which == "all":
        return known
    state = module.state_dict(keep_vars=True)
    for name, value in state.items():
        if not isinstance(value, torch.Tensor):
            message = f"'{name}' in the state_dict of {type(module).__name__} is no tensor, so its bytes can't be told"
            raise UncountableError(message)
    by_name = dict(module.named_buffers(remove_duplicate=False))
    saved = {id(by_name[name]) for name in by_name.keys() & state.keys()}
    return [buffer for buffer in known if (id(buffer) in saved) is (which == "saved")]
