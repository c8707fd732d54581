"""What tools count for recurrent layers: each has a formula of its own, with gates, biases and sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import nn

from .net import UnknownRuleError, x

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._counting.trace import Call

_UNBATCHED = 2  # dimensions of a sequence without a batch
BY_FORMULA = "by a formula of its own, with gates, biases and sums"


def thop(call: Call) -> int:
    """By thop's formula, in which nothing is projected."""
    module: Any = call.module
    _with_a_batch(call)
    if isinstance(module, nn.RNNCellBase):
        return _thop_cell(module, module.input_size) * _rows(call)
    return _cells(call, lambda width: _thop_cell(module, width), module.hidden_size)


def how_of_thop(call: Call) -> str:
    """How thop's formula counts, in words."""
    return f"{BY_FORMULA}, but no projection" if getattr(call.module, "proj_size", 0) else BY_FORMULA


def ultralytics_thop(call: Call) -> int:
    """By ultralytics-thop's formula: thop's, where nothing is projected."""
    module: Any = call.module
    less = getattr(module, "proj_size", 0)
    if not less:
        return thop(call)
    _with_a_batch(call)
    more = 4 * module.hidden_size * (less - module.hidden_size) + module.hidden_size * less
    return _cells(call, lambda width: _thop_cell(module, width) + more, less)


def _cells(call: Call, cell: Callable[[int], int], handed_on: int) -> int:
    """What all cells count, by how wide their inputs are; a layer hands on so much in each direction."""
    module: Any = call.module
    ways = 2 if module.bidirectional else 1
    each = cell(module.input_size) + (module.num_layers - 1) * cell(handed_on * ways)
    return int(ways * each * x(call)[0] * x(call)[1])


def _with_a_batch(call: Call) -> None:
    if len(x(call)) == _UNBATCHED and isinstance(call.module, nn.RNNBase):
        raise UnknownRuleError(call.type)


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
    """By torchprofile's rule for LSTMs, which has none for others: it takes the width of the output for that inside."""
    module: Any = call.module
    if not isinstance(module, nn.LSTM) or len(x(call)) == _UNBATCHED:
        raise UnknownRuleError(call.type)
    width = module.proj_size or module.hidden_size
    return _cells(call, lambda inputs: 4 * width * (inputs + width), width)


def is_one_kernel(call: Call) -> bool:
    """Whether a recurrent layer is one kernel on a CPU, of which counters of kernels know nothing."""
    module: Any = call.module
    return isinstance(module, nn.LSTM) and not module.proj_size


def biases(call: Call, *, contiguous: bool) -> int:
    """The elements to which biases are added step by step, in the kernels of products.

    Those of an input that does not lie in one piece are added by a kernel of their own.
    """
    module: Any = call.module
    shape = x(call)
    if len(shape) == _UNBATCHED or not contiguous:
        raise UnknownRuleError(call.type)
    held = {name: each.numel() for name, each in module.named_parameters() if name.startswith("bias")}
    turned = module.batch_first and min(shape[:2]) > 1
    own = sum(count for name, count in held.items() if not (turned and name.startswith("bias_ih_l0")))
    return int(shape[0] * shape[1] * own)


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
