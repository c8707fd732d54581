"""What one forward pass did, as tools see it: calls of modules and of functions, and what each multiplies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from torch import nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .._counting.trace import Call, CountedOperation, Function, Shape, Trace

RECURRENT = (nn.RNNBase, nn.RNNCellBase)
PROJECTIONS, PRODUCTS = "the projections of nn.MultiheadAttention", "the two products of nn.MultiheadAttention"
BIASES, SOFTMAX, UPSAMPLING, POOLING = "biases", "softmax", "upsampling", "pooling"
DROPOUT = "dropout"
_ELEMENTWISE = {
    **dict.fromkeys(("add", "sub", "rsub"), "sums of elements"),
    **dict.fromkeys(("mul", "div"), "products of elements"),
}
_NORMS = {"BatchNorm": "batch norm", "InstanceNorm": "instance norm", "SyncBatchNorm": "batch norm"}
_FUNCTIONAL_NORMS = {
    "batch_norm": "batch norm",
    "instance_norm": "instance norm",
    "group_norm": "group norm",
    "layer_norm": "layer norm",
    "rms_norm": "RMS norm",
}
_LARGE = 2_000_000  # parameters
_SEQUENCE = 3  # dimensions from which on a linear layer works on more than the rows of a batch


class UnknownRuleError(Exception):
    """A network does something of which it is not known what the tool makes of it: then the tool is not named."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What a tool counts for one thing. `how` says how, where that is not as it should be: "by its output"."""

    what: str
    count: int
    how: str = ""


class Net:
    """A trace with what tools ask of it. `weights` builds the network with values, and its input."""

    def __init__(self, trace: Trace, weights: Callable[[], tuple[nn.Module, Any]] | None = None) -> None:
        self.trace, self._weights = trace, weights
        self.root, self.batch = trace.root, trace.batch
        self.calls, self.functions = trace.calls, trace.functions

    @cached_property
    def around(self) -> dict[int, tuple[Call, ...]]:
        """The calls around each call, outermost first, by its id."""
        found: dict[int, tuple[Call, ...]] = {}
        open_: list[Call] = []
        for call in self.calls:
            del open_[call.depth :]
            found[id(call)] = tuple(open_)
            open_.append(call)
        return found

    def values(self) -> dict[str, nn.Parameter]:
        """The parameters with their values, by name; none of a large network, which takes long to build."""
        if self._weights is None or sum(each.numel() for each in self.root.parameters()) > _LARGE:
            return {}
        return dict(self._weights()[0].named_parameters(remove_duplicate=False))

    @cached_property
    def first_calls(self) -> list[Call]:
        """The first call of each module."""
        return list({id(call.module): call for call in reversed(self.calls)}.values())[::-1]

    @cached_property
    def last_calls(self) -> list[Call]:
        """The last call of each module."""
        return list({id(call.module): call for call in self.calls}.values())

    def leaves(self) -> Iterator[Call]:
        """The calls of modules without modules inside."""
        return (call for call in self.calls if not any(call.module.children()))

    def needs(self, *known: type[nn.Module]) -> None:
        """Nothing, where all recurrent modules are of these classes.

        Raises:
            UnknownRuleError: one is of another.
        """
        for call in self.calls:
            if isinstance(call.module, RECURRENT) and not isinstance(call.module, known):
                raise UnknownRuleError(call.type)


def kind(call: Call) -> str:
    """The class of a module where it is torch's own; tools that look up the class miss those derived from it."""
    return call.type if type(call.module).__module__.startswith("torch.nn.") else ""


def size(shape: Sequence[int]) -> int:
    """How many elements there are."""
    return math.prod(shape)


def x(call: Call) -> Shape:
    """The shape of a call's first input.

    Raises:
        UnknownRuleError: it was given by name, so that a hook would not see it.
    """
    if not call.inputs:
        raise UnknownRuleError(call.type)
    return call.inputs[0]


def y(call: Call) -> Shape:
    """The shape of a call's first output."""
    return call.outputs[0] if call.outputs else ()


def is_shape(value: Any) -> bool:
    """Whether it stands for one tensor, and not for several."""
    return isinstance(value, tuple) and all(isinstance(each, int) for each in value)


