"""What tools print of a network where it is not what is asked for, and why: `<quantity>_tool_slips` stands beside it.

Each gives a list of numbers: `value`, the `tools` that print it, the sentence that it `says`, the same with `amounts`,
and how much of the work is right (`share`, from 0 to 1). None of the numbers is ever right.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ._counting.engine import analyse
from ._counting.trace import is_scripted
from ._tools import net as nets
from ._tools import parameters as of_parameters
from ._tools.by_layer import right_by_layer, tables
from ._tools.found import Found, numbers
from ._tools.net import Net, UnknownRuleError
from ._tools.sentences import difference, nearest
from ._tools.table import FLOPS, MACS, TOOLS, WITHOUT_ROWS, counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._counting.engine import CountedSubject
    from ._counting.trace import Trace
    from ._tools.sentences import Difference
    from ._tools.table import Counted

Names = list[str] | None
_NAMES = range(1, 21)  # characters of a file's name
_OF_FILE = (
    "This is the size of a file that torch.save writes of the state_dict. Buffers, names and the archive around the "
    "weights are in it: add up numel() * element_size() of the parameters."
)
_OF_TENSORS = (
    "This is the size of a .safetensors file of the state_dict. Buffers and the header around the weights are in it: "
    "add up numel() * element_size() of the parameters."
)
_KINDS = {"torch.float32": "F32", "torch.float16": "F16", "torch.bfloat16": "BF16", "torch.int64": "I64"}
_TWO, _HALF, _ONE = Fraction(2), Fraction(1, 2), Fraction(1)
_MACS_FOR_FLOPS = (FLOPS, MACS, _ONE)
_UNITS = {
    (MACS, MACS, _ONE): "",
    (MACS, MACS, _TWO): "twice",
    (MACS, FLOPS, _ONE): "as FLOPs, of which a multiply-accumulate is two, and the task asks for MACs",
    (MACS, FLOPS, _HALF): "half",
    (FLOPS, FLOPS, _ONE): "",
    (FLOPS, MACS, _TWO): "twice",
    (FLOPS, MACS, _ONE): "and counts in MACs, of which each is two FLOPs",
}


def macs_tool_slips(
    subject: CountedSubject, *, layers: Names = None, bias: bool = False, per: Literal["batch", "sample"] = "batch"
) -> list[dict[str, Any]]:
    """What tools print for `macs` where it is something else."""
    return _products(subject, MACS, layers=layers, bias=bias, per=per)


def flops_tool_slips(
    subject: CountedSubject, *, layers: Names = None, bias: bool = False, per: Literal["batch", "sample"] = "batch"
) -> list[dict[str, Any]]:
    """What tools print for `flops` where it is something else."""
    return _products(subject, FLOPS, layers=layers, bias=bias, per=per)


def parameters_tool_slips(
    subject: CountedSubject, *, which: Literal["all", "trainable", "frozen"] = "all"
) -> list[dict[str, Any]]:
    """What tools print for `parameters` where it is something else."""
    return _parameters(subject, 1) if which == "all" else []


def weight_bytes_tool_slips(subject: CountedSubject) -> list[dict[str, Any]]:
    """What tools print for `weight_bytes`: four for each parameter that they see; and the size of a file of them."""
    return [*_parameters(subject, 4), *_files(subject)]


def macs_by_layer_tool_slips(
    subject: CountedSubject, *, layers: Names = None, bias: bool = False
) -> list[dict[str, Any]]:
    """What tools print for `macs_by_layer`, in MACs or in FLOPs: a list of `rows`, and what is said of them."""
    whole = analyse(subject)
    if whole.unnamed or any(is_scripted(call.module) for call in whole.calls):
        return []
    tools = (tool for tool in TOOLS if tool.name not in WITHOUT_ROWS)
    found = [counted(tool, whole, partial(analyse, subject, batch=1)) for tool in tools]
    right = right_by_layer(whole, layers=layers, bias=bias, each=1)
    return tables(whole, [each for each in found if each is not None], {MACS: _ONE, FLOPS: _HALF}, right)


def _products(subject: CountedSubject, asked: str, *, layers: Names, bias: bool, per: str) -> list[dict[str, Any]]:
    whole = analyse(subject)
    if per == "sample" and whole.batch > 1:
        return []
    if whole.unnamed or any(is_scripted(call.module) for call in whole.calls):
        return []  # what tools see of TorchScript, or of vmap, nobody here knows
    sample = analyse(subject, batch=1) if whole.batch > 1 else whole
    right, of_sample = (_rights(trace, asked, layers=layers, bias=bias) for trace in (whole, sample))
    wanted = [sum(each.count for each in pieces) for pieces in right]
    found = []
    # A student may show a tool one sample, whatever the task's batch is.
    alone = [replace(tool, one=True) for tool in TOOLS if not tool.one] if whole.batch > 1 else []
    for tool in (*TOOLS, *alone):
        made = counted(tool, whole, lambda: sample)
        if made is None:
            continue
        to_asked = _ONE if asked == tool.unit else _HALF if asked == MACS else _TWO
        differs: Difference | None = None
        for (of, unit, scale), how in _UNITS.items():
            value = made.total * scale
            if of != asked or unit != tool.unit or value in wanted or not (value.denominator == 1 or tool.fraction):
                continue
            if made.single and scale / to_asked == whole.batch:  # which makes up for the batch: nobody can tell
                continue
            differs = differs or _differing(made, right, of_sample, to_asked)
            in_macs = (asked, unit, scale) == _MACS_FOR_FLOPS and not made.single
            if differs or in_macs:
                printed = int(value) if value.denominator == 1 else float(value)
                found.append(Found(tool=tool.name, how=how, value=printed, differs=differs, note=made.note))
    return numbers(found, asked)


def _differing(
    made: Counted, right: list[list[nets.Piece]], of_sample: list[list[nets.Piece]], scale: Fraction
) -> Difference:
    """In what a tool's parts differ from what is right.

    Where it sees a sample alone, what differs is said of that, and the share is that of the whole.
    """
    differs = nearest(made.parts(), right, scale=scale)
    return replace(nearest(made.parts(), of_sample, scale=scale), share=differs.share) if made.single else differs


def _rights(trace: Trace, asked: str, *, layers: Names, bias: bool) -> list[list[nets.Piece]]:
    """What is right: with the products that make weights of weights, and without them, where there are any."""
    make = partial(nets.right, Net(trace), layers=layers, bias=bias, each=2 if asked == FLOPS else 1)
    ways = (True, False) if any(each.of_weights for each in trace.operations) else (True,)
    return [make(of_weights=way) for way in ways]


def _parameters(subject: CountedSubject, each: int) -> list[dict[str, Any]]:
    net = Net(analyse(subject), subject.with_weights)
    found = []
    for name, rule in of_parameters.TOOLS:
        try:
            made, right = of_parameters.differing(net, rule)
        except UnknownRuleError:
            continue
        value = sum(piece.count for piece in made)
        if value != sum(piece.count for piece in right):
            how = f"{each} bytes" if each > 1 else ""
            found.append(Found(tool=name, how=how, value=value * each, differs=difference(made, right)))
    return numbers(found, "parameters")


def _files(subject: CountedSubject) -> list[dict[str, Any]]:
    """The sizes of files that torch.save writes of a state_dict, by the length of its name, which each part bears."""
    import tempfile
    from pathlib import Path

    import torch

    module, _ = subject.with_weights()
    held, sizes = module.state_dict(), set()
    own = sum(each.nbytes for each in module.parameters())
    with tempfile.TemporaryDirectory(prefix="labgrade-size-") as folder, torch.serialization.skip_data():
        for length in _NAMES:
            file = Path(folder) / f"{'n' * length}.pth"
            torch.save(held, file)
            sizes.add(file.stat().st_size)
            file.unlink()
    share = float(Fraction(own, max(own, *sizes)))
    written = [("torch.save", _OF_FILE, size) for size in sorted(sizes)]
    written += [("safetensors", _OF_TENSORS, size) for size in sorted(_of_safetensors(held) - sizes)]
    if not any(True for _ in module.buffers()):
        bare = (("Buffers, names", "Names"), ("Buffers and the header around the weights are", "The header is"))
        for one, other in bare:
            written = [(tool, says.replace(one, other), size) for tool, says, size in written]
    return [
        {"value": size, "tools": [tool], "says": says, "amounts": says, "share": share} for tool, says, size in written
    ]


def _of_safetensors(held: Mapping[str, Any]) -> set[int]:
    """The sizes of a .safetensors file, with the format in its header and without; none where tensors are shared."""
    import json

    if len({each.data_ptr() for each in held.values()}) < len(held):  # the library refuses them
        return set()
    at, header = 0, {}
    for name, each in sorted(held.items(), key=lambda item: (-item[1].element_size(), item[0])):
        kind = _KINDS.get(str(each.dtype))
        if kind is None:
            return set()
        header[name] = {"dtype": kind, "shape": list(each.shape), "data_offsets": [at, at + each.nbytes]}
        at += each.nbytes
    texts = [json.dumps(some | header, separators=(",", ":")) for some in ({}, {"__metadata__": {"format": "pt"}})]
    return {8 + -(-len(text.encode()) // 8) * 8 + at for text in texts}


def saved_file_bytes(subject: CountedSubject) -> int:
    """The bytes of what torch.save writes of the state_dict into a buffer.

    Slip of: weight_bytes
    Hint: This is the size of what torch.save writes. Buffers, names and the archive around the weights are in it: add
    up numel() * element_size() of the parameters.
    Credit: 0.4
    """
    import io

    import torch

    module, _ = subject.with_weights()
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    return file.getbuffer().nbytes
