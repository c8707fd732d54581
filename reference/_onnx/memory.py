"""Bytes moved and bytes held, from the steps of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .run import NodeRun, Run
    from .tensors import Tensor


def moved(done: Run, policy: str, *, constants: bool) -> int:
    """The bytes that all steps read and write."""
    fixed = {"weight", "constant"} if policy == "activations_only" else set() if constants else {"constant"}
    tensors = [each for step in done.steps for each in (*_read(step), *step.outputs) if each.kind not in fixed]
    if policy == "per_tensor":
        unique = {id(real): real for each in tensors for real in each.real()}
        return sum(each.size for each in unique.values())
    return sum(each.size for each in tensors)


def largest_node(done: Run) -> int:
    """The most that one step reads and writes, weights aside."""
    return max((sum(each.size for each in activations_of(step)) for step in done.steps), default=0)


def peak_live(done: Run) -> int:
    """The most that is alive at a time, weights aside."""
    last: dict[int, int] = {}
    for at, step in enumerate(done.steps):
        last |= {id(real): at for each in activations_of(step) for real in each.real()}
    for each in done.outputs:
        last |= {id(real): len(done.steps) for real in each.real()}
    live = {id(each): each.size for each in done.inputs}
    peak = sum(live.values())
    for at, step in enumerate(done.steps):
        live |= {id(real): real.size for each in activations_of(step) for real in each.real()}
        peak = max(peak, sum(live.values()))
        live = {key: size for key, size in live.items() if last.get(key, at) > at}
    return peak


def _read(step: NodeRun) -> Iterator[Tensor]:
    return (each for each in step.inputs if each is not None)


def activations_of(step: NodeRun) -> list[Tensor]:
    """The inputs and activations that a step reads or writes, each once."""
    both = (*_read(step), *step.outputs)
    return list({id(each): each for each in both if each.kind in ("input", "activation")}.values())
