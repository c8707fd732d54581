"""Layer by layer: parameters, output shapes, outputs, and the bytes that outputs take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ._counting.calls import call_names, chosen, row, seen, silent_row
from ._counting.engine import analyse
from ._counting.naming import all_names, torchinfo_rows, torchsummary_names
from ._counting.trace import UncountableError
from ._counting.values import run

if TYPE_CHECKING:
    import torch

    from ._counting.engine import CountedSubject


def layer_shapes(subject: CountedSubject) -> list[dict[str, Any]]:
    """Parameters and output shape of each layer, a row a call, in the order of execution.

    `layer` is the dotted name, the root's is its class; a layer that is called again has rows `name#2`, `name#3`.
    `parameters` counts a container's whole content; its row may also say 0, its own, or what no row below it says
    (`also_right`). `output_shape` is that of the first tensor that comes out; None for a container that is never called
    itself. `optional` rows are containers: only their leaves must be listed. `also_named` holds what torchinfo 1.8
    (`Conv2d: 2-1`) and torchsummary 1.5 (`Conv2d-1`) call the row; named_modules() calls the root ''.
    """
    trace = analyse(subject, counting=False)
    names, dotted, summary = call_names(trace), all_names(trace.root), torchsummary_names(trace)
    rows, silent = [], set()
    shown = torchinfo_rows(trace)
    listed = {printed.module for printed in shown}
    for printed in shown:
        call = printed.call
        if call is None:
            rows += [] if printed.module in silent else [silent_row(dotted[printed.module][0], printed, listed)]
            silent.add(printed.module)
        else:
            others = [*printed.names, *filter(None, (summary.get(id(call)), *dotted[call.module][1:]))]
            root = [] if call.name else [""]  # as in named_modules()
            rows.append(row(names[id(call)], call if call.outputs else seen(call), others + root, listed))
    return rows


def module_outputs(subject: CountedSubject, *, layers: list[str]) -> dict[str, torch.Tensor]:
    """What each layer of the given types puts out, on the seeded weights and the subject's input.

    `layers` are types such as Conv2d. Keys are dotted names, in the order of execution (`name#2` when called again).
    Each tensor is a copy taken when the layer returned, before anything could write into it.
    """
    module, _ = subject.with_weights()
    wanted = chosen(module, layers)
    outputs: dict[str, torch.Tensor] = {}

    def keep(name: str, module: torch.nn.Module, output: torch.Tensor) -> None:
        if wanted(module):
            outputs[name] = output.clone()

    run(subject, keep)
    return outputs


def module_output_shapes(subject: CountedSubject, *, layers: list[str]) -> list[dict[str, Any]]:
    """The shape of what each layer of the given types puts out, a row a call, in the order of execution.

    `layers` are types such as Conv2d. Names as in `layer_shapes`. Whoever gives a mapping of names has one row for a
    layer that is called again: those of its later calls are `optional`, and its first may say what they put out
    (`also_right`).
    """
    trace = analyse(subject, counting=False)
    names, wanted = call_names(trace), chosen(trace.root, layers)
    calls = [call for call in trace.calls if call.outputs and wanted(call.module)]
    later: dict[str, list[list[int]]] = {}
    for call in calls:
        if names[id(call)] != trace.layer(call):
            later.setdefault(trace.layer(call), []).append(list(call.outputs[0]))
    return [
        {"layer": names[id(call)], "type": call.type, "output_shape": list(call.outputs[0])}
        | ({"optional": True} if names[id(call)] != trace.layer(call) else {})
        | ({"also_right": {"output_shape": shapes}} if (shapes := later.get(names[id(call)])) else {})
        for call in calls
    ]


def activation_bytes(
    subject: CountedSubject,
    *,
    modules: Literal["leaf", "leaf_with_parameters", "top_level", "all"] = "leaf",
    in_place: bool = True,
) -> int:
    """The bytes that the outputs of a model's modules take, summed over all calls of one forward pass.

    `leaf`: modules without modules in them; `leaf_with_parameters`: those of them that have parameters (torchinfo's
    forward/backward size is twice that); `top_level`: the model's own children; `all`: containers and the model
    itself, too. With `in_place: false`, modules that write into their input are left out. The input is not counted.
    """
    total = 0
    for call in analyse(subject, counting=False).calls:
        if call.sealed and modules != "top_level":
            message = (
                f"TorchScript runs '{call.name}' ({call.type}), so that nothing is seen of what layers in it put out"
            )
            raise UncountableError(message)
        module = call.module
        leaf = not any(module.children())
        wanted = {
            "leaf": leaf,
            "leaf_with_parameters": leaf and any(True for _ in module.parameters()),
            "top_level": bool(call.name) and "." not in call.name,
            "all": True,
        }[modules]
        if wanted and (in_place or not getattr(module, "inplace", False)):
            total += seen(call).output_bytes
    return total
