"""The layers of a network as it calls them, numbered: what is exported layer by layer, and what works in place."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from torch import nn

from ._counting.engine import inputs
from ._counting.trace import UncountableError, is_scripted

if TYPE_CHECKING:
    import torch

    from ._counting.engine import CountedSubject


def leaf_calls(subject: CountedSubject) -> list[dict[str, Any]]:
    """Each call of a layer without layers inside, in order of execution: its input, its output, its parameters.

    `layer` is the class and the place, from 1: Conv2d_1, BatchNorm2d_2. A layer that is called three times has three
    rows. `also_named` holds torchsummary's spelling (Conv2d-1) and the dotted name, with `#2` when called again.
    """
    return _table(subject, containers=False)


def leaf_calls_with_containers(subject: CountedSubject) -> list[dict[str, Any]]:
    """The calls with those of containers, as torchsummary numbers them: Sequential and the network itself aside.

    Slip of: leaf_calls
    Hint: Blocks that hold other layers are numbered, too, so every number behind the first block is too high. Count
    the layers without layers inside alone: the hook belongs on those for which list(module.children()) is empty.
    Credit: 0.5
    """
    return _table(subject, containers=True)


def leaf_calls_once(subject: CountedSubject, *, call: Literal["first", "last"] = "first") -> list[dict[str, Any]]:
    """The calls with a layer that is called several times listed once, where it is called first, as its `call`.

    The last comes of a dict by the layer's name, in which each call writes over the one before.

    Slip of: leaf_calls
    Hint: A layer that runs several times is listed once. A ReLU that a block calls three times has three inputs and
    three outputs: record each call in a forward hook, in a list and not under the layer's name.
    Credit: 0.5
    Also with: [{"call": "last"}]
    """
    rows: dict[str, dict[str, Any]] = {}
    for row in _table(subject, containers=False):
        name = row["also_named"][1].partition("#")[0]
        kept = row if call == "last" else rows.get(name, row)
        rows[name] = {**kept, "also_named": [kept["also_named"][0], name]}
    return [{**row, **_named(row, number)} for number, row in enumerate(rows.values(), 1)]


def leaf_calls_batch_unknown(subject: CountedSubject) -> list[dict[str, Any]]:
    """The calls with -1 for the batch in input and output, as torchsummary prints it.

    Slip of: leaf_calls
    Hint: The batch is -1. A program of ExecuTorch is made for one size of its input: say the batch that it gets.
    Credit: 0.8
    """
    rows = _table(subject, containers=False)
    return [{**row, "input": [-1, *row["input"][1:]], "output": [-1, *row["output"][1:]]} for row in rows]


def leaf_calls_of_weights(subject: CountedSubject) -> list[dict[str, Any]]:
    """The calls with the numbers of `weight` alone as parameters.

    Slip of: leaf_calls
    Hint: The biases are missing in the parameters. Convolutions, linear layers and batch norms may have a bias beside
    their weight: add up numel() over module.parameters().
    Credit: 0.6
    """
    return _table(subject, containers=False, only=("weight",))


def leaf_calls_with_buffers(subject: CountedSubject) -> list[dict[str, Any]]:
    """The calls with buffers among the parameters.

    Slip of: leaf_calls
    Hint: Buffers are counted: the running statistics of a batch norm are state, no parameters. Add up numel() over
    module.parameters().
    Credit: 0.6
    """
    return _table(subject, containers=False, buffers=True)


def leaf_calls_chained(subject: CountedSubject) -> list[dict[str, Any]]:
    """The calls with the output of the row before as input.

    Slip of: leaf_calls
    Hint: The output of the row before stands as each layer's input. A layer beside a block, such as its downsample,
    gets the block's input: read it from the hook's own arguments.
    Credit: 0.6
    """
    rows = _table(subject, containers=False)
    given = [row["input"] for row in rows[:1]] + [row["output"] for row in rows[:-1]]
    return [{**row, "input": own} for row, own in zip(rows, given, strict=True)]


def in_place_modules(subject: CountedSubject) -> int:
    """How many modules of a network are set to write into their input (`inplace=True`)."""
    module, _ = subject.on_meta()
    return sum(_in_place(each) for each in module.modules())


def in_place_calls(subject: CountedSubject) -> int:
    """How many calls of one forward pass are of a module that writes into its input.

    Slip of: in_place_modules
    Hint: These are the calls of one forward pass. A module that runs three times is one module to replace.
    Credit: 0.5
    """
    return sum(_in_place(each.module) for each in _hooked(subject) if not any(each.module.children()))


def in_place_calls_once(subject: CountedSubject) -> int:
    """Each module counted once, where calls are asked for.

    Slip of: in_place_calls
    Hint: These are the modules. A module that a block calls three times writes into its input three times.
    Credit: 0.5
    """
    return in_place_modules(subject)


def in_place_calls_by_memory(subject: CountedSubject) -> int:
    """The calls whose output lies where their input does, of layers without layers inside.

    Comes of comparing `data_ptr()`: dropout in eval mode and nn.Identity hand their input on, nn.Flatten a view of it.

    Slip of: in_place_calls
    Hint: Calls that hand their input on are counted, too: dropout in eval mode, nn.Identity and nn.Flatten put out the
    memory of their input without writing into it. In place is what writes: modules with inplace=True.
    Credit: 0.5
    """
    return sum(each.shares for each in _hooked(subject) if not any(each.module.children()))


def in_place_modules_at_the_top(subject: CountedSubject) -> int:
    """The modules among the network's own children alone.

    Slip of: in_place_modules
    Hint: Only the network's own children were looked at. named_children() goes one level down: call the function again
    on every child that holds others.
    Credit: 0.3
    """
    module, _ = subject.on_meta()
    return sum(_in_place(each) for each in module.children())


def _in_place(module: nn.Module) -> bool:
    return getattr(module, "inplace", False) is True


def _table(
    subject: CountedSubject, *, containers: bool, only: tuple[str, ...] = (), buffers: bool = False
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    times: Counter[str] = Counter()
    for call in _hooked(subject):
        module, name, given, made = call.module, call.name, call.given, call.made
        leaf = not any(module.children())
        if not leaf and (not containers or not name or isinstance(module, nn.Sequential | nn.ModuleList)):
            continue
        times[name] += 1
        dotted = name if times[name] == 1 else f"{name}#{times[name]}"
        parameters = sum(p.numel() for n, p in module.named_parameters(recurse=leaf) if not only or n in only)
        parameters += sum(each.numel() for each in module.buffers(recurse=leaf)) if buffers else 0
        row = {"type": type(module).__name__, "input": given, "output": made, "parameters": parameters}
        row["also_named"] = ["", dotted]
        rows.append({**row, **_named(row, len(rows) + 1)})
    return rows


def _named(row: dict[str, Any], number: int) -> dict[str, Any]:
    return {
        "layer": f"{row['type']}_{number}",
        "also_named": [f"{row['type']}-{number}", row["also_named"][1]],
    }


@dataclass(frozen=True, slots=True)
class _Hooked:
    """A call as a hook sees it: the shapes of its first input and output, and whether both lie in one memory."""

    module: nn.Module
    name: str
    given: list[int]
    made: list[int]
    shares: bool


def _hooked(subject: CountedSubject) -> list[_Hooked]:
    """The calls of one forward pass in order of completion."""
    root, own = subject.on_meta()
    if any(is_scripted(module) for module in root.modules()):
        message = f"TorchScript runs a part of {type(root).__name__}, so that nothing is seen of the calls in it"
        raise UncountableError(message)
    found = []

    def hook(name: str) -> Any:
        def note(module: nn.Module, given: Any, made: Any) -> None:
            first = _first(made)
            taken = _first(given)
            if first is not None and taken is not None:
                one, other = (each.untyped_storage()._cdata for each in (taken, first))  # noqa: SLF001 - its address
                found.append(_Hooked(module, name, list(taken.shape), list(first.shape), one == other))

        return note

    for name, module in root.named_modules():
        module.register_forward_hook(hook(name))
    root.eval()(*inputs(own))
    return found


def _first(value: Any) -> torch.Tensor | None:
    import torch

    while isinstance(value, tuple | list) and value:
        value = value[0]
    return value if isinstance(value, torch.Tensor) else None
