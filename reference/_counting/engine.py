"""Runs a module once on the meta device and notes its calls and operations."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode

from .aten import Kernels
from .rules import RULES
from .trace import Call, CountedOperation, Function, Trace

if TYPE_CHECKING:
    from collections.abc import Iterator

# fmt: off
_TENSOR_METHODS = (
    "__add__", "__getitem__", "__iadd__", "__imul__", "__mul__", "__radd__", "__rmul__", "__setitem__", "__sub__",
    "__truediv__", "add", "add_", "chunk", "contiguous", "dim", "expand", "flatten", "mean", "mul", "mul_",
    "new_zeros", "numel", "permute", "repeat", "reshape", "reshape_as", "size", "split", "squeeze", "stride", "sum",
    "transpose", "unsqueeze", "view",
)
_FUNCTIONS = (
    "add", "cat", "chunk", "flatten", "mean", "mul", "permute", "reshape", "roll", "split", "squeeze", "stack",
    "sum", "transpose", "unsqueeze",
)
# fmt: on
# Known to multiply no matrices, so that they need not be watched: this only saves time.
_PLAIN = frozenset(
    [getattr(torch.Tensor, name) for name in _TENSOR_METHODS]
    + [getattr(torch, name) for name in _FUNCTIONS]
    + [torch.nn.functional.dropout, torch.nn.functional.pad]
)


# Of these not even that they ran is noted: they make no tensor.
_UNSEEN = frozenset({torch.Tensor.dim, torch.Tensor.numel, torch.Tensor.size, torch.Tensor.stride})


_called: list[str] = []  # the method that is being called


def _as_function(name: str) -> Any:
    """A method that calls the function of its name, so that `x.matmul(y)` is told from the operator `x @ y`."""

    def method(x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        _called.append(name)
        return getattr(torch, name)(x, *args, **kwargs)

    return method


# To torch the two are the same function. Tools that replace it see the method, and miss the operator.
_METHODS = {name: _as_function(name) for name in ("add", "matmul", "mul")}
_OPERATORS = {method: getattr(torch.Tensor, name) for name, method in _METHODS.items()}
_traces: WeakKeyDictionary[Any, dict[int | None, Trace]] = WeakKeyDictionary()


class CountedSubject(Protocol):
    """What a quantity is computed of: `labgrade.subjects.models.Subject`, or anything with the same two methods."""

    def on_meta(self) -> tuple[torch.nn.Module, Any]:
        """The module and its input (a tuple of several) on the meta device, free to be changed."""

    def with_weights(self) -> tuple[torch.nn.Module, Any]:
        """The module with values, and its input."""


def analyse(subject: CountedSubject, *, batch: int | None = None) -> Trace:
    """What one forward pass of the subject's module on its input does. `batch` replaces the input's first dimension.

    A task asks for a dozen quantities of its subject: its trace is kept as long as the subject, and not to be changed.

    Raises:
        ValueError: where the module cannot take an input of that shape.
        NotImplementedError: for a function that multiplies in a way that there is no formula for.
    """
    try:
        known = _traces.setdefault(subject, {})
    except TypeError:  # one that no weak reference can be kept of
        known = {}
    if batch not in known:
        known[batch] = _traced(subject, batch)
    return known[batch]


def _traced(subject: CountedSubject, batch: int | None) -> Trace:
    module, own = subject.on_meta()
    given = inputs(own)
    if batch is not None:
        given = tuple(x.new_empty((batch, *x.shape[1:])) for x in given)
    trace = Trace(root=module, batch=given[0].shape[0])
    with torch.no_grad(), _Recorder(trace).listening():
        try:
            module(*given)
        except NotImplementedError:
            raise
        except (AssertionError, RuntimeError, ValueError) as error:
            shapes = " and ".join(str(list(x.shape)) for x in given)
            message = f"{type(module).__name__} cannot take an input of shape {shapes}: {error}"
            raise ValueError(message) from error
    return trace


def inputs(own: Any) -> tuple[torch.Tensor, ...]:
    """What a module is called with: a subject's input, or its several inputs."""
    return own if isinstance(own, tuple) else (own,)


