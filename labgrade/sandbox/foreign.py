"""What of torch, numpy and the standard library counts as plain data: known by identity, never by `isinstance`."""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict
from types import GeneratorType, MappingProxyType
from typing import Any, NoReturn

from labgrade.sandbox.wire import DTYPES, FRAME_BYTES, RawArray, RefusedError, type_name

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
)
_MOST_ITEMS = 1 << 22
_NUMPY_SCALARS = (
    *("bool_", "byte", "ubyte", "short", "ushort", "intc", "uintc", "int_", "uint", "longlong", "ulonglong"),
    *("float16", "float32", "float64", "str_"),
)


def convert(item: object) -> object:
    """What an object means in plain data; the items within it are left for the next call.

    Raises:
        RefusedError: it means none; says its type, and what to return instead.
    """
    for known in (_from_standard_library, _from_numpy, _from_torch):
        plain = known(item)
        if plain is not None:
            return plain
    name = type_name(item)
    article = "an" if name[:1].lower() in "aeiou" else "a"
    problem = f"{article} {name}, which is not plain data; return numbers, text, lists, dicts or tensors"
    raise RefusedError(problem)


def _from_standard_library(item: Any) -> object:
    kind = type(item)
    if kind in _MAPPINGS:
        return dict(item.items())
    if kind is range:
        return list(item[:_MOST_ITEMS])
    if kind in _LAZY:
        _refuse(f"a {type_name(item)}, which is not plain data; return list(...) of it")
    if kind is set or kind is frozenset:
        _refuse(f"a {kind.__name__}, which has no order; return a list")
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
        _refuse(f"a numpy array of dtype {item.dtype}; return one of numbers, such as float32")
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
        _refuse(f"a {type_name(item)}; return it as text, str(...)")
    if kind is not torch.Tensor and kind is not torch.nn.Parameter:
        return None
    if item.is_meta:
        _refuse("a tensor on the meta device, which has no values")
    if item.layout is not torch.strided or item.is_nested or item.is_quantized:
        _refuse("a sparse, nested or quantized tensor; return a dense one")
    if item.is_complex() or str(item.dtype).startswith("torch.float8"):
        _refuse(f"a tensor of dtype {item.dtype}; return one of real numbers, such as float32")
    if item.numel() * item.element_size() > FRAME_BYTES:
        _refuse_size(item.numel() * item.element_size())
    dense = item.detach().cpu().resolve_neg().contiguous()
    return (dense.float() if dense.dtype is torch.bfloat16 else dense).numpy()


def _refuse_size(size: int) -> NoReturn:
    _refuse(f"a tensor of {size / 1e6:,.0f} MB; {FRAME_BYTES / 1e6:,.0f} MB are the most")


def _refuse(problem: str) -> NoReturn:
    raise RefusedError(problem)
