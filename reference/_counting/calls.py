"""Rows for tables by layer."""

from __future__ import annotations

import difflib
from collections import Counter
from typing import TYPE_CHECKING, Any

from torch import nn

from .trace import UncountableError, class_names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from .naming import Printed
    from .trace import Call, Trace


def call_names(trace: Trace) -> dict[int, str]:
    """A name for each call, by the call's id: the layer's, with `#2` and so on when it is called again."""
    times: Counter[str] = Counter()
    names = {}
    for call in trace.calls:
        layer = trace.layer(call)
        times[layer] += 1
        names[id(call)] = layer if times[layer] == 1 else f"{layer}#{times[layer]}"
    return names


def seen(call: Call) -> Call:
    """The call, of which all that comes out is known.

    Raises:
        UncountableError: it is not.
    """
    if call.hidden:
        message = f"what '{call.name}' ({call.type}) puts out can't be determined: {call.hidden}"
        raise UncountableError(message)
    return call


def row(name: str, call: Call, also_named: list[str], listed: Collection[nn.Module]) -> dict[str, Any]:
    """The row of a call. A call that calls others is a container's, and optional. `listed`: modules with rows."""
    return {
        "layer": name,
        "type": call.type,
        "parameters": _held(call.module),
        "output_shape": list(call.outputs[0]) if call.outputs else None,
        "also_named": also_named,
        "also_right": {} if call.leaf else _other_counts(call.module, listed),
        "optional": not call.leaf,
    }


def silent_row(name: str, printed: Printed, listed: Collection[nn.Module]) -> dict[str, Any]:
    """The row of a container that is never called itself."""
    return {
        "layer": name,
        "type": type(printed.module).__name__,
        "parameters": _held(printed.module),
        "output_shape": None,
        "also_named": list(printed.names),
        "also_right": _other_counts(printed.module, listed),
        "optional": True,
    }


def chosen(root: nn.Module, layers: Sequence[str] | None) -> Callable[[nn.Module], bool]:
    """A test for modules: of one of the types in `layers`, or of a type derived from one. None takes every type.

    Raises:
        ValueError: for a type that neither torch nor the model has: it would silently count nothing.
    """
    if layers is None:
        return lambda _: True
    known = {name for name in vars(nn) if name[0].isupper()}
    known |= {name for module in root.modules() for name in class_names(module)}
    for layer in layers:
        if layer not in known:
            close = difflib.get_close_matches(layer, sorted(known), n=1, cutoff=0.6)
            message = f"there is no layer type '{layer}'" + (f"; did you mean '{close[0]}'?" if close else "")
            raise ValueError(message)
    return lambda module: any(name in layers for name in class_names(module))


def _other_counts(container: nn.Module, listed: Collection[nn.Module]) -> dict[str, list[int]]:
    """What else a container's row may say of its parameters, whose whole content is the sum of other rows.

    None (torchsummary), its own, or what no row below it says (torchinfo).
    """
    below = {
        parameter
        for module in container.modules()
        if module is not container and module in listed
        for parameter in module.parameters(recurse=not any(child in listed for child in module.children()))
    }
    left = sum(parameter.numel() for parameter in container.parameters() if parameter not in below)
    own = sum(parameter.numel() for parameter in container.parameters(recurse=False))
    return {"parameters": sorted({0, own, left})}


def _held(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
