"""What PyTorch's profiler counts of one pass through a network, and what a trace that it wrote holds. Never times."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from typing import TYPE_CHECKING, Any

from ._collector import uncollected
from ._counting.calls import seen
from ._counting.engine import analyse, inputs
from ._counting.trace import UncountableError

if TYPE_CHECKING:
    from pathlib import Path

    from ._counting.engine import CountedSubject
    from ._counting.trace import Call

_MOST_BYTES = 200_000_000  # of a trace, unpacked
_BROKEN = (
    *(UnicodeDecodeError, json.JSONDecodeError, RecursionError, KeyError, TypeError, AttributeError),
    *(EOFError, OSError, zlib.error),
)
_FLOAT, _INDEX = 4, 8  # bytes: a value, and where max pooling found it
_ALLOCATED = {
    "Conv2d": ("aten::empty", _FLOAT),
    "MaxPool2d": ("aten::max_pool2d_with_indices", _FLOAT + _INDEX),
    "Linear": ("aten::addmm", _FLOAT),
}


# ---- a network -------------------------------------------------------------------------------------------------------


def operator_calls(subject: CountedSubject, *, operators: list[str]) -> list[dict[str, Any]]:
    """How often one forward pass calls each of some operators, as PyTorch's profiler counts: `operator`, `calls`.

    `operators` are names such as `aten::conv2d`; those that are never called have no row.
    """
    import torch
    from torch.profiler import ProfilerActivity, profile

    module, given = subject.with_weights()
    with torch.no_grad(), profile(activities=[ProfilerActivity.CPU]) as profiler:
        module(*inputs(given))
    counts = Counter(event.name for event in profiler.events())
    return [{"operator": name, "calls": counts[name]} for name in operators if counts[name]]


def operator_memory(subject: CountedSubject, *, mib_as_mb: bool = False) -> list[dict[str, Any]]:
    """The bytes that convolutions, max pooling and linear layers allocate for outputs: `operator`, `self_cpu_mem`.

    As the profiler's "Self CPU Mem" says: `aten::empty` for the outputs of convolutions, four bytes a value;
    `aten::max_pool2d_with_indices`, which keeps eight bytes more for where each was found; `aten::addmm`. With
    `mib_as_mb` what comes out when its printed MB and KB, which are MiB and KiB, are read as decimal ones.
    """
    return _rows(_memory(subject, _ALLOCATED), mib_as_mb=mib_as_mb)


def operator_memory_without_indices(subject: CountedSubject, *, mib_as_mb: bool = False) -> list[dict[str, Any]]:
    """The same with four bytes for each value of a max pooling.

    Slip of: operator_memory
    Hint: Max pooling keeps, beside each value of four bytes, where it was found: an index of eight bytes.
    Credit: 0.5
    """
    allocated = {**_ALLOCATED, "MaxPool2d": ("aten::max_pool2d_with_indices", _FLOAT)}
    return _rows(_memory(subject, allocated), mib_as_mb=mib_as_mb)


def operator_memory_of_one_image(subject: CountedSubject, *, mib_as_mb: bool = False) -> list[dict[str, Any]]:
    """The bytes for one image of the batch.

    Slip of: operator_memory
    Hint: This is for one image. The profiler ran a batch.
    Credit: 0.5
    """
    batch = analyse(subject, counting=False).batch
    sizes = {operator: size // batch for operator, size in _memory(subject, _ALLOCATED).items()}
    return _rows(sizes, mib_as_mb=mib_as_mb)


def _memory(subject: CountedSubject, allocated: dict[str, tuple[str, int]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for call in analyse(subject, counting=False).calls:
        if call.type in allocated:
            operator, size = allocated[call.type]
            if seen(call).output_bytes != _FLOAT * _elements(call):
                message = (
                    f"'{call.name}' ({call.type}) puts out other numbers than float32 ones, whose bytes are counted"
                )
                raise UncountableError(message)
            found[operator] += _elements(call) * size
    return dict(found)


def _rows(sizes: dict[str, int], *, mib_as_mb: bool) -> list[dict[str, Any]]:
    return [
        {"operator": operator, "self_cpu_mem": _as_printed(size) if mib_as_mb else size}
        for operator, size in sizes.items()
    ]


def _elements(call: Call) -> int:
    product = 1
    for size in call.outputs[0]:
        product *= size
    return product


def _as_printed(size: int) -> float:
    for unit, factor in ((1 << 20, 10**6), (1 << 10, 10**3)):
        if size >= unit:
            return round(size / unit, 2) * factor
    return size


# ---- a trace ---------------------------------------------------------------------------------------------------------


def trace_calls(artifact: Path, *, operators: list[str]) -> dict[str, int]:
    """How often a trace of PyTorch's profiler has each of some operators, such as `aten::conv2d`; 0 where it has none.

    Raises:
        ValueError: this is no such trace.
    """
    counts = Counter(str(event.get("name")) for event in _events(artifact))
    return {name: counts[name] for name in operators}


def trace_input_shape(artifact: Path, *, operator: str) -> list[int]:
    """The shape of the first input of the first call of an operator in a trace.

    Raises:
        ValueError: this is no such trace, it has no such call, or shapes were not recorded.
    """
    calls = [event for event in _events(artifact) if event.get("name") == operator]
    if not calls:
        message = f"the trace has no call of {operator}"
        raise ValueError(message)
    first = min(calls, key=_began)
    known = first.get("args")
    shapes = known.get("Input Dims") if isinstance(known, dict) else None
    if not (isinstance(shapes, list) and shapes and isinstance(shapes[0], list)):
        message = "the trace has no shapes: profile with record_shapes=True"
        raise ValueError(message)
    if not all(isinstance(size, int) for size in shapes[0]):
        message = f"the trace says {str(shapes[0])[:60]} for the shape of an input"
        raise ValueError(message)
    return shapes[0]


def _began(event: dict[str, Any]) -> float:
    moment = event.get("ts", 0)
    return moment if isinstance(moment, int | float) else 0


def trace_allocations(artifact: Path) -> int:
    """How many times memory was allocated or freed in a trace; 0 without profile_memory=True."""
    return sum(event.get("name") == "[memory]" for event in _events(artifact, kind="i"))


def _events(artifact: Path, kind: str = "X") -> list[dict[str, Any]]:
    data = artifact.read_bytes()
    try:
        if data[:2] == b"\x1f\x8b":
            with gzip.open(artifact) as reader:
                data = reader.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            message = f"the trace has more than {_MOST_BYTES / 1e6:,.0f} MB"
            raise ValueError(message)
        with uncollected():  # JSON has no circles, and looking for them takes longer than reading
            events = json.loads(data)["traceEvents"]
        return [event for event in events if event.get("ph") == kind]
    except _BROKEN as error:
        message = f"this is no trace that PyTorch's profiler wrote ({type(error).__name__})"
        raise ValueError(message) from None
