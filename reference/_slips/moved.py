"""What an ONNX model moves and keeps: what nodes read and write, and what is there from the start."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from .._onnx.load import load
from .._onnx.naive import sizes_by_inference
from .._onnx.run import run
from .compose import Composition, Library, Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from .._onnx.run import NodeRun, Run
    from .._onnx.tensors import Tensor

READ, WEIGHT, CONSTANT, WRITTEN = "read", "read weight", "read constant", "written"
GIVEN, STORED, HELD = "given", "stored", "held"
# Whose shape goes to the inputs (and that what has no shape counts nothing), and for what an open dimension counts.
INFERRED: Mapping[str, tuple[str, int]] = {
    "nothing": ("", 0),
    "nothing_after_batch": ("whole", 0),
    "one": ("", 1),
    "without_shape": ("no shape", 1),
    "one_after_batch": ("whole", 1),
    "one_sample": ("sample", 1),
}
_LARGEST = 1 << 20
ALL = (READ, WEIGHT, CONSTANT, WRITTEN, GIVEN, STORED, HELD)


class Moved:
    """A tensor that a node reads (its `at`th input) or writes; without a node, one that is there from the start.

    `again`: it was moved before; `reread`: it was read before. `ends`: it is an output of the graph. `known`: what
    onnx's own inference finds. `declared`: the file says its shape. `typed`: the file keeps it in a field of its type.
    """

    __slots__ = ("again", "at", "declared", "ends", "known", "reread", "step", "tensor", "typed")

    def __init__(self, tensor: Tensor, step: NodeRun | None = None, at: int = 0) -> None:
        self.tensor, self.step, self.at = tensor, step, at
        self.again = self.reread = self.ends = self.declared = self.typed = False
        self.known: Callable[[str], Mapping[str, int]]

    def inferred(self, how: str) -> int:
        """Its bytes by onnx's own inference, in one of the ways of `INFERRED`."""
        return self.known(how).get(self.tensor.name, 0)

    @property
    def operator(self) -> str:
        """The type of the node."""
        return self.step.node.op_type if self.step is not None else ""


def composition(
    artifact: Path, input_shape: Sequence[int] | None, counted: Callable[[str, Moved], bool], library: Library
) -> Composition:
    """What the run of a file moves, and what slips make of it; `counted` says what is right."""

    def make(_: object) -> list[Part]:
        done = run(artifact, list(input_shape) if input_shape else None).whole()
        moved = list(_moved(done))
        ends = {id(each) for each in done.outputs}
        seen: set[int] = set()
        read: set[int] = set()
        graph = load(artifact).graph
        declared = {each.name for each in (*graph.input, *graph.value_info, *graph.output)}
        typed = _typed(artifact)
        known = functools.cache(functools.partial(_inferred, artifact, input_shape))
        for kind, each in moved:
            each.ends = id(each.tensor) in ends
            each.again, each.reread = id(each.tensor) in seen, id(each.tensor) in read
            each.declared = each.tensor.name in declared
            each.known = known
            each.typed = each.tensor.name in typed
            if kind in (READ, WEIGHT, WRITTEN):
                seen.add(id(each.tensor))
            if kind == READ:
                read.add(id(each.tensor))
        return [
            Part(
                row=row_of(each),
                count=each.tensor.size,
                source=each,
                kind=kind,
                counted=counted(kind, each),
                thing=id(each.tensor),
            )
            for kind, each in moved
        ]

    return Composition(library=library, make=make)


def _typed(artifact: Path) -> frozenset[str]:
    """The weights that a small file keeps in fields of their type. What exporters write large ones into is raw."""
    if artifact.stat().st_size > _LARGEST:
        return frozenset()
    import onnx

    held = onnx.load(artifact, load_external_data=False).graph.initializer
    return frozenset(each.name for each in held if not (each.raw_data or each.external_data))


def _inferred(artifact: Path, input_shape: Sequence[int] | None, how: str) -> Mapping[str, int]:
    given, unknown = INFERRED[how]
    shapes = {"": None, "whole": input_shape, "sample": [1, *input_shape[1:]] if input_shape else None}
    return sizes_by_inference(artifact, shapes.get(given), unknown=unknown, shapeless=given != "no shape")


def _moved(done: Run) -> Iterator[tuple[str, Moved]]:
    yield from ((GIVEN, Moved(each)) for each in done.inputs)
    yield from ((STORED, Moved(each)) for each in done.weights)
    held: dict[int, Tensor] = {}
    kinds = {"weight": WEIGHT, "constant": CONSTANT}
    for step in done.steps:
        for at, each in enumerate(step.inputs):
            if each is not None:
                yield kinds.get(each.kind, READ), Moved(each, step, at)
                if each.kind == "constant":
                    held[id(each)] = each
        yield from ((WRITTEN, Moved(each, step, at)) for at, each in enumerate(step.outputs))
    yield from ((HELD, Moved(each)) for each in held.values())


def row_of(moved: Moved) -> str:
    """The row of a part: its node."""
    return str(id(moved.step)) if moved.step is not None else ""


def traffic(policy: str, *, constants: bool) -> Callable[[str, Moved], bool]:
    """What `onnx_traffic_bytes` counts."""

    def counted(kind: str, moved: Moved) -> bool:
        if kind not in (READ, WEIGHT, CONSTANT, WRITTEN) or (kind == CONSTANT and not constants):
            return False
        if policy == "per_tensor":
            return not moved.again
        return policy == "per_node" or kind in (READ, WRITTEN)

    return counted


def activations(*, graph_input: bool) -> Callable[[str, Moved], bool]:
    """What `onnx_activation_bytes` counts as a sum."""
    return lambda kind, _: kind == WRITTEN or (kind == GIVEN and graph_input)
