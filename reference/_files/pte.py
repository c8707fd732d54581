"""Programs of ExecuTorch: operators, tensors and the memory plan, by the published schema (program.fbs)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .flat import Table, opened
from .kinds import PTE, kind_of_file, wrong_kind

if TYPE_CHECKING:
    from pathlib import Path

_KERNEL, _TENSOR = 1, 5  # in the unions of instructions and of values
_ELSEWHERE = 1  # the values lie in a file of their own
# By the number of torch's scalar type: its name, and the bytes of an element.
_TYPES = {
    0: ("uint8", 1), 1: ("int8", 1), 2: ("int16", 2), 3: ("int32", 4), 4: ("int64", 8), 5: ("float16", 2),
    6: ("float32", 4), 7: ("float64", 8), 8: ("complex32", 4), 9: ("complex64", 8), 10: ("complex128", 16),
    11: ("bool", 1), 12: ("qint8", 1), 13: ("quint8", 1), 14: ("qint32", 4), 15: ("bfloat16", 2), 22: ("bits16", 2),
    23: ("float8_e5m2", 1), 24: ("float8_e4m3fn", 1), 25: ("float8_e5m2fnuz", 1), 26: ("float8_e4m3fnuz", 1),
    27: ("uint16", 2), 28: ("uint32", 4), 29: ("uint64", 8),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor. `kind`: weight; planned, in a buffer of the plan; state: planned, with first values; input."""

    kind: str
    type: str
    shape: tuple[int, ...]
    bytes: int

    @property
    def elements(self) -> int:
        """How many there are."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Method:
    """A method: what it calls, in order; its delegates; the bytes of the buffers that are planned; its tensors."""

    name: str
    kernels: list[str]
    delegates: tuple[str, ...]
    planned: tuple[int, ...]
    values: list[Value]


def read(path: Path) -> list[Method]:
    """The methods of a program; nothing of it runs.

    Raises:
        ValueError: it is no program, or is damaged.
    """
    if kind_of_file(path)[0] != PTE:
        raise ValueError(wrong_kind(path, "program of ExecuTorch (.pte)"))
    with opened(path, "program of ExecuTorch") as buffer:
        found = [_method(each) for each in buffer.root().tables(1)]
    if not found:
        message = "this program of ExecuTorch has no method: it is cut off or damaged"
        raise ValueError(message)
    return found


def _method(table: Table) -> Method:
    names = [f"{name}.{more}" if (more := each.text(1)) else name for each in table.tables(6) if (name := each.text(0))]
    called = []
    for chain in table.tables(5):
        for step in chain.tables(2):
            arguments = step.table(1) if step.number(0, "B") == _KERNEL else None
            if arguments is not None:
                place = int(arguments.number(0, "i"))
                if not 0 <= place < len(names):
                    message = (
                        "this program of ExecuTorch is damaged or cut off: it calls an operator that it does not name"
                    )
                    raise ValueError(message)
                called.append(names[place])
    planned = table.numbers(8, "q")
    if min(planned, default=0) < 0:
        message = "this program of ExecuTorch is damaged or cut off: a buffer has less than no bytes"
        raise ValueError(message)
    delegates = tuple(each.text(0) for each in table.tables(7))
    held = [
        value for each in table.tables(2) if each.number(0, "B") == _TENSOR and (value := each.table(1)) is not None
    ]
    return Method(
        table.text(0), called, delegates, planned[1:], [_value(each) for each in held]
    )  # the first is for weights


def _value(table: Table) -> Value:
    number, shape = int(table.number(0, "b")), table.numbers(2, "i")
    if number not in _TYPES or any(size < 0 for size in shape):
        said = f"a tensor has the type {number} and the shape {list(shape)}"
        message = f"this program of ExecuTorch is damaged or cut off: {said}"
        raise ValueError(message)
    word, size = _TYPES[number]
    more = table.table(9)
    held = bool(table.number(5, "I")) or (more is not None and more.number(2, "b") == _ELSEWHERE)
    kinds = ("input", "weight") if table.table(6) is None else ("planned", "state")
    kind = kinds[held]
    return Value(kind, word, shape, size * math.prod(shape))
