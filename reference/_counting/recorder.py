"""Notes the module calls and the operations of one run, and sees to it that nothing runs unseen."""

from __future__ import annotations

import re
import sys
import warnings
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.nn.utils.rnn import PackedSequence
from torch.overrides import TorchFunctionMode

from .kernels import ORDINARY, Kernels
from .of_input import OfInput
from .of_weights import OfWeights
from .rules import RULES, SHAPES
from .shapes import UnsureError
from .trace import Call, CountedOperation, Function, UncountableError, is_scripted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .trace import Trace

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
# Known to multiply no matrices, so that their kernels need not be watched: this only saves time.
_PLAIN = (
    [getattr(torch.Tensor, name) for name in _TENSOR_METHODS]
    + [getattr(torch, name) for name in _FUNCTIONS]
    + [torch.nn.functional.dropout, torch.nn.functional.pad]
)
_QUICK = {**{function: function for function in _PLAIN}, **SHAPES}
# Of these not even that they ran is noted: they make no tensor.
_UNSEEN = frozenset({torch.Tensor.dim, torch.Tensor.numel, torch.Tensor.size, torch.Tensor.stride})
# What torch says where a tensor of the meta device has no value, or nothing on it can be computed.
FOR_WANT_OF_VALUES = re.compile(r"(?<![a-z])meta(?![a-z])", re.IGNORECASE)
# Functions whose numbers go where torch sees nothing of what becomes of them.
_LEAVES_TORCH = frozenset({"numpy", "__array__", "__dlpack__"})
_SAYS_NOTHING = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device)
_level = torch._C._functorch.maybe_current_level  # noqa: SLF001 - within vmap, grad and the like
_keys = torch._C.DispatchKeySet  # noqa: SLF001
# A context in which the watcher of kernels sees nothing: what runs has a rule, or is known to be nothing.
_Unwatched = torch._C._ExcludeDispatchKeyGuard  # noqa: SLF001
_WATCHED = _keys(torch._C.DispatchKey.Python) | _keys(torch._C.DispatchKey.PythonTLSSnapshot)  # noqa: SLF001

_called: list[str] = []  # the method that is being called


