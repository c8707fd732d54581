"""Files that hold tensors alone: safetensors and GGUF. What they hold is listed, and no value is read."""

from __future__ import annotations

import math
import mmap
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .flat import Buffer, DamagedError
from .kinds import GGUF, SAFETENSORS, kind_of_file, wrong_kind

if TYPE_CHECKING:
    from pathlib import Path

_MOST_HEADER = 16 << 20  # bytes; a model of 100,000 tensors has 12 MB
_MOST_TENSORS, _MOST_AXES = 200_000, 64
_ARRAY, _STRING = 9, 8
_SCALARS = dict(enumerate("BbHhIif?", 0)) | {10: "Q", 11: "q", 12: "d"}  # by number: the struct format of a value


@dataclass(frozen=True, slots=True)
class Stored:
    """A tensor in a file: its name, its type as the format calls it, its shape as programs see it, its bytes."""

    name: str
    type: str
    shape: tuple[int, ...]
    bytes: int

    @property
    def elements(self) -> int:
        """How many there are."""
        return math.prod(self.shape)


def stored(path: Path) -> list[Stored]:
    """The tensors of a safetensors or GGUF file, in its order.

    Raises:
        ValueError: it is no such file, is damaged, or the package that reads it is missing.
    """
    match kind_of_file(path)[0]:
        case kind if kind == SAFETENSORS:
            return _of_safetensors(path)
        case kind if kind == GGUF:
            return _of_gguf(path)
    raise ValueError(wrong_kind(path, "file of tensors (safetensors or GGUF)"))


def _lacking(kind: str, package: str) -> ValueError:
    """What is said where a package is not installed."""
    message = f"reading a {kind} file takes the package '{package}', which is not installed here: pip install {package}"
    return ValueError(message)


# ---- safetensors -----------------------------------------------------------------------------------------------------


