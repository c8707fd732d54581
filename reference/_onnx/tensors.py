"""What flows through a graph: type, shape, and, for the small tensors that shapes depend on, the value."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import onnx
from onnx import numpy_helper

from .problems import ModelError
from .wire import KEPT_BYTES, size_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Value = np.ndarray[Any, Any]

MOST_ELEMENTS = KEPT_BYTES // 8
_MOST_TRUTHS = 1 << 20  # of a tensor of truths, by which Compress selects
PLAIN = {1: "<f4", 11: "<f8", 6: "<i4", 7: "<i8", 9: "|b1"}  # numpy's type of ONNX's
_LARGEST = 1 << 62  # elements; more than any machine addresses
Kind = Literal["input", "weight", "constant", "activation"]


@dataclass(eq=False, slots=True)
class Tensor:
    """A tensor of a run. `kind`: where it comes from; `constant` is what a Constant node holds.

    `shape` is None where it could not be found out, for the reason in `unknown`. `parts` are the tensors whose memory
    this one stands for: a loop's stacked outputs are its iterations' tensors. `items`: the tensors of a sequence, which
    has no shape of its own. `absent`: an optional that holds nothing. `source` computes the value, when asked.
    """

    name: str
    kind: Kind = "activation"
    data_type: int = 0
    shape: tuple[int, ...] | None = None
    unknown: str = ""
    parts: tuple[Tensor, ...] = ()
    items: tuple[Tensor, ...] | None = None
    absent: bool = False
    source: Callable[[], Value | None] | None = field(default=None, repr=False)
    _value: Value | None = field(default=None, repr=False)

    @property
    def size(self) -> int:
        """Its bytes.

        Raises:
            ModelError: its shape is unknown, or its elements (strings) have no size; names it and says why.
        """
        if self.items is not None or self.absent:
            return sum(each.size for each in self.items or ())
        found = size_of(self.data_type, self.shaped())
        if found is None:
            message = f"'{self.name}' holds elements of type {type_name(self.data_type)}, which have no fixed size"
            raise ModelError(message)
        return found

    def shaped(self) -> tuple[int, ...]:
        """Its shape.

        Raises:
            ModelError: it is unknown; names the tensor and says why.
        """
        if self.shape is None:
            message = f"the shape of '{self.name[:80]}' is unknown: {self.unknown or 'it is a sequence, not a tensor'}"
            raise ModelError(message)
        return self.shape

    @property
    def is_known(self) -> bool:
        """Whether its shape is known; of a sequence, those of its tensors."""
        if self.items is not None:
            return all(each.is_known for each in self.items)
        return self.shape is not None or self.absent

    def like(self, name: str) -> Tensor:
        """Another of the same type, shape and value: what a node makes that copies it."""
        items = None if self.items is None else tuple(each.like(each.name) for each in self.items)
        return Tensor(
            name=name,
            data_type=self.data_type,
            shape=self.shape,
            unknown=self.unknown,
            items=items,
            absent=self.absent,
            source=self.known,
        )

    def known(self) -> Value | None:
        """The value where it is small and does not depend on the model's input, else None."""
        if self._value is None and self.source is not None:
            self._value, self.source = self.source(), None
        if self._value is None and self.shape is not None and 0 in self.shape:
            self._value = _nothing(self.data_type, self.shape)
        return self._value

    def real(self) -> tuple[Tensor, ...]:
        """The tensors that take memory for this one: itself, or its parts'."""
        return tuple(inner for part in self.parts for inner in part.real()) if self.parts else (self,)


def type_name(data_type: int) -> str:
    """An element type as numpy and ONNX call it: `float32`, `int4`."""
    known = {number: name for name, number in onnx.TensorProto.DataType.items()}
    name = str(known.get(data_type, f"number {data_type}")).lower()
    return {"float": "float32", "double": "float64"}.get(name, name)


def _nothing(data_type: int, shape: tuple[int, ...]) -> Value | None:
    """The value of a tensor without elements, which nothing can change."""
    try:
        return np.empty(shape, dtype=onnx.helper.tensor_dtype_to_np_dtype(data_type))
    except KeyError:
        return None


def of_proto(proto: onnx.TensorProto, kind: Kind, name: str = "") -> Tensor:
    """A tensor that the file holds. Its value is read when it is asked for, if it was small enough to be kept."""
    shape = checked(tuple(proto.dims), name or proto.name)
    wanted = size_of(proto.data_type, shape)
    if proto.HasField("raw_data") and wanted is not None and len(proto.raw_data) != wanted:
        held = f"{len(proto.raw_data):,} bytes where its shape {list(shape)} needs {wanted:,}"
        message = f"the tensor '{(name or proto.name)[:80]}' holds {held}"
        raise ModelError(message)
    return Tensor(
        name=name or proto.name,
        kind=kind,
        data_type=proto.data_type,
        shape=shape,
        source=lambda: _read(proto, shape),
    )


def _read(proto: onnx.TensorProto, shape: tuple[int, ...]) -> Value | None:
    most = _MOST_TRUTHS if proto.data_type == onnx.TensorProto.BOOL else MOST_ELEMENTS
    if proto.data_location == onnx.TensorProto.EXTERNAL or math.prod(shape) > most:
        return None
    if proto.data_type in PLAIN and proto.HasField("raw_data") and not proto.HasField("segment"):
        # As most are; what onnx has takes five times as long.
        return np.frombuffer(proto.raw_data, PLAIN[proto.data_type]).reshape(shape)
    try:
        return np.asarray(numpy_helper.to_array(proto))
    except (ValueError, TypeError, KeyError) as error:
        message = f"the tensor '{proto.name}' can't be read: {error}"
        raise ModelError(message) from None


def checked(shape: tuple[int, ...], name: str) -> tuple[int, ...]:
    """The shape, once it is one.

    Raises:
        ModelError: a size is negative, or there are more elements than can be.
    """
    elements = 1
    for size in shape:
        elements *= size
        if size < 0 or elements > _LARGEST:
            message = f"'{name}' can't have the shape {list(shape)}"
            raise ModelError(message)
    return shape
