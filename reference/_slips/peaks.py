"""Slips in what the activations of an ONNX model need at one time: which tensors are there, and until when."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from .._onnx.memory import activations_of, largest_node
from .common import BYTE_UNITS
from .compose import Library, Names, Slip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from fractions import Fraction

    from .._onnx.run import Run
    from .._onnx.tensors import Tensor
    from .compose import WantedProducts


def _outputs(done: Run) -> list[int]:
    return sorted(each.size for step in done.steps for each in step.outputs)


def _kept(says: str, of: str) -> Slip:
    return Slip(of=of, change=lambda parts: [1] * len(parts), says=says)


# What is taken in place of the most that is there at one time.
_INSTEAD: Mapping[str, Callable[[Run], int]] = {
    "largest_node": largest_node,
    "largest_output": lambda done: _outputs(done)[-1],
    "largest_twice": lambda done: 2 * _outputs(done)[-1],
    "two_largest": lambda done: sum(_outputs(done)[-2:]),
}
PEAKS: Library = {
    "largest_node": _kept(
        "This is what the largest node reads and writes. Needed at one time is more: what an earlier node put out has "
        "to be kept until the last node that reads it has run, as over a skip connection.",
        "instead",
    ),
    "largest_output": _kept(
        "This is the largest single tensor. While it is written, what its node reads has to be kept, too.", "instead"
    ),
    "largest_twice": _kept(
        "This is twice the largest single tensor, as for two buffers in turn. More may be there at one time, as "
        "over a skip connection: add up what is there while each node runs.",
        "instead",
    ),
    "two_largest": _kept(
        "These are the two largest tensors together, whether they are there at the same time or not. Go through the "
        "nodes in their order and add up what is there while each runs.",
        "instead",
    ),
    "inputs_given_up": _kept(
        "A node's inputs are given up before its outputs are written. While it runs, both are there.", "inputs"
    ),
    "first_reader": _kept(
        "A tensor is given up behind the first node that reads it. Others may read it later, as over a skip "
        "connection: keep it until the last one has run.",
        "readers",
    ),
    "without_input": _kept(
        "The model's input is left out. It is kept until the last node that reads it has run.", "model's input"
    ),
    **BYTE_UNITS,
}


def values(done: Run, wanted: WantedProducts) -> Iterator[tuple[Names, int | Fraction]]:
    """What slips make of the most that is there at one time."""
    low, high = wanted.bounds or (-math.inf, math.inf)
    peak = functools.cache(functools.partial(_peak, done))
    for names in wanted.sets(PEAKS):
        ways = [name for name in names if name not in BYTE_UNITS]
        instead = [name for name in ways if name in _INSTEAD]
        if instead and len(ways) > 1:
            continue
        value = _INSTEAD[instead[0]](done) if instead else peak(frozenset(ways))
        for name in names:
            value *= PEAKS[name].change([None])[0]
        if low <= value <= high:
            yield names, value


def _peak(done: Run, ways: frozenset[str]) -> int:
    steps = [(_real(activations_of(step)), _real(step.outputs)) for step in done.steps]
    out = {id(each) for each in done.inputs} if "without_input" in ways else set()
    last: dict[int, int] = {}
    for at, (there, made) in enumerate(steps):
        for key in there:
            if "first_reader" not in ways:
                last[key] = at
            elif key not in made:  # what its own node writes is read by none yet
                last.setdefault(key, at)
    last |= dict.fromkeys(_real(done.outputs), len(steps))
    live = {key: size for key, size in _real(done.inputs).items() if key not in out}
    peak = sum(live.values())
    for at, (there, made) in enumerate(steps):
        if "inputs_given_up" in ways:
            live = {key: size for key, size in live.items() if last.get(key, at) > at} | made
        else:
            live |= {key: size for key, size in there.items() if key not in out}
        peak = max(peak, sum(live.values()))
        live = {key: size for key, size in live.items() if last.get(key, at) > at}
    return peak


def _real(tensors: Iterable[Tensor]) -> dict[int, int]:
    return {id(real): real.size for each in tensors for real in each.real()}
