"""What Lab 2's tutorial asks of a network: sizes and operations layer by layer, and the slips that go with them."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import nn

from ._counting.calls import chosen, seen
from ._counting.engine import analyse, inputs
from ._counting.values import run
from .macs import macs, macs_by_layer
from .state import parameters

if TYPE_CHECKING:
    from ._counting.engine import CountedSubject


def output_shape(subject: CountedSubject) -> list[int]:
    """The shape of what the network puts out, batch first.

    Raises:
        ValueError: it puts out several tensors, or none.
    """
    root = seen(analyse(subject, counting=False).calls[0])
    if len(root.outputs) != 1:
        message = f"{root.type} puts out {len(root.outputs)} tensors: which of them is asked for?"
        raise ValueError(message)
    return list(root.outputs[0])


def first_outputs(
    subject: CountedSubject, *, fill: Literal["ones", "zeros", "input"] = "ones", count: int = 5, flat: bool = True
) -> torch.Tensor:
    """The first numbers of what the network puts out of an input of ones, of its first row.

    `fill` is what the input holds; `input` is the subject's own. With `flat: false` the row is one of a batch: [1, 5].
    """
    module, given = subject.with_weights()
    filled = {"ones": torch.ones_like, "zeros": torch.zeros_like, "input": torch.clone}[fill]
    with torch.no_grad():
        outputs: torch.Tensor = module(*(filled(x) for x in inputs(given)))
    return outputs[0, :count] if flat else outputs[:1, :count]


def macs_and_flops_by_layer(
    subject: CountedSubject, *, layers: list[str] | None = None, bias: bool = False, bias_flops: bool = False
) -> list[dict[str, Any]]:
    """The `macs` of each layer, and its `flops`: two for each of them.

    Rows are named as in `macs_by_layer`, or by their place: `conv1`, `conv2`, `fc1`, and `fc6` for the sixth layer of
    all. `bias` adds one MAC for each element to which a bias is added, `bias_flops` one FLOP and no MAC.
    """
    rows = macs_by_layer(subject, layers=layers, bias=bias)
    more = [row["macs"] for row in macs_by_layer(subject, layers=layers, bias=True)] if bias_flops else []
    added = [sum_ - row["macs"] for row, sum_ in zip(rows, more, strict=True)] if more else [0] * len(rows)
    return [
        {**row, "flops": 2 * row["macs"] + one, "also_named": [*row["also_named"], *names]}
        for row, one, names in zip(rows, added, _by_place(rows), strict=True)
    ]


def _by_place(rows: list[dict[str, Any]]) -> list[list[str]]:
    """What people call convolutions and linear layers that have no names of their own, as in `nn.Sequential`."""
    seen: Counter[str] = Counter()
    names = []
    for place, row in enumerate(rows, 1):
        word = {"Conv2d": "conv", "Linear": "fc"}.get(row["type"], "")
        seen[word] += 1
        names.append([f"{word}{number}" for number in sorted({seen[word], place})] if word else [])
    return names


def macs_and_flops_alike(
    subject: CountedSubject, *, layers: list[str] | None = None, bias: bool = False
) -> list[dict[str, Any]]:
    """The MACs of each layer in both columns.

    Slip of: macs_and_flops_by_layer
    Hint: These FLOPs are the MACs. A multiply-accumulate is two floating-point operations.
    Credit: 0.5
    """
    return [{**row, "flops": row["macs"]} for row in macs_by_layer(subject, layers=layers, bias=bias)]


def macs_and_flops_doubled(
    subject: CountedSubject, *, layers: list[str] | None = None, bias: bool = False
) -> list[dict[str, Any]]:
    """The FLOPs of each layer in both columns.

    Slip of: macs_and_flops_by_layer
    Hint: These MACs are the FLOPs. A multiply-accumulate is one MAC and two floating-point operations.
    Credit: 0.5
    """
    rows = macs_by_layer(subject, layers=layers, bias=bias)
    return [{**row, "macs": 2 * row["macs"], "flops": 2 * row["macs"]} for row in rows]


def macs_and_flops_of_inputs(subject: CountedSubject, *, layers: list[str] | None = None) -> list[dict[str, Any]]:
    """Each convolution counted at every position of its input, in place of its output.

    Slip of: macs_and_flops_by_layer
    Hint: Convolutions are counted at each position of their input. A filter is applied once for each position of the
    output, which a stride makes fewer.
    Credit: 0.4
    """
    rows, larger = macs_by_layer(subject, layers=layers), _input_sizes(subject)
    for row in rows:
        before, after = larger.get(row["layer"], (1, 1))
        row["macs"] = row["macs"] * before // after
    return [{**row, "flops": 2 * row["macs"]} for row in rows]


def _input_sizes(subject: CountedSubject) -> dict[str, tuple[int, int]]:
    """Of each convolution, how many positions its input and its output have."""
    module, given = subject.on_meta()
    found: dict[str, tuple[int, int]] = {}
    with ExitStack() as stack, torch.no_grad():
        for name, layer in module.named_modules():

            def hook(_: nn.Module, given: Any, output: torch.Tensor, name: str = name) -> None:
                found[name] = (given[0].shape[-2:].numel(), output.shape[-2:].numel())

            if isinstance(layer, nn.Conv2d):
                stack.callback(layer.register_forward_hook(hook).remove)
        module(*inputs(given))
    return found


def branch_parameters(subject: CountedSubject) -> float:
    """The parameters of one of several branches that are alike; a task says what that means."""
    return parameters(subject) / _branches(subject)


def branch_macs(subject: CountedSubject, *, layers: list[str] | None = None) -> float:
    """The MACs of one of several branches that are alike."""
    return macs(subject, layers=layers) / _branches(subject)


def macs_with_the_first_input_for_all(subject: CountedSubject, *, layers: list[str] | None = None) -> int | None:
    """The MACs where every input has the size of the first; None where all are of one size.

    Slip of: macs
    Hint: Every input has the size of the first here. Make each of the size that is given for it.
    Credit: 0.5
    """
    if len({each.shape for each in inputs(subject.on_meta()[1])}) == 1:
        return None
    return macs(_OfFirstInput(subject), layers=layers)


class _OfFirstInput:
    """A subject that is given its first input in place of each."""

    def __init__(self, subject: CountedSubject) -> None:
        self._subject = subject

    def on_meta(self) -> tuple[nn.Module, Any]:
        module, own = self._subject.on_meta()
        return module, inputs(own)[:1] * len(inputs(own))

    def with_weights(self) -> tuple[nn.Module, Any]:
        module, own = self._subject.with_weights()
        return module, inputs(own)[:1] * len(inputs(own))


def _branches(subject: CountedSubject) -> int:
    module, _ = subject.on_meta()
    return max(1, len(list(module.children())))


def module_outputs_overwritten(subject: CountedSubject, *, layers: list[str]) -> dict[str, torch.Tensor]:
    """What a hook that keeps a layer's output without a copy holds in the end.

    An activation in place behind the layer writes into the same memory: then these are its outputs. Keys are those of
    `module_outputs`.
    """
    module, _ = subject.with_weights()
    wanted = chosen(module, layers)
    outputs: dict[str, torch.Tensor] = {}

    def keep(name: str, module: torch.nn.Module, output: torch.Tensor) -> None:
        if wanted(module):
            outputs[name] = output

    run(subject, keep)
    return {name: output.clone() for name, output in outputs.items()}
