"""What tools print for parameters: most look at modules, and so miss some, or count some twice."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase

from .exported import convolution_before
from .hooked import CONV, NORMS, TRANSPOSED
from .net import Net, Piece, UnknownRuleError, x

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_AGAIN, _TIED = "again for each run", "again for each module that shares them"
_THOP = {
    *CONV,
    *TRANSPOSED,
    *NORMS,
    "LayerNorm",
    "Linear",
    "PReLU",
    "RNN",
    "GRU",
    "LSTM",
    "RNNCell",
    "GRUCell",
    "LSTMCell",
}
_NORMS = (_NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)
_CONTAINERS = (nn.Sequential, nn.ModuleList)
_ROWS = 2  # dimensions of what a linear layer works on without a transposed weight: rows of a batch


Held: TypeAlias = "tuple[nn.Parameter, str]"  # and how it is counted, where it was counted before


def differing(net: Net, rule: Callable[[Net], Iterator[Held]]) -> tuple[list[Piece], list[Piece]]:
    """What a tool counts, and what is right: each parameter once. Each has the class of the module that has it first.

    Where only frozen ones make a difference, they are called that.
    """
    made = list(rule(net))
    first: dict[int, tuple[nn.Module, nn.Parameter]] = {}
    for module in net.root.modules():
        for parameter in module.parameters(recurse=False):
            first.setdefault(id(parameter), (module, parameter))
    times = Counter(id(parameter) for parameter, _ in made)
    others = [held for key, (_, held) in first.items() if times[key] != 1]
    frozen = bool(others) and not any(each.requires_grad for each in others)
    names = {key: _name(net.root, *each, frozen=frozen) for key, each in first.items()}
    return (
        [Piece(names[id(parameter)], parameter.numel(), how) for parameter, how in made],
        [Piece(names[key], parameter.numel()) for key, (_, parameter) in first.items()],
    )


def _name(root: nn.Module, module: nn.Module, parameter: nn.Parameter, *, frozen: bool) -> str:
    if frozen and not parameter.requires_grad:
        return "frozen parameters"
    if module is root and not type(module).__module__.startswith("torch.nn."):
        return "parameters of the network itself"
    if type(module).__name__ == "NonDynamicallyQuantizableLinear":
        return "parameters of MultiheadAttention"
    return f"parameters of {type(module).__name__}"


def _held(module: nn.Module, known: set[int], how: str) -> Iterator[Held]:
    """The parameters in a module."""
    for parameter in (each for inner in module.modules() for each in inner.parameters(recurse=False)):
        yield parameter, how if id(parameter) in known else ""
        known.add(id(parameter))


def trainable(net: Net) -> Iterator[Held]:
    """Those that require a gradient."""
    return ((each, "") for each in net.root.parameters() if each.requires_grad)


def thop(net: Net) -> Iterator[Held]:
    """Those of modules for which thop has a rule, and which ran; not the root's own."""
    ran = {id(call.module) for call in net.calls}
    known: set[int] = set()

    def below(module: nn.Module) -> Iterator[Held]:
        for child in module.children():
            torch_own = type(child).__module__.startswith("torch.nn.")
            if torch_own and type(child).__name__ in _THOP:
                if id(child) in ran:
                    yield from _held(child, known, _TIED)
            elif not any(child.children()) or not isinstance(child, nn.MultiheadAttention):
                yield from below(child)

    yield from below(net.root)


def flopco(net: Net) -> Iterator[Held]:
    """Those of Conv2d and Linear."""
    known: set[int] = set()
    for module in net.root.modules():
        if type(module) in (nn.Conv2d, nn.Linear):
            yield from _held(module, known, _TIED)


def each_run(net: Net) -> Iterator[Held]:
    """By modelsummary: weight and bias of each module that is called, for each run of it."""
    ran: set[int] = set()
    known: set[int] = set()
    for call in net.calls:
        module: Any = call.module
        if not call.depth or isinstance(module, _CONTAINERS):
            continue
        for name in ("weight", "bias"):
            parameter = getattr(module, name, None)
            if isinstance(parameter, nn.Parameter):
                how = _AGAIN if id(module) in ran else _TIED
                yield parameter, how if id(parameter) in known else ""
                known.add(id(parameter))
        ran.add(id(module))


