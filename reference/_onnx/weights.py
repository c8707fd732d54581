"""The weights that a loaded model left in its file: mapped into memory, read when they are asked for, never copied."""

from __future__ import annotations

import math
import mmap
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakSet

import numpy as np
import onnx
from onnx import helper, numpy_helper

from .load import beside, graphs_of, load
from .problems import ModelError
from .tensors import type_name
from .wire import LEFT_OUT_HERE, SCATTERED, size_of

if TYPE_CHECKING:
    from pathlib import Path

    Array: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.generic]]

_RAW, _FLOATS, _DOUBLES = 9, 4, 10
_CONTIGUOUS = {_RAW: None, _FLOATS: "<f4", _DOUBLES: "<f8"}  # fields whose bytes are the elements, one behind the other
_TYPE_OF = {_FLOATS: onnx.TensorProto.FLOAT, _DOUBLES: onnx.TensorProto.DOUBLE}
_TYPED = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data")
_HELD_BYTES = 64 << 20  # of views, of whose pages about as many stay


_OPEN: WeakSet[mmap.mmap] = WeakSet()


def give_pages_back() -> None:
    """Let go of the memory that mapped files take; what is looked at again is read again."""
    for each in _OPEN if hasattr(mmap, "MADV_DONTNEED") else ():  # Windows has none
        each.madvise(mmap.MADV_DONTNEED)


class Weights:
    """A model and the values of its tensors. Views of the mapped file: it must not change while they are used.

    Raises:
        ModelError: as `load` does.
    """

    def __init__(self, path: Path) -> None:
        self.model = load(path)
        self._path = path
        self._maps: dict[Path, mmap.mmap] = {}
        self._given = 0

    def array(self, tensor: onnx.TensorProto) -> Array:
        """The values of a tensor of this model.

        Raises:
            ModelError: it holds fewer or more bytes than its shape needs, strings, or elements below a byte.
        """
        shape = tuple(tensor.dims)
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            return _small(tensor)
        if tensor.external_data:
            return self._external(tensor, shape)
        word, _, place = tensor.doc_string.partition(" ")
        if word != LEFT_OUT_HERE or place == SCATTERED:
            message = f"the values of the tensor '{tensor.name}' lie scattered over the file"
            raise ModelError(message)
        field, begin, finish = map(int, place.split(" "))
        if field not in _CONTIGUOUS or tensor.data_type != _TYPE_OF.get(field, tensor.data_type):
            return self._packed(tensor, field, begin, finish)
        known = _CONTIGUOUS[field]
        return self._view(
            self._path, begin, finish - begin, shape, np.dtype(known) if known else _dtype(tensor), tensor
        )

    def _external(self, tensor: onnx.TensorProto, shape: tuple[int, ...]) -> Array:
        entries = {entry.key: entry.value for entry in tensor.external_data}
        file = beside(self._path.parent, entries.get("location", ""), tensor.name)
        dtype = _dtype(tensor)
        length = math.prod(shape) * dtype.itemsize
        return self._view(file, int(entries.get("offset", "0")), length, shape, dtype, tensor)

    def _view(
        self,
        file: Path,
        begin: int,
        length: int,
        shape: tuple[int, ...],
        dtype: np.dtype[np.generic],
        of: onnx.TensorProto,
    ) -> Array:
        content = self._map(file)
        count = math.prod(shape)
        if length != count * dtype.itemsize or not 0 <= begin <= len(content) - length:
            message = f"the tensor '{of.name}' holds {length:,} bytes where its shape {list(shape)} needs "
            message += f"{count * dtype.itemsize:,}"
            raise ModelError(message)
        self._given += length
        if self._given > _HELD_BYTES:  # what was looked at before is seldom looked at again
            give_pages_back()
            self._given = 0
        return np.frombuffer(content, dtype, count, begin).reshape(shape)

    def _packed(self, tensor: onnx.TensorProto, field: int, begin: int, finish: int) -> Array:
        """Elements that protobuf packs into numbers of varying length."""
        whole = onnx.TensorProto(dims=tensor.dims, data_type=tensor.data_type, name=tensor.name)
        content = self._map(self._path)[begin:finish]
        length = bytearray()
        left = len(content)
        while left > 127:  # noqa: PLR2004 - seven bits a byte
            length.append(left & 127 | 128)
            left >>= 7
        whole.MergeFromString(bytes([field << 3 | 2, *length, left]) + content)
        return _small(whole)

    def _map(self, file: Path) -> mmap.mmap:
        if file not in self._maps:
            with file.open("rb") as opened:
                self._maps[file] = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
            _OPEN.add(self._maps[file])
        return self._maps[file]


def _small(tensor: onnx.TensorProto) -> Array:
    if tensor.HasField("raw_data") and any(getattr(tensor, name) for name in _TYPED):
        message = f"the tensor '{tensor.name}' holds its values twice, as raw_data and typed"
        raise ModelError(message)
    try:
        return np.asarray(numpy_helper.to_array(tensor))
    except (ValueError, TypeError, KeyError) as error:
        message = f"the tensor '{tensor.name}' can't be read: {error}"
        raise ModelError(message) from None


def _dtype(tensor: onnx.TensorProto) -> np.dtype[np.generic]:
    try:
        dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
    except KeyError:
        dtype = np.dtype(object)
    if dtype.kind not in "iufb" and dtype.name != "bfloat16":
        message = f"the tensor '{tensor.name}' is of a type that numpy does not have"
        raise ModelError(message)
    return dtype


def held_by(path: Path, *, integers: bool) -> list[tuple[str, int, int]]:
    """Type, elements and bytes of each initializer of a file; without `integers` those that are shapes are left out.

    Raises:
        ModelError: it is no model, or holds elements without a size.
    """
    made = []
    for graph in graphs_of(load(path)):
        for each in (*graph.initializer, *(sparse.values for sparse in graph.sparse_initializer)):
            size = size_of(each.data_type, tuple(each.dims))
            if size is None:
                message = f"the tensor '{each.name[:80]}' holds elements without a fixed size"
                raise ModelError(message)
            if integers or each.data_type != onnx.TensorProto.INT64:
                made.append((type_name(each.data_type), math.prod(each.dims), size))
    return made
