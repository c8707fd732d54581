"""What one forward pass leaves behind: the module calls and the operations, in the order in which they began."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

Shape = tuple[int, ...]


def class_names(module: torch.nn.Module) -> tuple[str, ...]:
    """The class of a module and those that it derives from; before them that of which a scripted one was made."""
    made_of = getattr(module, "original_name", None) if is_scripted(module) else None
    return (*((str(made_of),) if made_of else ()), *(kind.__name__ for kind in type(module).__mro__))


def is_scripted(module: torch.nn.Module) -> bool:
    """Whether TorchScript runs a module, so that nothing is seen of the calls in it."""
    kind: Any = type(module)
    return _is_scripted(kind)


@functools.cache
def _layers() -> frozenset[str]:
    """The classes of torch's layers that hold no others."""
    from torch import nn

    of = nn.modules
    modules = [of.linear, of.conv, of.batchnorm, of.pooling, of.dropout, of.activation, of.normalization]
    modules += [of.instancenorm, of.flatten, of.rnn, of.sparse, of.padding, of.upsampling]
    return frozenset(name for module in modules for name in module.__all__) - {"MultiheadAttention"}


@functools.cache
def _is_scripted(kind: Any) -> bool:
    return any(each.__module__ == "torch.jit._script" for each in kind.__mro__)


class UncountableError(NotImplementedError):
    """Nobody can tell: something runs that no rule knows, or that is not seen. It says what, and where it stands."""


@dataclass(slots=True)
class Call:
    """One call of a module. `name` is dotted, '' for the root; `depth` is the number of calls around it.

    `inputs` are the shapes of the tensors that it was given, `outputs` of those that came out, `output_bytes` their
    size; `alike`: it was given one tensor, however often; `paired`: its last two inputs are one; `packed`: one is a
    PackedSequence; `leaf`: it called no other module; `finished` is its place in the order of completion. `hidden` says
    why what came out is not all known.
    """

    name: str
    module: torch.nn.Module
    depth: int
    leaf: bool = True
    inputs: tuple[Shape, ...] = ()
    alike: bool = False
    paired: bool = False
    packed: bool = False
    outputs: tuple[Shape, ...] = ()
    output_bytes: int = 0
    finished: int = -1
    hidden: str = ""

    @property
    def type(self) -> str:
        """The name of the module's class; a scripted module keeps that of the module it was made of."""
        return class_names(self.module)[0]

    @property
    def sealed(self) -> bool:
        """Whether TorchScript runs the module, so that nothing is seen of the layers in it."""
        return is_scripted(self.module) and any(True for _ in self.module.children())

    @property
    def blended(self) -> bool:
        """Whether TorchScript runs the module, and it is none of torch's layers: others may be frozen into it."""
        return self.sealed or (is_scripted(self.module) and self.type not in _layers())


@dataclass(slots=True)
class CountedOperation:
    """One operation, charged to the innermost module call around it.

    `macs` are multiply-accumulates without bias; `bias` counts the elements to which a bias is added; `norm_inputs`,
    `pooling_inputs`, `pooling_outputs` and `activation_outputs` count elements, 0 where the operation is of another
    kind. Counts are for the whole batch. `of_weights`: it makes a weight of weights, whatever the input is.
    `gradients`: of how many of its operands training asks for a gradient.
    """

    call: Call
    name: str
    macs: int = 0
    bias: int = 0
    norm_inputs: int = 0
    pooling_inputs: int = 0
    pooling_outputs: int = 0
    activation_outputs: int = 0
    affine: bool = False
    input_shape: Shape = ()
    weight_shape: Shape = ()
    output_shape: Shape = ()
    groups: int = 1
    of_weights: bool = False
    gradients: int = 2

    @property
    def output_elements(self) -> int:
        """How many elements the output has."""
        return math.prod(self.output_shape)


@dataclass(frozen=True, slots=True)
class Function:
    """One call of a torch function, with the operations that were counted for it: what tools that patch functions see.

    `args` are what it was called with, where a tensor stands for its shape alone. `contiguous`: the first of them lies
    in one piece, as kernels like it. `method`: it was called as a method of a tensor, not as a function or an operator.
    """

    call: Call
    function: Any
    args: tuple[Any, ...]
    options: dict[str, Any]
    output: Any
    operations: tuple[CountedOperation, ...]
    contiguous: bool = True
    method: bool = False

    @property
    def name(self) -> str:
        """What the function is called: `conv2d`, `add`."""
        return str(getattr(self.function, "__name__", self.function))

    @property
    def macs(self) -> int:
        """What it multiplies."""
        return sum(each.macs for each in self.operations)


@dataclass(slots=True)
class Trace:
    """Everything that one forward pass did.

    `unnamed`: what computed without saying which layer it is, so that nobody can tell whether it is a norm, a pool or
    an activation; `unbiased`: or the adding of a bias. `uncounted`: what multiplies in a way that nobody can count.
    """

    root: torch.nn.Module
    batch: int
    calls: list[Call] = field(default_factory=list)
    operations: list[CountedOperation] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    unnamed: str = ""
    unbiased: str = ""
    uncounted: str = ""

    def layer(self, call: Call) -> str:
        """What a call's module is called in a table: its dotted name, the root its class."""
        return call.name or type(self.root).__name__