def _as_function(name: str) -> Any:
    """A method that calls the function of its name, so that `x.matmul(y)` differs from the operator `x @ y`."""

    def method(x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        _called.append(name)
        return getattr(torch, name)(x, *args, **kwargs)

    return method


# To torch the two are the same function. Tools that replace it see the method, and miss the operator.
_METHODS = {name: _as_function(name) for name in ("add", "matmul", "mul")}
_OPERATORS = {method: getattr(torch.Tensor, name) for name, method in _METHODS.items()}


@contextmanager
def uncompiled() -> Iterator[None]:
    """A context in which nothing is compiled, so that each layer is called."""
    if "torch._dynamo.eval_frame" not in sys.modules:  # nothing can have asked for it
        yield
        return
    with torch.compiler.set_stance("force_eager"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Using `torch.compile\(module\)` when there are global hooks")
        yield


@dataclass(frozen=True)
class Way:
    """How a network is run: with values or on the meta device; there without gradients unless it asks for them.

    Without values or gradients the rules say what comes out of the functions that they stand for, which takes a tenth
    of the time; else the functions do.
    """

    values: bool = False
    gradients: bool = False

    @property
    def by_rule(self) -> bool:
        """Whether the rules' outputs are those of the functions."""
        return not (self.values or self.gradients)


class AnotherWayError(BaseException):
    """What the network does can't be seen in this way; no network catches it."""

    def __init__(self, way: Way) -> None:
        super().__init__()
        self.way = way


class Recorder(TorchFunctionMode):
    """Sees each torch function before it runs, each kernel that runs without a rule, and each module call."""

    def __init__(self, trace: Trace, way: Way) -> None:
        super().__init__()
        self.function = ""
        self._mapped = False
        self.stopped: BaseException | None = None
        self._way, self._by_rule = way, way.by_rule
        self._trace = trace
        self._names = {module: name for name, module in trace.root.named_modules()}
        self._of_weights, self._of_input = OfWeights(trace.root), OfInput(trace.root.buffers())
        self._open: list[Call] = []
        self._last: dict[torch.nn.Module, Call] = {}
        self._finished = 0

    def listening(self) -> ExitStack:
        """A context in which module calls, torch functions and kernels are recorded, and nothing is compiled."""
        stack = ExitStack()
        # In inference mode operators that are made of others arrive whole, but what a network keeps of it is read-only.
        stack.enter_context(torch.inference_mode() if self._by_rule else torch.no_grad())
        stack.enter_context(torch.jit.optimized_execution(should_optimize=False))  # type: ignore[attr-defined]
        stack.enter_context(uncompiled())
        stack.callback(register_module_forward_pre_hook(self._begin).remove)
        stack.callback(register_module_forward_hook(self._end).remove)
        for module in self._names:
            if module._forward_hooks and not is_scripted(module):  # noqa: SLF001 - they may put out something else
                stack.callback(module.register_forward_hook(self._changed).remove)
        for name, method in _METHODS.items():
            stack.callback(setattr, torch.Tensor, name, getattr(torch.Tensor, name))
            setattr(torch.Tensor, name, method)
        stack.enter_context(self)
        stack.enter_context(Kernels(self))
        return stack

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run the function, and note what it was called with and what was counted for it."""
        kwargs = kwargs or {}
        func = _OPERATORS.get(func, func)
        name = getattr(func, "__name__", str(func))
        if func in _UNSEEN:
            return self._run(func, types, args, kwargs)
        done, method = len(self._trace.operations), _called[-1:] == [name]
        out = self._run(func, types, args, kwargs)
        made = tuple(self._trace.operations[done:])
        self._of_weights.passes(name, args, kwargs, out, made, self._open)
        self._of_input.passes(args, kwargs, out, made)
        if name == "__get__":
            return out
        if self._open:
            with torch._C.DisableTorchFunction():  # noqa: SLF001 - a tensor of a class of its own has a shape like any
                given = _shapes(args), _shapes(kwargs)
                seen = Function(self._open[-1], func, *given, _shapes(out), made, _in_one_piece(args), method)
            self._trace.functions.append(seen)
        _called.clear()
        return out

    def _run(self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Apply the function's rule; without one, run it, watched unless it is known to multiply nothing."""
        if _level() is None and ORDINARY.issuperset(types):
            if func in RULES:
                self.about_to_run()
                done = len(self._trace.operations)
                try:
                    with _Unwatched(_WATCHED):
                        said = RULES[func](self.add, *args, **kwargs)
                        return said if self._by_rule else func(*args, **kwargs)
                except (TypeError, UnsureError):  # called as no rule expects it: then the kernels tell
                    del self._trace.operations[done:]
            elif self._by_rule and func in _QUICK:
                with _Unwatched(_WATCHED):
                    return _QUICK[func](*args, **kwargs)
        return self._watched(func, args, kwargs)

    def _watched(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a function whose kernels tell what it does."""
        name = getattr(func, "__name__", str(func))
        if name == "__get__":
            return func(*args, **kwargs)
        if name in _LEAVES_TORCH and self._way.values:
            self.stop(UncountableError(f"'{name}' in {self.where()} hands numbers to what torch does not run"))
        if func is torch.linalg.vecdot and (_level() is not None or not torch.is_inference_mode_enabled()):
            why = "runs there as 'mul' and 'sum', which count nothing by themselves"
            self.stop(UncountableError(f"'{name}' {why}; it stands in {self.where()}"))
        around = self.function, self._mapped
        self.function, self._mapped = name, self._mapped or _level() is not None  # kernels are run outside of it
        try:
            return func(*args, **kwargs)
        except Exception as error:
            if not self._way.values and FOR_WANT_OF_VALUES.search(str(error)):
                self.stop(AnotherWayError(Way(values=True)))  # even where the network catches it
            raise
        finally:
            self.function, self._mapped = around

    # ---- what the watcher of kernels asks and tells ------------------------------------------------------------------

    def add(self, name: str, **counts: Any) -> CountedOperation:
        """Note an operation of the module that runs."""
        operation = CountedOperation(self._open[-1], name, **counts)
        self._trace.operations.append(operation)
        if self._mapped:
            self.unnamed(name, bias=True)
        return operation

    def where(self) -> str:
        """The module that runs."""
        call = self._open[-1]
        return f"'{call.name}' ({call.type})" if call.name else call.type

    def about_to_run(self) -> None:
        """Ask for another way where this one would not show what the network does.

        Raises:
            AnotherWayError: the network asks for gradients, or for the types of mixed precision, and gets none.
        """
        if not self._way.values and torch.is_autocast_enabled("cpu"):
            self.stop(AnotherWayError(Way(values=True)))
        if self._by_rule and torch.is_grad_enabled():
            self.stop(AnotherWayError(Way(gradients=True)))

    def stop(self, error: BaseException) -> NoReturn:
        """End the run with an error. TorchScript makes another of it, and a network may catch it: it is kept."""
        self.stopped = self.stopped or error
        raise error

    def uncounted(self, why: str) -> None:
        """Note what can't be counted, for whoever asks for products."""
        self._trace.uncounted = self._trace.uncounted or why

    def unnamed(self, kernel: str, *, bias: bool) -> None:
        """Note that something computes which may be a layer: in TorchScript, and within vmap and the like."""
        if self.function and not self._mapped:
            return
        what = "vmap or the like" if self._mapped else "TorchScript, or a library,"
        said = f"'{kernel}', which {what} runs in {self.where()}"
        self._trace.unnamed = self._trace.unnamed or said
        if bias or self._mapped:  # where a linear layer is a product and a sum
            self._trace.unbiased = self._trace.unbiased or said

    # ---- module calls ------------------------------------------------------------------------------------------------

    def _begin(self, module: torch.nn.Module, args: Any) -> None:
        around = self._open[-1] if self._open else None
        if around:
            around.leaf = False
        else:
            self._of_input.begins([each for each in _within(args) if isinstance(each, torch.Tensor)])
        name = self._names.get(module)
        if name is None:  # made during the forward pass, or kept where torch does not look for it
            name = f"{around.name}.{type(module).__name__}".strip(".") if around else ""
        with torch._C.DisableTorchFunction():  # noqa: SLF001 - else reading a shape would call this very mode
            given = [each for each in _within(args) if isinstance(each, torch.Tensor)]
            shapes = tuple(tuple(tensor.shape) for tensor in given)
        alike = len({id(tensor) for tensor in given}) == 1
        paired = len(given) > 1 and given[-1] is given[-2]
        packed = any(isinstance(each, PackedSequence) for each in args)
        call = Call(name, module, len(self._open), inputs=shapes, alike=alike, paired=paired, packed=packed)
        self._trace.calls.append(call)
        self._open.append(call)

    def _end(self, module: torch.nn.Module, _: Any, output: Any) -> None:
        while self._open[-1].module is not module:  # one that failed, and whose error the network caught
            self._open.pop()
        call = self._open[-1]
        if len(self._open) > 1:  # the root stays open for its own hooks
            self._open.pop()
        call.finished = self._finished
        self._finished += 1
        self._last[module] = call
        self._note(call, output)

    def _changed(self, module: torch.nn.Module, _: Any, output: Any) -> None:
        """A module's own hooks are done: what comes out now is what its caller gets."""
        self._note(self._last[module], output)

    def _note(self, call: Call, output: Any) -> None:
        with torch._C.DisableTorchFunction():  # noqa: SLF001 - else reading a shape would call this very mode
            if isinstance(output, torch.Tensor):
                call.outputs, call.output_bytes, unknown = (tuple(output.shape),), output.nbytes, []
            else:
                found = list(_within(output))
                tensors = [each for each in found if isinstance(each, torch.Tensor)]
                unknown = [each for each in found if not isinstance(each, torch.Tensor)]
                call.outputs = tuple(tuple(tensor.shape) for tensor in tensors)
                call.output_bytes = sum(tensor.nbytes for tensor in tensors)
        if unknown:
            call.hidden = f"it puts out a {type(unknown[0]).__name__}, and what is in that is not known"
        elif _level() is not None:
            call.hidden = "it runs within vmap or the like, where a tensor stands for many"


def _shapes(value: Any) -> Any:
    """The same with the shape of each tensor in its place."""
    if isinstance(value, torch.Tensor):
        return value.shape
    if isinstance(value, tuple | list):
        return tuple(map(_shapes, value))
    if isinstance(value, dict):
        return {name: _shapes(each) for name, each in value.items()}
    return value


def _in_one_piece(args: tuple[Any, ...]) -> bool:
    """Whether the first argument lies in one piece; what is no tensor, or a sparse one, is asked for nothing."""
    first = args[0] if args else None
    return not isinstance(first, torch.Tensor) or first.layout != torch.strided or first.is_contiguous()


def _within(value: Any) -> Iterator[Any]:
    """The tensors in nested tuples, lists, mappings and data classes, in order, and what is nothing of the kind.

    Of packed sequences the data alone: which row belongs to which sequence is no activation.
    """
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, PackedSequence):
        yield value.data
    elif isinstance(value, dict):
        for item in value.values():
            yield from _within(item)
    elif isinstance(value, tuple | list | set | frozenset):
        for item in value:
            yield from _within(item)
    elif is_dataclass(value) and not isinstance(value, type):
        for each in fields(value):
            yield from _within(getattr(value, each.name))
    elif not isinstance(value, _SAYS_NOTHING):
        yield value
