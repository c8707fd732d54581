"""Single layers of networks of torchvision's, as a call of the whole network finds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn


def leaf(*, of: str = "resnet50", call: int = 1) -> nn.Module:
    """The layer that a network calls as its `call`-th, those with layers inside not counted: 2 is BatchNorm2d_2.

    It works in place where the network's own does.
    """
    import torch
    from torch import fx
    from torchvision import models

    with torch.device("meta"):
        root = models.get_model(of, weights=None).eval()
    called = [node.target for node in fx.symbolic_trace(root).graph.nodes if node.op == "call_module"]
    layer: nn.Module = root.get_submodule(called[call - 1]).to_empty(device="cpu")
    reset: Any = getattr(layer, "reset_parameters", None)
    if callable(reset):
        reset()
    return layer