class _Recorder(TorchFunctionMode):
    """Sees each torch function before it runs, and each module call around it."""

    def __init__(self, trace: Trace) -> None:
        super().__init__()
        self._trace = trace
        self._names = {module: name for name, module in trace.root.named_modules()}
        self._open: list[Call] = []
        self._finished = 0

    def listening(self) -> ExitStack:
        """A context in which module calls and torch functions are recorded."""
        stack = ExitStack()
        stack.callback(register_module_forward_pre_hook(self._begin).remove)
        stack.callback(register_module_forward_hook(self._end).remove)
        for name, method in _METHODS.items():
            stack.callback(setattr, torch.Tensor, name, getattr(torch.Tensor, name))
            setattr(torch.Tensor, name, method)
        stack.enter_context(self)
        return stack

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Apply the function's rule; without one, run it, watched unless it is known to multiply nothing."""
        kwargs = kwargs or {}
        func = _OPERATORS.get(func, func)
        name = getattr(func, "__name__", str(func))
        if name == "__get__" or func in _UNSEEN:
            return func(*args, **kwargs)
        before = len(self._trace.operations)
        out = self._run(func, name, args, kwargs)
        if self._open:
            whole = not args or not isinstance(args[0], torch.Tensor) or args[0].is_contiguous()
            made = tuple(self._trace.operations[before:])
            given = _shapes(args), kwargs and _shapes(kwargs)
            seen = Function(self._open[-1], func, *given, _shapes(out), made, whole, method=_called[-1:] == [name])
            self._trace.functions.append(seen)
        _called.clear()
        return out

    def _run(self, func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        rule = RULES.get(func)
        if rule:
            return rule(self._add, *args, **kwargs)
        if func in _PLAIN:
            return func(*args, **kwargs)
        with Kernels(self._add, name):
            return func(*args, **kwargs)

    def _add(self, name: str, **counts: Any) -> CountedOperation:
        operation = CountedOperation(self._open[-1], name, **counts)
        self._trace.operations.append(operation)
        return operation

    def _begin(self, module: torch.nn.Module, args: Any) -> None:
        around = self._open[-1] if self._open else None
        if around:
            around.leaf = False
        name = self._names.get(module)
        if name is None:  # made during the forward pass, or kept where torch does not look for it
            name = f"{around.name}.{type(module).__name__}".strip(".") if around else ""
        with torch._C.DisableTorchFunction():  # noqa: SLF001 - else reading a shape would call this very mode
            given = list(_tensors(args))
            shapes = tuple(tuple(tensor.shape) for tensor in given)
        alike = len({id(tensor) for tensor in given}) == 1
        call = Call(name, module, len(self._open), inputs=shapes, alike=alike)
        self._trace.calls.append(call)
        self._open.append(call)

    def _end(self, _: torch.nn.Module, __: Any, output: Any) -> None:
        call = self._open.pop()
        call.finished = self._finished
        self._finished += 1
        with torch._C.DisableTorchFunction():  # noqa: SLF001 - else reading a shape would call this very mode
            tensors = [output] if isinstance(output, torch.Tensor) else list(_tensors(output))
            call.outputs = tuple(tuple(tensor.shape) for tensor in tensors)
            call.output_bytes = sum(tensor.nbytes for tensor in tensors)


def _shapes(value: Any) -> Any:
    """The same with the shape of each tensor in its place."""
    if isinstance(value, torch.Tensor):
        return value.shape
    if isinstance(value, tuple | list):
        return tuple(map(_shapes, value))
    if isinstance(value, dict):
        return {name: _shapes(each) for name, each in value.items()}
    return value


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in nested tuples, lists and mappings, in order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _tensors(item)
