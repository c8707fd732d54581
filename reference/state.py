"""What a model holds: parameters, buffers, and the bytes that they take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
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


def buffers(subject: CountedSubject) -> int:
    """How many elements the model's buffers have: state that is not trained, such as running statistics."""
    module, _ = subject.on_meta()
    return sum(buffer.numel() for buffer in module.buffers())


def buffer_bytes(subject: CountedSubject) -> int:
    """The bytes of the model's buffers; a counter such as num_batches_tracked has 8 bytes an element."""
    module, _ = subject.on_meta()
    return sum(buffer.nbytes for buffer in module.buffers())


def weight_bytes(subject: CountedSubject, *, buffers: bool = False) -> int:
    """The bytes of the model's parameters as they lie in memory: 4 an element in float32.

    With `buffers` their bytes are added, as in a saved state_dict.
    """
    module, _ = subject.on_meta()
    held = sum(parameter.nbytes for parameter in module.parameters())
    return held + sum(buffer.nbytes for buffer in module.buffers()) if buffers else held
