"""The tools: what each is called, what it counts in, and the rule that gives what it prints."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from . import exported, functions, hooked, kernels, profilers, summaries
from .net import Net, Piece, UnknownRuleError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .._counting.trace import Trace

MACS, FLOPS = "MACs", "FLOPs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool as it is used in one way. `unit`: what it counts in, whatever it calls that.

    `shares`: it divides what modules do by the size of the batch. `one`: it makes an input of one sample itself.
    `fraction`: it prints the quotient as it is.
    """

    name: str
    unit: str
    rule: Callable[[Net], Iterator[Piece]]
    besides: Callable[[Net], Iterator[Piece]] | None = None
    shares: bool = False
    one: bool = False
    fraction: bool = False


def _flopco_operations(net: Net) -> Iterator[Piece]:
    return summaries.flopco(net, operations=True)


PTFLOPS, PTFLOPS_MODULES = "ptflops", "ptflops with count_functional=False"
DEEPSPEED = "deepspeed's flops profiler"
PROFILE = "flops-profiler's get_model_profile"
_FAIL_ON_PACKED = frozenset({"calflops", DEEPSPEED, "flops-profiler", PROFILE, "torchscan"})  # a PackedSequence
WITHOUT_ROWS = frozenset({"onnx-opcounter", "torch.profiler with with_flops=True"})  # these print nothing by layer
# Where a tool has several ways in one unit, its usual one stands last: `counters` gives that.
TOOLS = (
    Tool(name="thop", unit=MACS, rule=hooked.thop),
    Tool(name="ultralytics-thop", unit=MACS, rule=hooked.ultralytics_thop),
    Tool(name=PTFLOPS, unit=MACS, rule=hooked.ptflops, besides=hooked.ptflops_functions),
    Tool(name=PTFLOPS, unit=MACS, rule=hooked.ptflops, besides=hooked.ptflops_functions, shares=True),
    Tool(name=PTFLOPS_MODULES, unit=MACS, rule=hooked.ptflops),
    Tool(name=PTFLOPS_MODULES, unit=MACS, rule=hooked.ptflops, shares=True),
    Tool(name="ptflops with backend='aten'", unit=MACS, rule=kernels.ptflops_aten),
    Tool(name="ptflops with backend='aten'", unit=MACS, rule=partial(kernels.ptflops_aten, at_once=True)),
    Tool(name="fvcore", unit=MACS, rule=partial(functions.fvcore, at_once=True)),
    Tool(name="fvcore", unit=MACS, rule=functions.fvcore),
    Tool(name="mmengine", unit=MACS, rule=partial(functions.fvcore, at_once=True)),
    Tool(name="mmengine", unit=MACS, rule=functions.fvcore),
    Tool(name="torchinfo", unit=MACS, rule=summaries.torchinfo),
    Tool(name="torch-summary", unit=MACS, rule=summaries.torch_summary),
    Tool(name="torch-pruning", unit=MACS, rule=hooked.torch_pruning, shares=True, fraction=True),
    Tool(name="torchprofile", unit=MACS, rule=functions.torchprofile),
    Tool(name="torchscan", unit=MACS, rule=summaries.torchscan),
    Tool(name="torchscan", unit=FLOPS, rule=summaries.torchscan_operations),
    Tool(name="torchlens", unit=MACS, rule=functions.torchlens),
    Tool(name="torchlens", unit=FLOPS, rule=functions.torchlens_operations),
    Tool(name="calflops", unit=MACS, rule=profilers.calflops),
    Tool(name="calflops", unit=FLOPS, rule=profilers.calflops_operations),
    Tool(name="calflops", unit=MACS, rule=partial(profilers.calflops, at_once=True)),
    Tool(name="calflops", unit=FLOPS, rule=partial(profilers.calflops_operations, at_once=True)),
    Tool(name=DEEPSPEED, unit=MACS, rule=profilers.deepspeed),
    Tool(name=DEEPSPEED, unit=MACS, rule=partial(profilers.deepspeed, at_once=True)),
    Tool(name=DEEPSPEED, unit=FLOPS, rule=profilers.deepspeed_operations),
    Tool(name=DEEPSPEED, unit=FLOPS, rule=partial(profilers.deepspeed_operations, at_once=True)),
    Tool(name="flops-profiler", unit=MACS, rule=profilers.flops_profiler),
    Tool(name="flops-profiler", unit=FLOPS, rule=profilers.flops_profiler_operations),
    Tool(name=PROFILE, unit=MACS, rule=profilers.get_model_profile),
    Tool(name=PROFILE, unit=FLOPS, rule=profilers.get_model_profile_operations),
    Tool(name="flopco", unit=MACS, rule=summaries.flopco),
    Tool(name="flopco", unit=FLOPS, rule=_flopco_operations),
    Tool(name="flopth", unit=MACS, rule=summaries.flopth),
    Tool(name="flopth", unit=MACS, rule=summaries.flopth, one=True),
    Tool(name="flopsmeter", unit=FLOPS, rule=summaries.flopsmeter, one=True),
    Tool(name="pthflops", unit=MACS, rule=kernels.pthflops),
    Tool(name="torch_flops", unit=FLOPS, rule=kernels.torch_flops),
    Tool(name="onnx-opcounter", unit=MACS, rule=exported.onnx_opcounter),
    Tool(name="onnx_tool", unit=MACS, rule=exported.onnx_tool),
    Tool(name="qonnx", unit=MACS, rule=exported.qonnx),
    Tool(name="torch.profiler with with_flops=True", unit=FLOPS, rule=kernels.profiler),
    Tool(name="torch.utils.flop_counter", unit=FLOPS, rule=kernels.flop_counter),
    Tool(name="torch.utils.flop_counter", unit=FLOPS, rule=kernels.flop_counter_with_gradients),
    Tool(name="torch.utils.flop_counter with the backward pass", unit=FLOPS, rule=kernels.flop_counter_with_backward),
    Tool(name="a hook on each convolution and linear layer", unit=MACS, rule=hooked.on_layers),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What a tool makes of a network, part by part. `share`: what of each sample of the batch it gives."""

    tool: Tool
    pieces: tuple[Piece, ...]
    besides: tuple[Piece, ...] = ()
    share: Fraction = Fraction(1)
    single: bool = False

    @property
    def total(self) -> int | Fraction:
        """What it prints."""
        own = sum(each.count for each in self.pieces) * self.share
        kept = own if self.tool.fraction and own.denominator > 1 else int(own)
        return kept + sum(each.count for each in self.besides)

    @property
    def note(self) -> str:
        """Of how much of the batch it is, where that is not all."""
        if self.share != 1:
            return "What layers do is divided by the size of the batch."
        return "It is of one sample, not of the whole batch." if self.single else ""

    def parts(self) -> tuple[Piece, ...]:
        """What is counted, as it would be for the whole batch."""
        return (*self.pieces, *self.besides)


def counted(tool: Tool, whole: Trace, single: Callable[[], Trace]) -> Counted | None:
    """What a tool prints of a network; None where it fails, or where that is not known. `single`: for one sample."""
    if tool.name in _FAIL_ON_PACKED and any(call.packed for call in whole.calls):
        return None
    net = Net(single() if tool.one else whole)
    try:
        pieces = tuple(tool.rule(net))
        besides = tuple(tool.besides(net)) if tool.besides else ()
    except UnknownRuleError:
        return None
    share = Fraction(1, net.batch if tool.shares else 1)
    return Counted(tool=tool, pieces=pieces, besides=besides, share=share, single=tool.one and whole.batch > 1)
