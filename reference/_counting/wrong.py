"""A subject as it would be if a property of its layers were forgotten: for slips that give other sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.modules.conv import _ConvNd
from torch.nn.modules.pooling import _AvgPoolNd, _MaxPoolNd

from .engine import analyse

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
        self._subject, self._batch = subject, batch
        self._known: dict[tuple[Change, ...], Trace | Exception] = {}
        self._acts: dict[Change, bool] = {}
        self._untouched: nn.Module | None = None

    def of(self, changes: Sequence[Change]) -> Trace:
        acting = tuple(filter(self._changes, changes))
        if acting not in self._known:
            changed: Any = self._subject
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
            root = self._untouched or self._subject.on_meta()[0]
            before = _settings(root)
            for module in root.modules():
                change(module)
            self._acts[change] = _settings(root) != before
            self._untouched = None if self._acts[change] else root
        return self._acts[change]


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
