"""What tools print for parameters: most look at modules, and so miss some, or count some twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import nn

from .hooked import CONV, NORMS, TRANSPOSED
from .net import Net, Piece, UnknownRuleError

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
_CONTAINERS = (nn.Sequential, nn.ModuleList)


def right(root: nn.Module) -> list[Piece]:
    """Each parameter once, by the class of the module that holds it first."""
    found = []
    known: set[int] = set()
    for module in root.modules():
        for parameter in module.parameters(recurse=False):
            if id(parameter) not in known:
                known.add(id(parameter))
                found.append(Piece(_name(root, module, parameter), parameter.numel()))
    return found


def _name(root: nn.Module, module: nn.Module, parameter: nn.Parameter) -> str:
    frozen = "frozen parameters" if not parameter.requires_grad else ""
    torch_own = type(module).__module__.startswith("torch.nn.")
    own = "parameters of the network itself" if module is root and not torch_own else ""
    if type(module).__name__ == "NonDynamicallyQuantizableLinear":
        return "parameters of MultiheadAttention"
    return frozen or own or f"parameters of {type(module).__name__}"


def _held(net: Net, module: nn.Module, known: dict[int, str], how: str) -> Iterator[Piece]:
    """The parameters in a module, under the names that they have where they are right."""
    for each in module.modules():
        for parameter in each.parameters(recurse=False):
            first = id(parameter) not in known
            known.setdefault(id(parameter), _name(net.root, each, parameter))
            yield Piece(known[id(parameter)], parameter.numel(), "" if first else how)


def trainable(net: Net) -> Iterator[Piece]:
    """Those that require a gradient."""
    known: dict[int, str] = {}
    wanted = {id(each) for each in net.root.parameters() if each.requires_grad}
    for module in net.root.modules():
        for parameter in module.parameters(recurse=False):
            if id(parameter) in wanted and id(parameter) not in known:
                known[id(parameter)] = ""
                yield Piece(_name(net.root, module, parameter), parameter.numel())


def thop(net: Net) -> Iterator[Piece]:
    """Those of modules for which thop has a rule, and which ran; not the root's own."""
    ran = {id(call.module) for call in net.calls}
    known: dict[int, str] = {}

    def below(module: nn.Module) -> Iterator[Piece]:
        for child in module.children():
            torch_own = type(child).__module__.startswith("torch.nn.")
            if torch_own and type(child).__name__ in _THOP:
                if id(child) in ran:
                    yield from _held(net, child, known, _TIED)
            elif not any(child.children()) or not isinstance(child, nn.MultiheadAttention):
                yield from below(child)

    yield from below(net.root)


def flopco(net: Net) -> Iterator[Piece]:
    """Those of Conv2d and Linear."""
    known: dict[int, str] = {}
    for module in net.root.modules():
        if type(module) in (nn.Conv2d, nn.Linear):
            yield from _held(net, module, known, _TIED)


def each_run(net: Net) -> Iterator[Piece]:
    """By torchsummary and modelsummary: weight and bias of each module that is called, for each run of it."""
    known: dict[int, str] = {}
    for call in net.calls:
        module: Any = call.module
        if not call.depth or isinstance(module, _CONTAINERS):
            continue
        for name in ("weight", "bias"):
            parameter = getattr(module, name, None)
            if isinstance(parameter, nn.Parameter):
                first = id(parameter) not in known
                known.setdefault(id(parameter), _name(net.root, module, parameter))
                yield Piece(known[id(parameter)], parameter.numel(), "" if first else _AGAIN)


def of_leaves(net: Net) -> Iterator[Piece]:
    """torch-summary and pytorch-model-summary: each module without modules inside that is called, once."""
    known: dict[int, str] = {}
    for call in net.first_calls:
        if not any(call.module.children()):
            yield from _held(net, call.module, known, _TIED)


def of_modules(net: Net) -> Iterator[Piece]:
    """torchinfo: what each module holds itself, so that a weight that two share counts twice."""
    known: dict[int, str] = {}
    for module in net.root.modules():
        for parameter in module.parameters(recurse=False):
            first = id(parameter) not in known
            known.setdefault(id(parameter), _name(net.root, module, parameter))
            yield Piece(known[id(parameter)], parameter.numel(), "" if first else _TIED)


def exported(net: Net) -> Iterator[Piece]:
    """onnx-opcounter and onnx_tool: what lies in the file, in which a shared weight lies twice.

    Raises:
        UnknownRuleError: the exporter may fold or merge something.
    """
    folded = (nn.modules.batchnorm._NormBase, nn.MultiheadAttention)  # noqa: SLF001 - the base of those that are folded
    if any(isinstance(each, folded) for each in net.root.modules()) or [*net.root.buffers()]:
        raise UnknownRuleError("BatchNorm")  # noqa: EM101
    ran: set[int] = {id(call.module) for call in net.calls}
    if any(id(each) not in ran and [*each.parameters(recurse=False)] for each in net.root.modules()):
        raise UnknownRuleError("unused")  # noqa: EM101
    yield from of_modules(net)


TOOLS: tuple[tuple[str, Callable[[Net], Iterator[Piece]]], ...] = (
    ("thop", thop),
    ("ptflops", trainable),
    ("calflops", trainable),
    ("flopco", flopco),
    ("torchsummary", each_run),
    ("modelsummary", each_run),
    ("torch-summary", of_leaves),
    ("pytorch-model-summary", of_leaves),
    ("torchinfo", of_modules),
    ("onnx-opcounter", exported),
    ("onnx_tool", exported),
)