def affine(call: Call) -> bool:
    """Whether a normalisation has a scale of its own."""
    return bool(getattr(call.module, "affine", False) or getattr(call.module, "elementwise_affine", False))


# ---- names --------------------------------------------------------------------------------------------------------


def name_of(call: Call) -> str:
    """What a module's work is called in a sentence."""
    module: Any = call.module
    if isinstance(module, _ConvTransposeNd):
        return "transposed convolutions"
    if isinstance(module, _ConvNd):
        return "convolutions with groups" if module.groups > 1 else "convolutions"
    if isinstance(module, nn.Linear):
        return "linear layers on several rows" if len(y(call)) >= _SEQUENCE else "linear layers"
    if isinstance(module, RECURRENT):
        return f"nn.{call.type}"
    if isinstance(module, _NormBase | nn.GroupNorm | nn.LayerNorm | nn.RMSNorm):
        own = call.type.rstrip("d123").removeprefix("Lazy")
        return _NORMS.get(own) or own.replace("Norm", " norm").replace("Group", "group").replace("Layer", "layer")
    if "Pool" in call.type:
        return POOLING
    if "Upsampl" in call.type:
        return UPSAMPLING
    if "Dropout" in call.type:
        return DROPOUT
    return call.type


def name_of_function(function: Function) -> str:
    """What a function's work is called, where no product is meant."""
    name = function.name
    if name in _FUNCTIONAL_NORMS:
        return _FUNCTIONAL_NORMS[name]
    if "pool" in name:
        return POOLING
    if name == "interpolate":
        return UPSAMPLING
    if name in ("softmax", "log_softmax", "softmin"):
        return SOFTMAX
    if (bare := name.strip("_").removeprefix("i")) in _ELEMENTWISE:
        return _ELEMENTWISE[bare]
    if name == "mean":
        return "means"
    own = function.call.type
    return own if function.call.leaf and own.lower() == name.rstrip("_").replace("_", "") else f"F.{name.rstrip('_')}"


def is_functional(function: Function) -> bool:
    """Whether it is one of torch.nn.functional, and not torch's or a tensor's own of the same name."""
    place = getattr(function.function, "__module__", "")
    return place == "torch.nn.functional" or function.name in ("gelu", "prelu")  # under other names the same


def is_kept(function: Function) -> bool:
    """Whether a layer has kept the function since it was made, so that no tool can replace it any more."""
    holds = isinstance(function.call.module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer)
    return holds and function.name in ("relu", "gelu")


def product_name(function: Function, operation: CountedOperation) -> str:
    """What a product is called in a sentence: the layer that it belongs to, or the function that computes it."""
    call, name = operation.call, operation.name
    if isinstance(call.module, nn.MultiheadAttention):
        return PRODUCTS if name == "scaled_dot_product_attention" else PROJECTIONS
    if isinstance(call.module, RECURRENT):
        return name_of(call)
    if name == "scaled_dot_product_attention":
        return "the two products of F.scaled_dot_product_attention"
    convolution = name.startswith("conv") and isinstance(call.module, _ConvNd)
    if convolution or (name == "linear" and isinstance(call.module, nn.Linear)):
        return name_of(call)
    if name == "linear" or name.startswith("conv"):
        return f"F.{name}"
    if name in ("@", "matmul"):
        return "products with @ or matmul"
    return f"torch.{function.name}" if function.name == "einsum" else function.name


def right(net: Net, *, layers: Sequence[str] | None, bias: bool, each: int, of_weights: bool = True) -> list[Piece]:
    """What is right, by the same names, a MAC so many times; of the modules of these classes alone, where there are.

    `of_weights`: with the products that make weights of weights.
    """
    found = []
    for function in net.functions:
        for operation in function.operations:
            types = {one.__name__ for one in type(operation.call.module).__mro__}
            if layers is not None and not types & set(layers):
                continue
            if operation.macs and (of_weights or not operation.of_weights):
                found.append(Piece(product_name(function, operation), each * operation.macs))
            if operation.bias and bias:
                found.append(Piece(BIASES, each * operation.bias))
    return found