def _of_safetensors(path: Path) -> list[Stored]:
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise _lacking(SAFETENSORS, SAFETENSORS) from None
    with path.open("rb") as reader:
        header = int.from_bytes(reader.read(8), "little")
    if header > _MOST_HEADER:
        message = f"its header has {header:,} bytes; at most {_MOST_HEADER:,} are read"
        raise ValueError(message)
    try:
        with safe_open(str(path), framework="numpy") as file:
            slices = {name: file.get_slice(name) for name in file.offset_keys()}
            rows = [(name, each.get_dtype(), tuple(each.get_shape())) for name, each in slices.items()]
    except (SafetensorError, OSError, ValueError) as error:
        message = f"this safetensors file is damaged or cut off: {error}"
        raise ValueError(message) from None
    return [Stored(name, kind, shape, -(-math.prod(shape) * _bits(kind) // 8)) for name, kind, shape in rows]


def _bits(kind: str) -> int:
    """How many bits an element has: what the name of the type ends in, as F8_E4M3 and BF16 say it."""
    if kind == "BOOL":
        return 8
    digits = "".join(each if each.isdigit() else " " for each in kind.partition("_")[0]).split()
    if not digits:
        message = f"it holds elements of type {kind}, which labgrade does not know"
        raise ValueError(message)
    return int(digits[0])


# ---- GGUF ------------------------------------------------------------------------------------------------------------


def _of_gguf(path: Path) -> list[Stored]:
    try:
        from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
    except ImportError:
        raise _lacking(GGUF, GGUF.lower()) from None
    sizes = {int(kind): (GGMLQuantizationType(kind).name, *size) for kind, size in GGML_QUANT_SIZES.items()}
    try:
        with path.open("rb") as reader, mmap.mmap(reader.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Gguf(Buffer(data)).tensors(sizes)
    except DamagedError as error:
        message = f"this GGUF file is damaged or cut off: {error}"
        raise ValueError(message) from None


class _Gguf:
    """Walks the header of a GGUF file; values of its metadata are gone past, but for the alignment."""

    def __init__(self, buffer: Buffer) -> None:
        self._buffer = buffer
        version = buffer.read("<I", 4)
        self._order = ">" if version & 0xFFFF == 0 else "<"
        version = self._at(4, "I")
        if version not in (2, 3):
            message = f"its version is {version}; GGUF has 2 and 3 (llama.cpp converts files of version 1)"
            raise ValueError(message)
        self._place = 8

    def _at(self, place: int, form: str) -> Any:
        return self._buffer.read(self._order + form, place)

    def _next(self, form: str) -> Any:
        found = self._at(self._place, form)
        self._place += struct.calcsize(f"={form}")
        return found

    def _past(self, size: int) -> None:
        if size > self._buffer.size - self._place:
            message = f"{size:,} bytes at byte {self._place:,} do not fit into the file"
            raise DamagedError(message)
        self._place += size

    def _text(self) -> str:
        length, start = self._next("Q"), self._place
        self._past(length)
        return bytes(self._buffer.data[start : start + min(length, 1024)]).decode("utf-8", "replace")

    def _value(self, kind: int, depth: int = 0) -> Any:
        """Go past a value; a number is returned."""
        self._buffer.count(1)
        if kind in _SCALARS:
            return self._next(_SCALARS[kind])
        if kind == _STRING:
            return self._past(self._next("Q"))
        if kind != _ARRAY or depth > 2:  # noqa: PLR2004 - arrays of arrays of arrays are in no file
            message = f"a value at byte {self._place:,} has the type {kind}"
            raise DamagedError(message)
        inner, count = self._next("I"), self._next("Q")
        if inner in _SCALARS:
            return self._past(count * struct.calcsize(f"={_SCALARS[inner]}"))
        self._buffer.count(min(count, 1 << 40))
        for _ in range(count):
            self._value(inner, depth + 1)
        return None

    def tensors(self, sizes: dict[int, tuple[str, int, int]]) -> list[Stored]:
        """All tensors. `sizes`: by number, a type's name, the elements of a block and its bytes."""
        tensors, pairs = self._next("Q"), self._next("Q")
        if tensors > _MOST_TENSORS:
            message = f"it says that it holds {tensors:,} tensors"
            raise DamagedError(message)
        alignment = 32
        for _ in range(pairs):
            name, value = self._text(), self._value(self._next("I"))
            if name == "general.alignment":
                alignment = value
        made = [self._tensor(sizes) for _ in range(tensors)]
        if not isinstance(alignment, int) or not 0 < alignment <= 1 << 20:
            message = f"its alignment is {alignment}"
            raise DamagedError(message)
        room = self._buffer.size - -(-self._place // alignment) * alignment
        for each, offset in made:
            if offset + each.bytes > room:
                message = f"the tensor '{each.name[:80]}' takes {each.bytes:,} bytes at {offset:,} of {max(room, 0):,}"
                raise DamagedError(message)
        return [each for each, _ in made]

    def _tensor(self, sizes: dict[int, tuple[str, int, int]]) -> tuple[Stored, int]:
        self._buffer.count(1)
        name, axes = self._text(), self._next("I")
        if axes > _MOST_AXES:
            message = f"the tensor '{name[:80]}' has {axes:,} dimensions"
            raise DamagedError(message)
        shape = tuple(self._next("Q") for _ in range(axes))
        kind, offset = self._next("I"), self._next("Q")
        if kind not in sizes:
            message = f"the tensor '{name[:80]}' has the type {kind}, which the installed package 'gguf' does not know"
            raise ValueError(message)
        word, block, size = sizes[kind]
        if shape and shape[0] % block:
            message = f"the tensor '{name[:80]}' has rows of {shape[0]:,}, and {word} has blocks of {block}"
            raise ValueError(message)
        # A file says the innermost size first.
        return Stored(name, word, shape[::-1], math.prod(shape) // block * size), offset
