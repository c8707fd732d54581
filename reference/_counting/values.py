"""Runs a model with its weights and shows what its modules put out."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import torch

from .engine import inputs
from .recorder import uncompiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from .engine import CountedSubject


def run(subject: CountedSubject, show: Callable[[str, torch.nn.Module, torch.Tensor], None]) -> None:
    """Call `show(name, module, output)` as each module returns; of several tensors that come out, the first.

    Names are dotted, with `#2` and so on when a module is called again; the root's is its class.
    """
    root, x = subject.with_weights()
    times: Counter[str] = Counter()
    with ExitStack() as stack, torch.no_grad(), uncompiled():
        for name, module in root.named_modules():
            layer = name or type(root).__name__

            def hook(module: torch.nn.Module, _: Any, output: Any, layer: str = layer) -> None:
                times[layer] += 1
                tensor = output[0] if isinstance(output, tuple | list) else output
                if isinstance(tensor, torch.Tensor):
                    show(layer if times[layer] == 1 else f"{layer}#{times[layer]}", module, tensor)

            stack.callback(module.register_forward_hook(hook).remove)
        root(*inputs(x))
