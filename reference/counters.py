"""What other counters print, regenerated from our own trace, so that their figures are recognised and explained.

`_tools/` has the rules of these and of many more tools; `tool_slips.py` says what their numbers are made of.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ._counting.calls import call_names
from ._counting.engine import analyse
from ._counting.naming import torchinfo_rows
from ._tools import table
from ._tools.summaries import torchinfo_of

if TYPE_CHECKING:
    from ._counting.engine import CountedSubject


def macs_ptflops_default(subject: CountedSubject) -> int | None:
    """The MACs that ptflops 0.7 prints by default; None where it fails, or where that is not known.

    Those of `macs_ptflops_modules_only`, and once more what its patched functions see: the input of each relu, gelu,
    silu, softmax and pool, though the module that calls the function was counted already; and torch.matmul, but not
    `@`. Only the modules' share is divided by the batch size.

    Slip of: macs
    Hint: This is what ptflops prints by default. It counts otherwise than the task asks.
    Credit: 0.7 by share
    """
    return _printed(subject, table.PTFLOPS)


def macs_ptflops_modules_only(subject: CountedSubject) -> int | None:
    """The MACs that ptflops 0.7 prints with `count_functional=False`; None where it fails, or that is not known.

    Convolutions and linear layers with their bias, two for each input element of a BatchNorm and one for each of a
    LayerNorm, one for each input element of a pool and each output element of an activation, attention with softmax
    and scaling, recurrent layers by a formula; of modules whose class is exactly torch's; divided by the batch size.

    Slip of: macs
    Hint: This is what ptflops prints with count_functional=False. It counts otherwise than the task asks.
    Credit: 0.7 by share
    """
    return _printed(subject, table.PTFLOPS_MODULES)


def macs_torchinfo(subject: CountedSubject) -> int | None:
    """The mult-adds that torchinfo 1.8 prints.

    Of each leaf module, each parameter called weight or bias: a convolution's size times the positions of its output,
    any other's times the first dimension of the output. So BatchNorm costs its parameters, a linear layer on a
    sequence is counted once, and an attention not at all.

    Slip of: macs
    Hint: This is torchinfo's "mult-adds". It counts otherwise than the task asks.
    Credit: 0.8 by share
    """
    return _printed(subject, "torchinfo")


def macs_by_layer_torchinfo(subject: CountedSubject) -> list[dict[str, Any]]:
    """The mult-adds that torchinfo 1.8 prints, a row a leaf module; see `macs_torchinfo`."""
    trace = analyse(subject)
    names = call_names(trace)
    found = (
        (row, sum(each.count for each in torchinfo_of(row.call)) if row.call else 0) for row in torchinfo_rows(trace)
    )
    return [
        {"layer": names[id(row.call)], "type": row.call.type, "macs": count, "also_named": list(row.names)}
        for row, count in found
        if row.call and count
    ]


def macs_thop(subject: CountedSubject) -> int | None:
    """The MACs that thop 0.1.1 prints; None where it fails, or where that is not known.

    Convolutions and linear layers without bias, transposed ones by their output, four for each input element of a
    normalisation (two without a scale of its own), one for each output element of an average pool, kernel + 1 of an
    adaptive one, eleven of a bilinear upsampling, recurrent layers by a formula; of modules whose class is exactly
    torch's. Attention is not counted.

    Slip of: macs
    Hint: This is what thop prints. It counts otherwise than the task asks.
    Credit: 0.8 by share
    """
    return _printed(subject, "thop")


def macs_fvcore(subject: CountedSubject) -> int | None:
    """The "flops" (which are MACs) that fvcore 0.1.5 prints; None where it fails, or where that is not known.

    Convolutions, linear layers, matrix products and einsum, two for each input element of a BatchNorm (one without a
    scale), five of another normalisation (four without), one of an adaptive average pool over images, four for each
    output element of a bilinear upsampling. An attention's two products are unsupported and left out, as is an LSTM;
    einsum is rounded to the four digits in which numpy prints its cost.

    Slip of: macs
    Hint: This is what fvcore prints. It counts otherwise than the task asks.
    Credit: 0.8 by share
    """
    return _printed(subject, "fvcore")


def _printed(subject: CountedSubject, name: str) -> int | None:
    """What a tool prints in MACs, called with a batch as it is."""
    tools = [tool for tool in table.TOOLS if tool.name == name and tool.unit == table.MACS]
    found = table.counted(tools[-1], analyse(subject), partial(analyse, subject, batch=1))
    return int(found.total) if found is not None else None