def torchsummary(net: Net) -> Iterator[Held]:
    """By torchsummary, which asks every output for its size.

    Raises:
        UnknownRuleError: a module puts out something else, or computes its weight, so that it fails or counts that.
    """
    for call in net.calls:
        if call.depth and (isinstance(call.module, nn.LSTM) or call.type.startswith("Parametrized")):
            raise UnknownRuleError(call.type)
    for function in net.functions:
        if function.name == "multi_head_attention_forward" and not function.options.get("need_weights", True):
            raise UnknownRuleError(function.name)  # None stands for the weights
    yield from each_run(net)


def of_leaves(net: Net) -> Iterator[Held]:
    """torch-summary and pytorch-model-summary: each module without modules inside that is called, once."""
    known: set[int] = set()
    for call in net.first_calls:
        if not any(call.module.children()):
            yield from _held(call.module, known, _TIED)


def of_modules(net: Net) -> Iterator[Held]:
    """torchinfo: what each module holds itself, so that a weight that two share counts twice."""
    known: set[int] = set()
    return _held(net.root, known, _TIED)


def exported(net: Net, *, fresh: bool = False) -> Iterator[Held]:
    """onnx-opcounter and onnx_tool: what lies in the file, where tensors with equal values are one.

    `fresh`: a network as it is made, where all norms of one width are equal.

    A large network is taken as trained: no two of its tensors are equal, but shared ones lie there twice.

    The weight of a linear layer on sequences is transposed, so that one shared with an embedding lies there twice. Of a
    batch norm behind a convolution the exporter makes a bias of that, or changes the one that it has.

    Raises:
        UnknownRuleError: the exporter may fold or merge something in another way.
    """
    norms: dict[int, Any] = {id(each): each for each in net.root.modules() if isinstance(each, _BatchNorm)}
    unknown = (_NormBase, nn.MultiheadAttention)
    others = [each for each in net.root.modules() if id(each) not in norms]
    if any(isinstance(each, unknown) or [*each.buffers(recurse=False)] for each in others):
        raise UnknownRuleError("buffers")  # noqa: EM101
    ran: set[int] = {id(call.module) for call in net.calls}
    if any(id(each) not in ran and [*each.parameters(recurse=False)] for each in net.root.modules()):
        raise UnknownRuleError("unused")  # noqa: EM101
    gone: set[int] = set()
    for function in net.functions:
        if function.name == "batch_norm" and id(function.call.module) in norms:
            before = convolution_before(net, function)
            norm = norms[id(function.call.module)]
            gone |= {id(norm.weight)} if before.bias is None else {id(norm.weight), id(norm.bias)}
    turned = {id(call.module) for call in net.calls if isinstance(call.module, nn.Linear) and len(x(call)) > _ROWS}
    values = _constants(net) if fresh else net.values()
    known: set[int] = set()
    kept: list[torch.Tensor] = []
    for path, module in net.root.named_modules():
        for name, parameter in module.named_parameters(path, recurse=False):
            value = values.get(name)
            laid = value.T if value is not None and id(module) in turned and parameter is module.weight else value
            if id(parameter) in gone or (laid is not None and any(torch.equal(laid, each) for each in kept)):
                continue
            yield parameter, _TIED if id(parameter) in known else ""
            known.add(id(parameter))
            kept += [laid] if laid is not None else []


def _constants(net: Net) -> dict[str, torch.Tensor]:
    """The parameters that torch's layers begin with, where these are no random numbers.

    Raises:
        UnknownRuleError: a module of another class has parameters of its own, which may be anything.
    """
    found = {}
    for path, module in net.root.named_modules():
        start = {"weight": 0.25} if isinstance(module, nn.PReLU) else {"weight": 1.0, "bias": 0.0}
        constant = isinstance(module, (nn.PReLU, *_NORMS))
        for name, parameter in module.named_parameters(path, recurse=False):
            if not type(module).__module__.startswith("torch.nn.modules"):
                raise UnknownRuleError(type(module).__name__)
            if constant:
                found[name] = torch.full(parameter.shape, start[name.rpartition(".")[2]])
    return found


TOOLS: tuple[tuple[str, Callable[[Net], Iterator[Held]]], ...] = (
    ("thop", thop),
    ("ptflops", trainable),
    ("calflops", trainable),
    ("flopco", flopco),
    ("torchsummary", torchsummary),
    ("modelsummary", each_run),
    ("torch-summary", of_leaves),
    ("pytorch-model-summary", of_leaves),
    ("torchinfo", of_modules),
    ("onnx-opcounter", exported),
    ("onnx-opcounter", partial(exported, fresh=True)),
    ("onnx_tool", exported),
    ("onnx_tool", partial(exported, fresh=True)),
)
