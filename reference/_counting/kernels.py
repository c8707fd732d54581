"""Sees every kernel of a forward pass that no rule stands for: counted, known to count nothing, or refused by name.

This is what keeps an unfamiliar function (`torch.tensordot`, an LSTM), a scripted part, or an operator of another
library from silently counting nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .formulas import KINDS, PRODUCTS
from .operators import COMPUTES, NOTHING, OF_OTHERS, plain, refusal
from .trace import UncountableError

if TYPE_CHECKING:
    from .trace import CountedOperation

_ATEN, _ASKED = ("aten", "prims"), ("prim", "profiler")  # the last ask a tensor for its device, or note the time
_MADE_OF_OTHERS = "CompositeImplicitAutograd"
ORDINARY = frozenset({torch.Tensor, torch.nn.Parameter, torch.nn.Buffer})  # tensors that leave to torch what runs


class Listener(Protocol):
    """Receives what runs."""

    function: str  # the torch function that runs; nothing while TorchScript, or C++, runs kernels by itself

    def add(self, name: str, **counts: Any) -> CountedOperation:
        """An operation that counts."""

    def where(self) -> str:
        """The module that runs, for messages."""

    def about_to_run(self) -> None:
        """A kernel is going to run."""

    def stop(self, error: BaseException) -> NoReturn:
        """Raise the error, and whatever becomes of it on its way, know of it."""

    def uncounted(self, why: str) -> None:
        """A kernel multiplies in a way that nobody can count."""

    def unnamed(self, kernel: str, *, bias: bool) -> None:
        """A kernel computes that stands alone for what may be a layer, or for the adding of a bias."""


class Kernels(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Tells a listener of each kernel that runs inside."""

    supports_higher_order_operators = True  # `cond` and the like, which are refused by name

    def __init__(self, listener: Listener) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._listener = listener
        self._known: dict[Any, str] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run the kernel, then count it."""
        if any(each not in ORDINARY for each in types):
            return NotImplemented  # a tensor of a class of its own says itself what runs, and that comes by here
        kwargs = kwargs or {}
        name = self._known.get(func)
        if name is None:
            name = self._known[func] = self._kind(func)
        if name is _MADE_OF_OTHERS:
            with self:
                return func.decompose(*args, **kwargs)
        return self._run(func, name, args, kwargs)

    def _kind(self, func: Any) -> str:
        """The name by which the lists know a kernel; nothing where that says nothing of what it counts."""
        space, _, name = str(getattr(func, "name", lambda: f"{func.namespace}::{func}")()).partition("::")
        name = plain(name.partition(".")[0])
        known = space in _ATEN and (name in NOTHING or name in KINDS or name in PRODUCTS)
        if known or space in _ASKED or f"{space}::{name}" in OF_OTHERS:
            return name if known else ""
        if isinstance(func, torch._ops.OpOverload) and _is_made_of_others(func):  # noqa: SLF001
            return _MADE_OF_OTHERS
        why = (space in _ATEN and refusal(name)) or "is known to nobody here, so that its products can't be determined"
        self._refuse(func, why)
        return ""

    def _refuse(self, func: Any, why: str) -> None:
        """Say what operator runs, what runs it, why it is refused, and where it stands."""
        by = f"'{self._listener.function}'" if self._listener.function else "TorchScript, or a library,"
        said = f"{by} runs '{func}', which {why}; it stands in {self._listener.where()}"
        if not isinstance(func, torch._ops.OpOverload):  # noqa: SLF001 - `cond` and the like run graphs unseen
            self._listener.stop(UncountableError(said))
        self._listener.uncounted(said)

    def _run(self, func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        listener = self._listener
        listener.about_to_run()
        if listener.function:
            out = func(*args, **kwargs)
        else:  # shapes on the meta device are found by functions in Python, which are nothing that the network calls
            with torch._C.DisableTorchFunction():  # noqa: SLF001
                out = func(*args, **kwargs)
        if name in PRODUCTS and self._are_dense(func, args):
            macs, bias = PRODUCTS[name](out, *args)
            shape = tuple(out.shape) if isinstance(out, torch.Tensor) else ()
            listener.add(listener.function or name, macs=macs, bias=bias, output_shape=shape)
        elif name in KINDS:
            given, made = _first_tensor(args), _first_tensor(out)
            listener.add(
                listener.function or name,
                **KINDS[name](given.numel(), made.numel()),
                affine="norm" in name and any(isinstance(each, torch.Tensor) for each in args[1:3]),
                input_shape=tuple(given.shape),
                output_shape=tuple(made.shape),
            )
        elif name in COMPUTES:
            shapes = {tuple(each.shape) for each in args if isinstance(each, torch.Tensor)}
            listener.unnamed(name, bias=name == "add" and len(shapes) > 1)
        return out

    def _are_dense(self, func: Any, args: tuple[Any, ...]) -> bool:
        sparse = any(isinstance(each, torch.Tensor) and each.layout != torch.strided for each in args)
        if sparse:
            self._refuse(func, "multiplies sparse tensors: how much that is depends on their values")
        return not sparse


def _is_made_of_others(func: Any) -> bool:
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), _MADE_OF_OTHERS))  # noqa: SLF001


def _first_tensor(value: Any) -> torch.Tensor:
    while isinstance(value, tuple | list):
        value = value[0]
    found: torch.Tensor = value
    return found
