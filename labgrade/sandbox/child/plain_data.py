"""What of torch, numpy and the standard library counts as plain data: known by identity, never by `isinstance`.

Of a student's own types those count whose parts have names (named tuples, dataclasses, enumerations), and those made
of a builtin one (`class Row(dict)`): what these hold is read as the builtin holds it, whatever they say of themselves.
"""

from __future__ import annotations

import contextlib
import sys
from collections import Counter, OrderedDict, defaultdict
from itertools import islice
from types import GeneratorType, MappingProxyType
from typing import Any, NoReturn

from labgrade.sandbox.child.wire import DTYPES, FRAME_BYTES, INT_DIGITS, NotPlainError, RawArray, refuse, type_name

_MAPPINGS = (OrderedDict, Counter, defaultdict, MappingProxyType)
_LAZY: tuple[type, ...] = (
    GeneratorType,
    map,
    zip,
    filter,
    enumerate,
    reversed,
    type({}.keys()),
    type({}.values()),
    type({}.items()),
    type(OrderedDict().keys()),
    type(OrderedDict().values()),
    type(OrderedDict().items()),
)
_MOST_ITEMS = 1 << 22
_PLAIN = "numbers, text, lists, dicts or tensors"
_NUMPY_SCALARS = (
    *("bool_", "byte", "ubyte", "short", "ushort", "intc", "uintc", "int_", "uint", "longlong", "ulonglong"),
    *("float16", "float32", "float64", "str_"),
)


def convert(item: object) -> object:
    """Return the plain data that an object stands for; items within it are converted by later calls.

    Raises:
        NotPlainError: it means none; says its type, and what to return instead.
    """
    for known in (_from_standard_library, _from_numpy, _from_torch, _from_numbers, _from_named_parts, _from_builtin):
        plain = known(item)
        if plain is not None:
            return plain
    name = type_name(item)
    article = "an" if name[:1].lower() in "aeiou" else "a"
    problem = f"{article} {name}, which is not plain data; return {_PLAIN}"
    raise NotPlainError(problem)


def _from_standard_library(item: Any) -> object:
    kind = type(item)
    if kind in _MAPPINGS:
        return dict(item.items())
    if kind is range:
        return list(item[:_MOST_ITEMS])
    if kind in _LAZY:
        return list(islice(item, _MOST_ITEMS))
    if kind is bytes:  # a text, as onnx.helper gives the texts of a file
        with contextlib.suppress(UnicodeDecodeError):
            return item.decode()
    if kind is type:
        return str.__str__(item.__name__)
    if kind is set or kind is frozenset:
        refuse(f"a {kind.__name__}, which has no order; return a list, or its length")
    return None


def _from_numbers(item: Any) -> object:
    """Return a Decimal or Fraction as an int where it is a whole number, else as the nearest float."""
    kind = type(item)
    decimal, fractions = sys.modules.get("decimal"), sys.modules.get("fractions")
    if decimal is not None and kind is decimal.Decimal:
        whole = item.is_finite() and item.adjusted() < INT_DIGITS and item == item.to_integral_value()
        return int(item) if whole else float(item)
    if fractions is not None and kind is fractions.Fraction:
        return item.numerator if item.denominator == 1 else item.numerator / item.denominator
    return None


def _from_named_parts(item: Any) -> object:
    """Return a named tuple or a dataclass as a dict, a member of an enumeration as its value."""
    for kind in type(item).__mro__:
        own = vars(kind)
        fields = own.get("_fields")
        if kind.__bases__ == (tuple,) and type(fields) is tuple:
            return dict(zip(fields, tuple.__iter__(item), strict=False))
        fields = own.get("__dataclass_fields__")
        if type(fields) is dict:
            return {name: getattr(item, name) for name in fields}
    enum = sys.modules.get("enum")
    return item.value if enum is not None and enum.Enum in type(item).__mro__ else None


def _from_builtin(item: Any) -> object:
    """Return the builtin value inside an object whose class a student derived from a builtin type."""
    for kind in type(item).__mro__[1:]:
        if kind is dict:
            return dict(dict.items(item))
        if kind is list or kind is tuple:
            return list(kind.__iter__(item))
        if kind is int or kind is float:
            return kind.__pos__(item)
        if kind is str:
            return str.__str__(item)
    return None


def _from_numpy(item: Any) -> object:
    numpy = sys.modules.get("numpy")
    kind = type(item)
    if numpy is None:
        return None
    if any(kind is getattr(numpy, name) for name in _NUMPY_SCALARS):
        return item.item()
    if kind is not numpy.ndarray:
        return None
    dtype = item.dtype.newbyteorder("<").str
    if dtype not in DTYPES:
        refuse(f"a numpy array of dtype {item.dtype}; return one of numbers, such as float32")
    if item.nbytes > FRAME_BYTES:
        _refuse_size(item.nbytes)
    return RawArray(dtype, tuple(item.shape), item.astype(dtype, order="C", copy=False).tobytes())


def _from_torch(item: Any) -> object:
    torch = sys.modules.get("torch")
    kind = type(item)
    if torch is None:
        return None
    if kind is torch.Size:
        return tuple(item)
    if kind is torch.dtype or kind is torch.device:
        refuse(f"a {type_name(item)}; return it as text, str(...)")
    if kind is not torch.Tensor and kind is not torch.nn.Parameter:
        return None
    if item.is_meta:
        refuse("a tensor on the meta device, which has no values")
    if item.layout is not torch.strided or item.is_nested or item.is_quantized:
        refuse("a sparse, nested or quantized tensor; return a dense one")
    if item.is_complex() or str(item.dtype).startswith("torch.float8"):
        refuse(f"a tensor of dtype {item.dtype}; return one of real numbers, such as float32")
    if item.numel() * item.element_size() > FRAME_BYTES:
        _refuse_size(item.numel() * item.element_size())
    dense = item.detach().cpu().resolve_neg().contiguous()
    return (dense.float() if dense.dtype is torch.bfloat16 else dense).numpy()


def _refuse_size(size: int) -> NoReturn:
    refuse(f"a tensor of {size / 1e6:,.0f} MB; {FRAME_BYTES / 1e6:,.0f} MB are the most")
