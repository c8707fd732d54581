"""A subject as it would be if a property of its layers were forgotten: for slips that give other sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.modules.conv import _ConvNd
from torch.nn.modules.pooling import _AvgPoolNd, _MaxPoolNd

from .engine import analyse
from .shapes import like

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .engine import CountedSubject
    from .trace import Trace

    Change = Callable[[nn.Module], None]


@dataclass(frozen=True, slots=True)
class AsIf:
    """A subject of which each module is changed before it is analysed. It has no values."""

    subject: CountedSubject
    change: Callable[[nn.Module], None]

    def on_meta(self) -> tuple[nn.Module, Any]:
        """The changed module; its linear layers take what comes, since sizes computed by hand stop nobody there."""
        root, x = self.subject.on_meta()
        for module in root.modules():
            self.change(module)
            if isinstance(module, nn.Linear):
                module.register_forward_pre_hook(_fit)
        return root, x

    def with_weights(self) -> tuple[nn.Module, Any]:
        """There are none.

        Raises:
            ValueError: always.
        """
        message = "a changed subject has no values"
        raise ValueError(message)


_OF_ALL = vars(nn.Module()).keys()
_KEPT = 4  # subjects: one is asked about again and again while slips are tried on it
_recent: dict[str, _Traces] = {}


def traced(subject: CountedSubject, changes: Sequence[Change], *, batch: int | None = None) -> Trace:
    """What one forward pass of the subject does once its modules are changed, one change after another.

    A change that changes nothing of the subject is left out: what is left over is the same for most of many. Traces of
    the last subjects are remembered; they are not to be changed.

    Raises:
        ValueError, NotImplementedError: as `analyse`.
    """
    key = repr((batch, subject))
    if not hasattr(subject, "__dataclass_fields__"):  # whose `repr` may say nothing of it
        return _Traces(subject, batch).of(changes)
    found = _recent.pop(key, None) or _Traces(subject, batch)
    _recent[key] = found
    while len(_recent) > _KEPT:
        del _recent[next(iter(_recent))]
    return found.of(changes)


class _Traces:
    """The traces of one subject under changes."""

    def __init__(self, subject: CountedSubject, batch: int | None) -> None:
        self._batch = batch
        self._known: dict[tuple[Change, ...], Trace | Exception] = {}
        self._acts: dict[Change, bool] = {}
        self._subject = subject
        self._copies = _Copies(subject)
        self._untouched: tuple[nn.Module, list[Any]] | None = None

    def of(self, changes: Sequence[Change]) -> Trace:
        acting = tuple(filter(self._changes, changes))
        if acting not in self._known:
            changed: Any = self._copies if acting else self._subject
            for change in acting:
                changed = AsIf(changed, change)
            try:
                self._known[acting] = analyse(changed, batch=self._batch)
            except (ValueError, NotImplementedError) as error:
                self._known[acting] = error
        found = self._known[acting]
        if isinstance(found, Exception):
            raise found
        return found

    def _changes(self, change: Change) -> bool:
        """Whether a change by itself changes any module: what it finds no occasion for, it finds none behind others."""
        if change not in self._acts:
            if self._untouched is None:
                copy = self._copies.on_meta()[0]
                self._untouched = copy, _settings(copy)
            root, before = self._untouched
            for module in root.modules():
                change(module)
            self._acts[change] = _settings(root) != before
            if self._acts[change]:
                self._untouched = None
        return self._acts[change]


class _Copies:
    """A subject whose module is built once: to copy its settings takes a tenth of the time."""

    def __init__(self, subject: CountedSubject) -> None:
        self._subject = subject
        self._built: tuple[nn.Module, Any] | None = None
        self._plain = False

    def on_meta(self) -> tuple[nn.Module, Any]:
        """A copy, free to be changed but for its parameters; or a module built anew where one refers to more."""
        if self._built is None:
            self._built = self._subject.on_meta()
            self._plain = all(map(_is_plain, self._built[0].modules()))
        if not self._plain:
            return self._subject.on_meta()
        root, own = self._built
        given = tuple(like(each, each.shape) for each in own) if isinstance(own, tuple) else like(own, own.shape)
        return _copy(root, {}), given

    def with_weights(self) -> tuple[nn.Module, Any]:
        """The subject's own."""
        return self._subject.with_weights()


_PLAIN = (bool, int, float, str, type(None))


