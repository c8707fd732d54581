"""The inputs of a graph: what the file says of them, and what is said where it leaves something open.

Said is a shape by place (`1,3,8,8`), a shape by name (`image=1,3,8,8`), or the value of a small input (`sr=16000` for
one without dimensions, `sizes=[3,4]` for any). `seq=2,3+4,3` are the tensors of a sequence, `scalar` is a shape
without dimensions, `opt=none` an optional that holds nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from .problems import ModelError
from .tensors import MOST_ELEMENTS, Tensor, checked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .tensors import Value

    Shape = tuple[int, ...]
_SCALAR = "scalar"


@dataclass(slots=True)
class _Input:
    """An input as the file declares it. A dimension is a size, a name, or "" where it has neither."""

    name: str
    kind: str
    data_type: int
    dims: tuple[int | str, ...] | None
    shape: Shape | None = None
    value: Value | None = None
    items: tuple[Shape, ...] | None = None
    absent: bool = False

    @property
    def is_open(self) -> bool:
        return self.kind == "tensor" and (self.dims is None or any(isinstance(dim, str) for dim in self.dims))

    def said(self) -> str:
        dims = "of no known dimensions" if self.dims is None else f"[{', '.join(str(dim) or '?' for dim in self.dims)}]"
        return f"'{self.name[:80]}' {dims}" if self.kind == "tensor" else f"'{self.name[:80]}' ({self.kind})"

    def fits(self, shape: Shape) -> bool:
        if self.dims is None:
            return True
        pairs = zip(self.dims, shape, strict=False)
        return len(self.dims) == len(shape) and all(isinstance(dim, str) or dim == size for dim, size in pairs)


@dataclass(slots=True)
class _Said:
    """The shapes and values given for all inputs; a file need not follow `lenient` shapes, which are a task's."""

    inputs: list[_Input]
    by_name: dict[str, set[int]] = field(default_factory=dict)

    def all(self) -> str:
        return ", ".join(each.said() for each in self.inputs[:8]) or "none"


def inputs_of(
    declared: Sequence[onnx.ValueInfoProto], lenient: Sequence[Sequence[int]], said: Sequence[str]
) -> list[Tensor]:
    """The inputs of a graph as tensors, in order.

    `lenient`: shapes that fill what the file leaves open, and are passed over where they fit nothing. `said`: what a
    person says of this file, see above; where there is any, `lenient` counts nothing.

    Raises:
        ModelError: what is said fits no input, or contradicts the file.
    """
    found = _Said([_read(each) for each in declared])
    if said:
        _take(found, said)
    else:
        _fill(found, [tuple(shape) for shape in lenient])
    for each in found.inputs:
        for dim, size in zip(each.dims or (), each.shape or (), strict=False):
            if isinstance(dim, str) and dim:
                found.by_name.setdefault(dim, set()).add(size)
    return [_tensor(each, found.by_name) for each in found.inputs]


def _read(each: onnx.ValueInfoProto) -> _Input:
    kind, data_type = each.type, 0
    dims: tuple[int | str, ...] | None = None
    word = {"sequence_type": "sequence", "optional_type": "optional", "tensor_type": "tensor"}.get(
        kind.WhichOneof("value") or "", "value of another kind"
    )
    if word == "optional":
        kind = kind.optional_type.elem_type
    if kind.HasField("sequence_type"):
        kind = kind.sequence_type.elem_type
        word = "optional sequence" if word == "optional" else "sequence"
    if kind.HasField("tensor_type"):
        data_type = kind.tensor_type.elem_type
        if kind.tensor_type.HasField("shape"):
            dims = tuple(_dim(dim) for dim in kind.tensor_type.shape.dim)
    return _Input(each.name, word, data_type, dims)


def _dim(dim: onnx.TensorShapeProto.Dimension) -> int | str:
    """A size that the file fixes, 0 too, as runtimes take it; of a negative one they take any."""
    return dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else dim.dim_param


# ---- what a task says ------------------------------------------------------------------------------------------


def _fill(found: _Said, shapes: Sequence[Shape]) -> None:
    """The first input that leaves something open and has as many dimensions takes a shape, in order."""
    free = iter([each for each in found.inputs if each.is_open])
    for shape in shapes:
        fitting = (each for each in free if each.dims is None or len(each.dims) == len(shape))
        taken = next(fitting, None)
        if taken is not None and (taken.dims is not None or len(found.inputs) == 1):
            dims = taken.dims or shape
            taken.shape = tuple(dim if isinstance(dim, int) else size for dim, size in zip(dims, shape, strict=True))


# ---- what a person says ----------------------------------------------------------------------------------------


def _take(found: _Said, said: Sequence[str]) -> None:
    names = sorted((each.name for each in found.inputs), key=len, reverse=True)
    places: list[str] = []
    taken: set[str] = set()
    for text in said:
        name = next((name for name in names if text.startswith(f"{name}=")), None)
        if name is None and "=" in text:
            message = f"the file has no input '{text.partition('=')[0][:80]}': it has {found.all()}"
            raise ModelError(message)
        if name is None:
            places.append(text)
            continue
        if name in taken:
            message = f"the input '{name[:80]}' is said twice"
            raise ModelError(message)
        taken.add(name)
        own = next(each for each in found.inputs if each.name == name)
        _take_named(own, text.removeprefix(f"{name}="))
    free = [each for each in found.inputs if each.name not in taken and each.kind == "tensor"]
    _take_placed(found, free, [(_shape(text), text) for text in places])


