"""Goes through a traced model call by call: which modules were called, which operators ran, what they put out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from .._counting.engine import inputs

if TYPE_CHECKING:
    from .._counting.engine import CountedSubject

_MOST_CALLS = 1_000_000
_last: list[tuple[CountedSubject, ForwardTrace]] = []


@dataclass(frozen=True, slots=True)
class TracedTensor:
    """What is known of a value: its shape and the bytes of an element. `parameter`: it is a weight of the model's."""

    shape: tuple[int, ...]
    element_bytes: int
    parameter: bool = False

    @property
    def elements(self) -> int:
        """How many there are."""
        product = 1
        for size in self.shape:
            product *= size
        return product

    @property
    def bytes(self) -> int:
        """What it takes to keep it."""
        return self.elements * self.element_bytes


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator that ran, `aten::linear`: what it read (None: no tensor) and what it put out."""

    kind: str
    where: str
    inputs: tuple[Any, ...]
    outputs: tuple[TracedTensor, ...]


@dataclass(frozen=True, slots=True)
class ModuleCall:
    """One call of a module, by its dotted name; `leaf`: there is no module inside of it."""

    module: str
    leaf: bool
    outputs: tuple[TracedTensor, ...]


@dataclass(frozen=True, slots=True)
class ForwardTrace:
    """All calls and operators of one forward pass, and the traced module itself."""

    module: Any
    calls: tuple[ModuleCall, ...]
    operators: tuple[Operator, ...]


def traced(subject: CountedSubject) -> ForwardTrace:
    """What one forward pass of a subject calls and runs. The last one is remembered: do not change it.

    Raises:
        ValueError: a shape was not recorded, or the model calls itself without end.
    """
    if not (_last and _last[0][0] is subject):  # a dozen quantities of one subject are asked for in a row
        _last[:] = [(subject, _traced(subject))]
    return _last[0][1]


def shaped(subject: CountedSubject) -> tuple[Any, Any]:
    """The module and its input, of which shapes and sizes alone are asked for."""
    found: tuple[Any, Any] = getattr(subject, "with_any_weights", subject.with_weights)()
    return found


def _traced(subject: CountedSubject) -> ForwardTrace:
    model, given = shaped(subject)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch, about a format that courses still use
        module: Any = torch.jit.trace(model, given, check_trace=False)  # type: ignore[no-untyped-call]
        walk = _ForwardPass()
        walk.call(module, "", "forward", tuple(TracedTensor(tuple(x.shape), x.element_size()) for x in inputs(given)))
    return ForwardTrace(module, tuple(walk.calls), tuple(walk.operators))


class _ForwardPass:
    def __init__(self) -> None:
        self.calls: list[ModuleCall] = []
        self.operators: list[Operator] = []

    def call(self, module: Any, name: str, method: str, given: tuple[object, ...]) -> tuple[object, ...]:
        """Go through one method of a module; what it returns."""
        if len(self.calls) > _MOST_CALLS:
            message = f"'{name}' is called more often than {_MOST_CALLS:,} times"
            raise ValueError(message)
        graph = module._c._get_method(method).graph  # noqa: SLF001 - there is no public name for a traced method
        known: dict[str, object] = {}
        names: dict[str, str] = {}
        for value, own in zip(graph.inputs(), ((module, name), *((each, "") for each in given)), strict=True):
            known[value.debugName()], names[value.debugName()] = own
        for node in graph.nodes():
            self._node(node, known, names, name)
        returned = tuple(known.get(value.debugName()) for value in graph.outputs())
        leaf = next(iter(module.children()), None) is None
        self.calls.append(ModuleCall(name, leaf, tuple(_tensors(returned))))
        return returned

    def _node(self, node: Any, known: dict[str, object], names: dict[str, str], where: str) -> None:
        kind = node.kind()
        inputs = [known.get(value.debugName()) for value in node.inputs()]
        outputs = [value.debugName() for value in node.outputs()]
        if kind == "prim::GetAttr":
            owner = next(iter(node.inputs())).debugName()
            found = getattr(inputs[0], node.s("name"))
            known[outputs[0]] = _attribute(found)
            names[outputs[0]] = f"{names[owner]}.{node.s('name')}".lstrip(".")
        elif kind == "prim::CallMethod":
            owner = next(iter(node.inputs())).debugName()
            returned = self.call(inputs[0], names[owner], node.s("name"), tuple(inputs[1:]))
            known.update(zip(outputs, returned, strict=True))
        elif kind in ("prim::TupleConstruct", "prim::ListConstruct"):
            known[outputs[0]] = tuple(inputs)
        elif kind in ("prim::TupleUnpack", "prim::ListUnpack") and isinstance(inputs[0], tuple):
            known.update(zip(outputs, inputs[0], strict=True))
        elif kind == "prim::Constant":
            known[outputs[0]] = node.output().toIValue()
        else:
            own = {value.debugName(): _recorded(value) for value in node.outputs()}
            known.update(own)
            if kind.startswith("aten::"):
                self.operators.append(Operator(kind, where, tuple(inputs), tuple(_tensors(tuple(own.values())))))


def _attribute(found: Any) -> object:
    """A module, or what is known of a tensor of one."""
    if not isinstance(found, torch.Tensor):
        return found
    return TracedTensor(tuple(found.shape), found.element_size(), parameter=isinstance(found, torch.nn.Parameter))


def _recorded(value: Any) -> object:
    """The tensor that a value was while it was traced; None for what is no tensor.

    Raises:
        ValueError: it was a tensor, and its shape is not there.
    """
    kind = value.type()
    if kind.kind() != "TensorType":
        return None
    sizes, element = kind.sizes(), kind.dtype()
    if sizes is None or element is None:
        message = f"the shape of '{value.debugName()}', which {value.node().kind()} puts out, was not recorded"
        raise ValueError(message)
    return TracedTensor(tuple(sizes), element.itemsize)


def _tensors(values: tuple[object, ...]) -> list[TracedTensor]:
    found: list[TracedTensor] = []
    for value in values:
        found += [value] if isinstance(value, TracedTensor) else _tensors(value) if isinstance(value, tuple) else []
    return found