def _is_plain(module: nn.Module) -> bool:
    """Whether a module is what it says in numbers and words, with its parameters, and refers to nothing else."""
    own = [value for name, value in vars(module).items() if name not in _OF_ALL]
    flat = [each for value in own for each in (value if isinstance(value, tuple | list) else (value,))]
    hooks = [value for name, value in vars(module).items() if name.endswith("_hooks")]
    return all(type(each) in _PLAIN for each in flat) and not any(hooks)


def _copy(module: nn.Module, known: dict[int, nn.Module]) -> nn.Module:
    """The same module with settings of its own, and the same parameters."""
    if id(module) not in known:
        made = known[id(module)] = module.__class__.__new__(module.__class__)
        for name, value in vars(module).items():
            vars(made)[name] = value.copy() if isinstance(value, dict | set | list) else value
        for name, child in module._modules.items():  # noqa: SLF001 - children by their names, None among them
            made._modules[name] = _copy(child, known) if child is not None else None  # noqa: SLF001
    return known[id(module)]


def _settings(root: nn.Module) -> list[Any]:
    """All that a change may change: plain attributes, hooks, the shapes of weights."""
    return [
        (
            {name: value for name, value in vars(module).items() if not name.startswith("_")},
            [len(getattr(module, name)) for name in ("_forward_pre_hooks", "_forward_hooks")],
            {name: each.shape for name, each in module.named_parameters(recurse=False)},
        )
        for module in root.modules()
    ]


def without_ceil_mode(module: nn.Module) -> None:
    """Pools round down."""
    if isinstance(module, _AvgPoolNd | _MaxPoolNd) and hasattr(module, "ceil_mode"):
        module.ceil_mode = False


def without_dilation(module: nn.Module) -> None:
    """Kernels are dense."""
    if isinstance(module, _ConvNd | _MaxPoolNd) and module.dilation != 1:
        module.dilation = (1,) * len(module.dilation) if isinstance(module.dilation, tuple) else 1


def same_as_zero(module: nn.Module) -> None:
    """padding='same' pads nothing."""
    if isinstance(module, _ConvNd) and module.padding == "same":
        module.padding = (0,) * len(module.kernel_size)


def square(module: nn.Module) -> None:
    """The first number of kernel, stride, padding and dilation stands for all."""
    if isinstance(module, _ConvNd | _MaxPoolNd | _AvgPoolNd):
        for name in ("kernel_size", "stride", "padding", "dilation"):
            value = getattr(module, name, None)
            if isinstance(value, tuple):
                setattr(module, name, (value[0],) * len(value))
    if isinstance(module, _ConvNd):
        shape = (*module.weight.shape[:2], *module.kernel_size)
        module.weight = nn.Parameter(module.weight.new_empty(shape))


def _fit(module: nn.Linear, args: tuple[Any, ...]) -> tuple[Any, ...]:
    x = args[0]
    return (x if x.shape[-1] == module.in_features else x.new_empty((*x.shape[:-1], module.in_features)),)


def without_padding(module: nn.Module) -> None:
    """Nothing is padded."""
    if isinstance(module, _ConvNd | _MaxPoolNd | _AvgPoolNd) and module.padding != "same":
        module.padding = (0,) * len(module.padding) if isinstance(module.padding, tuple) else 0


def padding_once(module: nn.Module) -> None:
    """A convolution is padded on one side of each dimension."""
    if isinstance(module, _ConvNd) and isinstance(module.padding, tuple) and any(module.padding):
        module.register_forward_pre_hook(_one_side(module.padding))
        module.padding = (0,) * len(module.padding)


def without_stride(module: nn.Module) -> None:
    """A convolution stands at each position."""
    if isinstance(module, _ConvNd):
        module.stride = (1,) * len(module.stride)


def without_pools(module: nn.Module) -> None:
    """Pools keep the size."""
    if isinstance(module, _AvgPoolNd | _MaxPoolNd | nn.AdaptiveAvgPool2d | nn.AdaptiveMaxPool2d):
        module.forward = _as_it_is  # type: ignore[method-assign]


def _as_it_is(x: torch.Tensor) -> torch.Tensor:
    return x


def _one_side(padding: tuple[int, ...]) -> Callable[[nn.Module, tuple[Any, ...]], tuple[Any, ...]]:
    def grow(_: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        x = args[0]
        dims = len(padding)
        sizes = [size + p for size, p in zip(x.shape[-dims:], padding, strict=True)]
        return (x.new_empty((*x.shape[:-dims], *sizes)),)

    return grow