def _take_placed(found: _Said, free: Sequence[_Input], shapes: Sequence[tuple[Shape, str]]) -> None:
    """Shapes go to inputs in their order, those that the file fixes already being passed over if they can be."""
    for among in ([each for each in free if each.is_open], free):
        waiting = iter(among)
        pairs = [(shape, next((each for each in waiting if each.fits(shape)), None)) for shape, _ in shapes]
        if all(each is not None for _, each in pairs):
            for shape, each in pairs:
                if each is not None:
                    each.shape = shape
            return
    wrong = next((each for each in shapes if not any(own.fits(each[0]) for own in free)), None)
    if wrong is None:
        message = f"{len(shapes)} shapes don't fit the file's inputs in their order: it has {found.all()}"
        raise ModelError(message)
    shape, text = wrong
    alike = [each for each in free if each.dims is not None and len(each.dims) == len(shape)]
    if len(alike) == 1:
        message = f"the input {text[:80]} contradicts the file, which fixes {alike[0].said()}"
        raise ModelError(message)
    message = f"the input {text[:80]} fits none of the file's: it has {found.all()}"
    raise ModelError(message)


def _take_named(own: _Input, text: str) -> None:
    if text == "none" and own.kind.startswith("optional"):
        own.absent = True
        return
    if own.kind.endswith("sequence"):
        own.items = tuple(_shape(part) for part in text.split("+")) if text else ()
        return
    if _is_value(own, text):
        own.value = _value(own, text)
        own.shape = own.value.shape
    else:
        own.shape = _shape(text)
    if not own.fits(own.shape):
        message = f"{own.name[:80]}={text[:80]} contradicts the file, which fixes {own.said()}"
        raise ModelError(message)


def _is_value(own: _Input, text: str) -> bool:
    """Whether a value is said, and no shape: in brackets, or of an input of one element, or no whole number."""
    if text.startswith(("[", '"')) or own.dims == ():
        return bool(text)
    try:
        return own.dims == (1,) and len(_shape(text)) == 1
    except ModelError:
        return True


def _value(own: _Input, text: str) -> Value:
    try:
        plain = json.loads({"True": "true", "False": "false"}.get(text, text))
    except ValueError:
        if own.data_type != onnx.TensorProto.STRING or text.startswith(("[", '"')):
            message = f"'{text[:80]}' is no value for the input {own.said()}: numbers such as 16000, true or [3, 4]"
            raise ModelError(message) from None
        plain = text
    try:
        found = _as_typed(plain, own.data_type)
    except (ValueError, TypeError, KeyError, OverflowError):
        message = f"'{text[:80]}' is no value for the input {own.said()}, whose elements are of another type"
        raise ModelError(message) from None
    if own.dims == (1,) and not found.ndim:
        found = found.reshape(1)
    if found.size > MOST_ELEMENTS:
        message = f"the value of the input {own.said()} has {found.size:,} elements: {MOST_ELEMENTS:,} at most"
        raise ModelError(message)
    return found


def _as_typed(plain: Any, data_type: int) -> Value:
    wanted = np.dtype(helper.tensor_dtype_to_np_dtype(data_type))
    if wanted.kind == "O":
        texts = np.array(plain, dtype=object)
        if not all(isinstance(each, str) for each in texts.reshape(-1)):
            raise TypeError
        return texts
    raw = np.array(plain)
    allowed = {"b": "b", "i": "i", "u": "i"}.get(wanted.kind, "if")
    if raw.size and raw.dtype.kind not in allowed:
        raise TypeError
    found = raw.astype(wanted)
    if wanted.kind in "iu" and raw.size and not np.array_equal(found, raw):
        raise OverflowError
    return found


def _shape(text: str) -> Shape:
    try:
        shape = () if text == _SCALAR else tuple(int(part) for part in text.replace("x", ",").split(","))
    except ValueError:
        shape = (-1,)
    if any(size < 0 for size in shape):
        message = f"an input shape is whole numbers such as 1,3,224,224, not '{text[:80]}'"
        raise ModelError(message)
    return shape


# ---- as tensors ------------------------------------------------------------------------------------------------


def _tensor(each: _Input, by_name: Mapping[str, set[int]]) -> Tensor:
    tensor = Tensor(name=each.name, kind="input", data_type=each.data_type)
    if each.items is not None:
        tensor.items = tuple(
            Tensor(name=each.name, kind="input", data_type=each.data_type, shape=checked(shape, each.name))
            for shape in each.items
        )
        return tensor
    tensor.absent = each.absent
    if each.value is not None:
        value = each.value
        tensor.source = lambda: value
    shape = each.shape
    if shape is None and each.kind != "tensor":
        tensor.unknown = f"the graph's input '{each.name[:80]}' is no tensor, and nothing says what it holds"
        return tensor
    found: list[int] | None = list(shape) if shape is not None else None
    if found is None and each.dims is not None:
        sizes = [_named_size(dim, by_name) for dim in each.dims]
        found = [size for size in sizes if size is not None]
        found = found if len(found) == len(sizes) else None
    if found is not None:
        tensor.shape = checked(tuple(found), each.name)
        return tensor
    twice = next(_told_apart(each, by_name), "")
    tensor.unknown = f"the graph's input '{each.name[:80]}' leaves dimensions open, and nothing says their sizes{twice}"
    return tensor


def _named_size(dim: int | str, by_name: Mapping[str, set[int]]) -> int | None:
    if isinstance(dim, int):
        return dim
    sizes = by_name.get(dim, set())
    return next(iter(sizes)) if len(sizes) == 1 else None


def _told_apart(each: _Input, by_name: Mapping[str, set[int]]) -> Iterator[str]:
    for dim in each.dims or ():
        if isinstance(dim, str) and len(sizes := by_name.get(dim, set())) > 1:
            yield f"; of '{dim[:80]}' {len(sizes)} are said: {sorted(sizes)}"
