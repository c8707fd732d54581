"""What tools count for recurrent layers: each has a formula of its own, with gates, biases and sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import nn

from .net import UnknownRuleError, x

if TYPE_CHECKING:
    from .._counting.trace import Call

_UNBATCHED = 2  # dimensions of a sequence without a batch
BY_FORMULA = "by a formula of its own, with gates, biases and sums"


def thop(call: Call) -> int:
    """By thop's formula, and that of ultralytics-thop, which are alike where nothing is projected."""
    module: Any = call.module
    if getattr(module, "proj_size", 0) or (len(x(call)) == _UNBATCHED and isinstance(module, nn.RNNBase)):
        raise UnknownRuleError(call.type)
    if isinstance(module, nn.RNNCellBase):
        return _thop_cell(module, module.input_size) * _rows(call)
    ways = 2 if module.bidirectional else 1
    cells: int = _thop_cell(module, module.input_size) * ways
    cells += (module.num_layers - 1) * _thop_cell(module, module.hidden_size * ways) * ways
    return cells * x(call)[0] * x(call)[1]


def _thop_cell(module: Any, inputs: int) -> int:
    width: int = module.hidden_size
    state: int = width * (inputs + width) + width + (2 * width if module.bias else 0)
    if isinstance(module, nn.LSTM | nn.LSTMCell):
        return 4 * state + 4 * width
    if isinstance(module, nn.GRU | nn.GRUCell):
        return 3 * state + 4 * width
    return state


def ptflops(call: Call, *, operations: bool = False) -> int:
    """By the formula that ptflops, torch-pruning, flops-profiler and calflops share; in calflops' `operations`.

    The weights of one direction alone are looked at, then doubled. Batch and length are the first two sizes.
    """
    module: Any = call.module
    cell = isinstance(module, nn.RNNCellBase)
    found = 0
    for layer in [""] if cell else [f"_l{at}" for at in range(module.num_layers)]:
        for name in ("weight_ih", "weight_hh"):
            rows, columns = getattr(module, name + layer).shape
            found += 2 * rows * columns - rows if operations else rows * columns
        found += _ptflops_sums(module)
        if module.bias:
            found += sum(getattr(module, name + layer).shape[0] for name in ("bias_ih", "bias_hh"))
    if cell:
        return found * _rows(call)
    return found * x(call)[0] * x(call)[1] * (2 if module.bidirectional else 1)


def _ptflops_sums(module: Any) -> int:
    if isinstance(module, nn.LSTM | nn.LSTMCell):
        return int(10 * module.hidden_size)
    return int((7 if isinstance(module, nn.GRU | nn.GRUCell) else 1) * module.hidden_size)


def torchprofile(call: Call) -> int:
    """By torchprofile's rule for LSTMs, which has none for others."""
    module: Any = call.module
    if not isinstance(module, nn.LSTM) or module.proj_size or len(x(call)) == _UNBATCHED:
        raise UnknownRuleError(call.type)
    ways = 2 if module.bidirectional else 1
    widths = [module.input_size, *[module.hidden_size * ways] * (module.num_layers - 1)]
    cells = sum(4 * module.hidden_size * (width + module.hidden_size) for width in widths)
    return int(x(call)[0] * x(call)[1] * ways * cells)


def onnx_tool(call: Call) -> int:
    """By onnx_tool's formulas for LSTM and GRU: the products of all directions, and the gates of one."""
    module: Any = call.module
    known = isinstance(module, nn.LSTM | nn.GRU) and not module.proj_size
    if not known or len(x(call)) == _UNBATCHED:
        raise UnknownRuleError(call.type)
    rows, width = x(call)[0] * x(call)[1], module.hidden_size
    # Of each element of a state: sums of gates, sigmoids, hyperbolic tangents, and how the old state joins the new.
    state = 4 + 3 * 32 + 2 * 38 + 4 if isinstance(module, nn.LSTM) else 3 + 2 * 32 + 38 + 5
    held = sum(each.numel() for each in module.parameters())
    return int(rows * (held + state * width * module.num_layers))


def _rows(call: Call) -> int:
    if len(x(call)) != _UNBATCHED:
        raise UnknownRuleError(call.type)
    return x(call)[0]
