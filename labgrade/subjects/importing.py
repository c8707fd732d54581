"""Importing torch and torchvision in less time: without what they load and look up for nobody.

Needs nothing of labgrade, as the zoo imports it, which is also loaded into a student's process.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import inspect
import sys
import threading
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PACKAGE, _UTILS = "torch._dynamo", "torch._dynamo.utils"
_SHAPES, _SYMPY = "torch.fx.experimental.symbolic_shapes", "sympy"
_MARK = "__dynamo_disable"  # where torch keeps the wrapped function


@contextlib.contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Switch the garbage collector off for a while; the last thread to leave restores it.

    For what makes many objects and few cycles: looking is then a seventh of the time, or more.
    """
    _CollectorSwitch.enter()
    try:
        yield
    finally:
        _CollectorSwitch.leave()


class _CollectorSwitch:
    """Counts users over all threads: the first notes whether the collector was on, the last restores it."""

    lock, inside, looked = threading.Lock(), 0, True

    @classmethod
    def enter(cls) -> None:
        with cls.lock:
            if not cls.inside:
                cls.looked = gc.isenabled()
                gc.disable()
            cls.inside += 1

    @classmethod
    def leave(cls) -> None:
        with cls.lock:
            cls.inside -= 1
            if cls.looked and not cls.inside:
                gc.enable()


@contextlib.contextmanager
def importing_quickly() -> Iterator[None]:
    """Import without garbage collection and without reading source lines, which saves a fifth of importing torch.

    torch notes the file, the number of a line and the module for each operator that it registers, by functions that
    also find the line itself, by reading and parsing the file, and where the files of all modules really lie.
    """
    of_frame, module_of = inspect.getframeinfo, inspect.getmodule
    inspect.getframeinfo = lambda frame, *_, **_options: of_frame(frame, context=0)
    inspect.getmodule = lambda what, *more: _module_of_frame(what) or module_of(what, *more)
    try:
        with without_garbage_collection():
            yield
    finally:
        inspect.getframeinfo, inspect.getmodule = of_frame, module_of


def _module_of_frame(what: object) -> types.ModuleType | None:
    """Return the module whose code runs in a frame, or None."""
    return sys.modules.get(what.f_globals.get("__name__", "")) if isinstance(what, types.FrameType) else None


@contextlib.contextmanager
def without_symbols() -> Iterator[None]:
    """Keep `torch.fx.experimental.symbolic_shapes` from being loaded for sizes that are plain numbers.

    Loading it takes a third of the CPU of importing torch: all of sympy. The first addition on the meta device does so,
    to ask whether a size is a symbol, and so does what decides on the type of a result. What asks for another part of
    either, or about a symbol, gets the real one.
    """
    if sys.modules.keys() & {_SHAPES, _SYMPY}:
        yield
        return
    stand_ins: dict[str, types.ModuleType] = {}
    stand_ins |= {_SHAPES: _PlainSizes(_SHAPES, stand_ins), _SYMPY: _NoSymbols(_SYMPY, stand_ins)}
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        _take_away(stand_ins)


class _Unloaded(types.ModuleType):
    """A module that gives way to the real one, with all that stand in, when it is asked for what it does not know."""

    def __init__(self, name: str, stand_ins: dict[str, types.ModuleType]) -> None:
        super().__init__(name)
        self._stand_ins = stand_ins

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # such as a path, for which tools that look at all modules ask
            raise AttributeError(name)
        return getattr(self._real(), name)

    def _real(self) -> types.ModuleType:
        _take_away(self._stand_ins)
        return importlib.import_module(self.__name__)


class _NoSymbols(_Unloaded):
    """What torch asks of sympy where there are no symbols: whether something is one."""

    class _Symbol:
        """What nothing is an instance of."""

    @property
    def Basic(self) -> type:  # noqa: N802 - sympy's name
        """The class of all symbols."""
        return self._Symbol if sys.modules.get(_SYMPY) in {self, None} else self._real().Basic


