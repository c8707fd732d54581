"""Whether a network that a student hands in keeps a budget, and how good it is on data that are kept back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._torchscript_file import loaded, ran

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


_KEPT_BACK = Path(__file__).parent / "_recorded" / "strokes_kept.npz"
_LIMITS: Mapping[str, str] = {
    "macs": "multiply-accumulates",
    "weight_bytes": "bytes of parameters and buffers",
    "peak_bytes": "bytes of activations at one time",
}


def budget_findings(
    artifact: Path, *, macs: int, weight_bytes: int, peak_bytes: int, input_shape: list[int] | None = None
) -> list[dict[str, Any]]:
    """The limits that a network exceeds on one input of the subject's shape; none where it keeps all.

    `macs` are those of products and convolutions, as torch's own counter has them (two FLOPs each); `weight_bytes` what
    parameters and buffers take; `peak_bytes` the most that the activations which one operator reads and writes take
    together.

    Raises:
        ValueError: the file is no TorchScript, or the network does not take such an input.
    """
    given = budget_figures(artifact, input_shape=input_shape)
    limits = {"macs": macs, "weight_bytes": weight_bytes, "peak_bytes": peak_bytes}
    return [
        {"says": f"it takes {given[name]:,} {_LIMITS[name]}, and {limit:,} are allowed"}
        for name, limit in limits.items()
        if given[name] > limit
    ]


def budget_figures(artifact: Path, *, input_shape: list[int] | None = None) -> dict[str, int]:
    """What a network takes, as `budget_findings` counts it: `macs`, `weight_bytes`, `peak_bytes`.

    Raises:
        ValueError: the file is no TorchScript, or the network does not take such an input.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    network = loaded(artifact).eval()
    held = [*network.parameters(), *network.buffers()]
    peak, watching = _peak({each.data_ptr() for each in held})
    counter, given = FlopCounterMode(display=False), torch.zeros(input_shape or [])
    with torch.no_grad():
        ran(network, given)  # a mode around it hides why it fails
        with counter, watching:
            network(given)
    return {
        "macs": counter.get_total_flops() // 2,
        "weight_bytes": sum(each.nbytes for each in held),
        "peak_bytes": peak(),
    }


def budget_point(artifact: Path, *, input_shape: list[int] | None = None) -> dict[str, Any]:
    """What a network takes and how good it is: `budget_figures`, and `strokes_accuracy` as `accuracy`.

    Raises:
        ValueError: the file is no TorchScript, or does not take such an input.
    """
    return {**budget_figures(artifact, input_shape=input_shape), "accuracy": strokes_accuracy(artifact)}


def strokes_accuracy(artifact: Path) -> float:
    """The share of pen strokes kept back (`specs/efficient/DATA.md`) whose digit a network finds.

    It is given the coordinates as whole numbers in float32, a row each, and the largest of five outputs counts.

    Raises:
        ValueError: the file is no TorchScript, or it puts out anything else.
    """
    import numpy as np
    import torch

    network = loaded(artifact).eval()
    with np.load(_KEPT_BACK) as kept, torch.no_grad():
        x, y = torch.tensor(kept["x"], dtype=torch.float32), torch.tensor(kept["y"]).long()
    with torch.no_grad():
        made = ran(network, x)
    if not isinstance(made, torch.Tensor) or made.shape != (len(x), 5):
        message = "the network has to put out five numbers for each row of 16"
        raise ValueError(message)
    return float((made.argmax(1) == y).double().mean())


def _peak(held: set[int]) -> tuple[Callable[[], int], Any]:
    """What tells the most bytes of one operator's activations, and the mode under which they are looked at."""
    import torch
    from torch.utils import _pytree as tree
    from torch.utils._python_dispatch import TorchDispatchMode

    most = [0]

    class Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            made = func(*args, **(kwargs or {}))
            found = {
                each.data_ptr(): each.nbytes
                for each in tree.tree_leaves((args, kwargs, made))
                if isinstance(each, torch.Tensor) and each.data_ptr() not in held
            }
            most[0] = max(most[0], sum(found.values()))
            return made

    return lambda: most[0], Watch()  # type: ignore[no-untyped-call]