class _PlainSizes(_Unloaded):
    """What torch's shape functions ask about sizes, where these are numbers."""

    def expect_true(self, a: Any, skip: int = 0) -> Any:
        """Whether it holds."""
        return a if isinstance(a, bool) else self._real().expect_true(a, skip)

    def guard_size_oblivious(self, expr: Any) -> Any:
        """Whether it holds."""
        return expr if isinstance(expr, bool) else self._real().guard_size_oblivious(expr)

    def guard_or_false(self, a: Any) -> Any:
        """Whether it holds."""
        return a if isinstance(a, bool) else self._real().guard_or_false(a)

    def guard_or_true(self, a: Any) -> Any:
        """Whether it holds."""
        return a if isinstance(a, bool) else self._real().guard_or_true(a)

    def statically_known_true(self, x: Any) -> Any:
        """Whether it holds."""
        return x if isinstance(x, bool) else self._real().statically_known_true(x)

    def guarding_hint_or_throw(self, a: Any) -> Any:
        """The number."""
        return a if type(a) in (bool, int) else self._real().guarding_hint_or_throw(a)

    def has_guarding_hint(self, a: Any) -> Any:
        """Whether it is known."""
        return type(a) in (bool, int) or self._real().has_guarding_hint(a)

    def is_nested_int(self, s: Any) -> Any:
        """Whether it is the length of a nested tensor, which is a symbol."""
        return type(s) is not int and self._real().is_nested_int(s)

    def sym_eq(self, x: Any, y: Any) -> Any:
        """Whether they are equal."""
        several = isinstance(x, tuple | list) and isinstance(y, tuple | list)
        own, others = (tuple(x), tuple(y)) if several else ((x,), (y,))
        plain = all(type(each) is int for each in (*own, *others))
        return own == others if plain else self._real().sym_eq(x, y)

    def guard_int(self, a: Any) -> Any:
        """The number."""
        return a if type(a) is int else self._real().guard_int(a)

    def sym_or(self, x: Any, *others: Any) -> Any:
        """Whether one of them holds."""
        plain = all(isinstance(each, bool) for each in (x, *others))
        return any((x, *others)) if plain else self._real().sym_or(x, *others)

    def sym_and(self, x: Any, *others: Any) -> Any:
        """Whether all of them hold."""
        plain = all(isinstance(each, bool) for each in (x, *others))
        return all((x, *others)) if plain else self._real().sym_and(x, *others)


@contextlib.contextmanager
def without_dynamo() -> Iterator[None]:
    """Keep `torch._dynamo` from being loaded; nothing happens where it is loaded already.

    Loading it takes more CPU than importing torch: sympy and the whole compiler. torchvision's import loads it for one
    function, and so does the first batch norm or `cat` on the meta device, which only wants itself left uncompiled.
    What asks for another part of it, as checkpointing does, gets the real one, which is loaded then; what imports a
    part of it by its name gets an ImportError. Nothing of the stand-in is left behind.
    """
    if _PACKAGE in sys.modules:
        yield
        return
    left_alone: list[Any] = []

    def disable(function: Callable[..., Any], *_: object, **_options: object) -> Callable[..., Any]:
        left_alone.append(function)
        return function

    package, utils = _StandIn(_PACKAGE), types.ModuleType(_UTILS)
    package.__path__ = []
    vars(package)["disable"] = disable
    vars(utils)["is_compile_supported"] = _is_compile_supported
    package.instead_of = stand_ins = {_PACKAGE: package, _UTILS: utils}
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        _take_away(stand_ins)
        for function in left_alone:
            if hasattr(function, _MARK):
                delattr(function, _MARK)


class _StandIn(types.ModuleType):
    """A stand-in package that is replaced by the real one when something else is asked of it."""

    instead_of: dict[str, types.ModuleType]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what imports and inspects modules asks each of them for such names
            raise AttributeError(name)
        _take_away(self.instead_of)
        return getattr(importlib.import_module(_PACKAGE), name)


def _take_away(stand_ins: dict[str, types.ModuleType]) -> None:
    for name, each in stand_ins.items():
        if sys.modules.get(name) is each:
            del sys.modules[name]


def _is_compile_supported(device_type: str) -> bool:
    """Answer torchvision's `roi_align` as the real function does."""
    found: bool = importlib.import_module(_UTILS).is_compile_supported(device_type)
    return found
