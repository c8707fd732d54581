"""What a random network is made from: wishes, each of which takes the form that fits where it comes to stand.

A wish knows nothing of the others, so that one can be left out or made smaller while a network is shrunk. `fit` turns
it into a step of `networks` for an input of some shape, and says the shape of what comes out; None where nothing
of it fits. Sizes follow torch.nn's formulas.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

Shape: TypeAlias = tuple[int, ...]
Step: TypeAlias = dict[str, Any]
Fitted: TypeAlias = tuple[Step, Shape] | None
Pair: TypeAlias = tuple[int, int]

IMAGE = 4  # dimensions: batch, channels, height, width
TOKENS = 3  # batch, length, width


@dataclass(frozen=True, slots=True, kw_only=True)
class Conv:
    """A convolution. `times`: output channels of a group. A kernel is cut to what fits. `own`: of a derived class.

    `own`: of a class derived from torch's.
    """

    kernel: Pair = (1, 1)
    groups: int = 1
    times: int = 1
    stride: Pair = (1, 1)
    padding: Pair | str = (0, 0)
    dilation: Pair = (1, 1)
    bias: bool = False
    own: bool = False

    def fit(self, shape: Shape) -> Fitted:
        """Return the layer fitted to an image; None for any other shape."""
        if len(shape) != IMAGE:
            return None
        same = isinstance(self.padding, str)
        padding = (0, 0) if isinstance(self.padding, str) else self.padding
        stride = (1, 1) if same else self.stride
        kernel = tuple(
            _odd(k) if same else min(k, (size + 2 * p - 1) // d + 1)
            for k, size, p, d in zip(self.kernel, shape[2:], padding, self.dilation, strict=True)
        )
        sizes = tuple(
            size if same else (size + 2 * p - d * (k - 1) - 1) // s + 1
            for size, p, d, k, s in zip(shape[2:], padding, self.dilation, kernel, stride, strict=True)
        )
        groups = _dividing(self.groups, shape[1])
        values = {
            "in_channels": shape[1],
            "out_channels": groups * self.times,
            "kernel_size": _pair(kernel),
            "stride": _pair(stride),
            "padding": "same" if same else _pair(padding),
            "dilation": _pair(self.dilation),
            "groups": groups,
            "bias": self.bias,
        }
        return _step("OwnConv2d" if self.own else "Conv2d", values), (shape[0], groups * self.times, *sizes)

    def keeping(self, channels: int, *, out: int | None = None) -> Step:
        """Return the convolution with an output of its input's size, for branches and repetitions; `out` channels."""
        kernel = tuple(_odd(k) for k in self.kernel)
        padding = [d * (k - 1) // 2 for d, k in zip(self.dilation, kernel, strict=True)]
        groups = _dividing(self.groups, math.gcd(channels, out) if out else channels)
        values = {
            "in_channels": channels,
            "out_channels": out or groups * self.times,
            "kernel_size": _pair(kernel),
            "padding": "same" if isinstance(self.padding, str) else _pair(tuple(padding)),
            "dilation": _pair(self.dilation),
            "groups": groups,
            "bias": self.bias,
        }
        return _step("Conv2d", values)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLayer:
    """A pool, `MaxPool2d` or `AvgPool2d`."""

    kind: str = "MaxPool2d"
    kernel: int = 2
    stride: int = 1
    padding: bool = False
    ceil_mode: bool = False

    def fit(self, shape: Shape) -> Fitted:
        """Return the layer fitted to an image that is at least as large as the kernel; else None."""
        padding = self.kernel // 2 if self.padding else 0
        if len(shape) != IMAGE or min(shape[2:]) + 2 * padding < self.kernel:
            return None
        sizes = tuple(self._size(size, padding) for size in shape[2:])
        values = {
            "kernel_size": self.kernel,
            "stride": self.stride,
            "padding": padding,
            "ceil_mode": self.ceil_mode,
        }
        return _step(self.kind, values), (*shape[:2], *sizes)

    def for_a_file(self, shape: Shape) -> PoolLayer:
        """Return the pool without `ceil_mode` where its last window would begin in the padding.

        torch drops that window; the shape inference of ONNX does not, and onnxruntime refuses the nodes behind it.
        """
        padding = self.kernel // 2 if self.padding else 0
        windows = [-(-(size + 2 * padding - self.kernel) // self.stride) + 1 for size in shape[2:]]
        dropped = any((n - 1) * self.stride >= size + padding for n, size in zip(windows, shape[2:], strict=True))
        return replace(self, ceil_mode=False) if dropped else self

    def _size(self, size: int, padding: int) -> int:
        room = size + 2 * padding - self.kernel
        if not self.ceil_mode:
            return room // self.stride + 1
        count = -(-room // self.stride) + 1
        return count - 1 if (count - 1) * self.stride >= size + padding else count  # none begins in the right padding


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """A linear layer over the last dimension, or over all dimensions but the batch (`flatten`)."""

    outputs: int = 1
    flatten: bool = False
    bias: bool = False
    own: bool = False

    def fit(self, shape: Shape) -> Fitted:
        """Return the layer fitted to any shape."""
        values = {"in_features": shape[-1], "out_features": self.outputs, "bias": self.bias}
        return _step("OwnLinear" if self.own else "Linear", values), (*shape[:-1], self.outputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """A layer that keeps the shape and has no sizes; `Flatten` and `AdaptiveAvgPool2d` reduce it as far as possible."""

    kind: str = "ReLU"

    def fit(self, shape: Shape) -> Fitted:
        """Return the layer where it takes such a shape; else None."""
        match self.kind:
            case "BatchNorm2d" if len(shape) == IMAGE:
                return _step("BatchNorm2d", {"num_features": shape[1]}), shape
            case "LayerNorm":
                return _step("LayerNorm", {"normalized_shape": shape[-1]}), shape
            case "AdaptiveAvgPool2d" if len(shape) == IMAGE:
                return _step("AdaptiveAvgPool2d", {"output_size": 1}), (*shape[:2], 1, 1)
            case "Flatten" if len(shape) == IMAGE:
                return _step("Flatten", {}), (shape[0], math.prod(shape[1:]))
            case "ReLU" | "GELU":
                return _step(self.kind, {}), shape
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Branches:
    """Two branches of one input: a convolution, and the input itself or another convolution."""

    join: str = "add"
    one: Conv = Conv()
    other: Conv | None = None

    def fit(self, shape: Shape) -> Fitted:
        """Return the branches fitted to an image; None for any other shape."""
        if len(shape) != IMAGE:
            return None
        channels = shape[1]
        out = channels if self.join == "add" else None
        paths = [[each.keeping(channels, out=out)] if each else [] for each in (self.one, self.other)]
        widths = [path[0]["with"]["out_channels"] if path else channels for path in paths]
        return {"join": self.join, "paths": paths}, (shape[0], out or sum(widths), *shape[2:])


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual:
    """A linear layer added to its input."""

    bias: bool = False

    def fit(self, shape: Shape) -> Fitted:
        """Return the layer fitted to any shape."""
        inner = Linear(outputs=shape[-1], bias=self.bias).fit(shape)
        return inner and ({"join": "add", "paths": [[inner[0]], []]}, shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Twice:
    """One layer that is called twice: a convolution of an image, else linear. `shrinking`: without padding.

    `shrinking`: without padding, so that it does less the second time.
    """

    conv: Conv | None = None
    bias: bool = False
    shrinking: bool = False

    def fit(self, shape: Shape) -> Fitted:
        """Return the layer fitted to any shape."""
        if self.conv and len(shape) == IMAGE:
            step = self.conv.keeping(shape[1], out=shape[1])
            padding = step["with"].get("padding", 0)
            if not self.shrinking or isinstance(padding, str):
                return {"twice": [step]}, shape
            pads = padding if isinstance(padding, list) else [padding] * 2
            left = [size - 4 * pad for size, pad in zip(shape[2:], pads, strict=True)]
            if min(left) < 1:
                return None
            bare = {key: value for key, value in step["with"].items() if key != "padding"}
            return {"twice": [step | {"with": bare}]}, (*shape[:2], *left)
        inner = Linear(outputs=shape[-1], bias=self.bias).fit(shape)
        return inner and ({"twice": [inner[0]]}, shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Attention of tokens to each other: torch's module, or (`by_hand`) a linear layer and products of tensors."""

    heads: int = 1
    by_hand: bool = False

    def fit(self, shape: Shape) -> Fitted:
        """Return the layer fitted to tokens; None for any other shape."""
        if len(shape) != TOKENS:
            return None
        if self.by_hand:
            return _step("Products", {"width": shape[-1]}), shape
        return _step("Attention", {"width": shape[-1], "heads": _dividing(self.heads, shape[-1])}), shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrent:
    """A recurrent module that runs in both directions."""

    kind: str = "GRU"
    layers: int = 1

    def fit(self, shape: Shape) -> Fitted:
        """Return the layer fitted to tokens; None for any other shape."""
        if len(shape) != TOKENS:
            return None
        step = _step("Recurrent", {"kind": self.kind, "width": shape[-1], "layers": self.layers})
        return step, (*shape[:-1], 2 * shape[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Up:
    """A transposed convolution, which makes an image about twice as large."""

    features: int = 2

    def fit(self, shape: Shape) -> Fitted:
        """Return the layer fitted to an image; None for any other shape."""
        if len(shape) != IMAGE:
            return None
        step = _step("Up", {"channels": shape[1], "features": self.features})
        return step, (shape[0], self.features, *(2 * size - 1 for size in shape[2:]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tied:
    """Two linear layers that share one weight, and a parameter that belongs to no layer."""

    outputs: int = 1

    def fit(self, shape: Shape) -> Fitted:
        """Return the layers fitted to tokens; None for any other shape."""
        if len(shape) != TOKENS:
            return None
        return _step("Tied", {"width": shape[-1], "classes": self.outputs}), (shape[0], self.outputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """A layer whose parameter is called neither weight nor bias."""

    def fit(self, shape: Shape) -> Fitted:
        """Return the layer fitted to tokens; None for any other shape."""
        return (_step("Scaled", {"width": shape[-1]}), shape) if len(shape) == TOKENS else None


Wish: TypeAlias = (
    Conv | PoolLayer | Linear | Plain | Branches | Residual | Twice | Attention | Tied | Scaled | Recurrent | Up
)


def program(wishes: list[Wish], shape: Shape, *, as_file: bool = False) -> list[Step]:
    """Return the steps that fit one after the other, from an input of this shape; `as_file`: for an ONNX file."""
    steps = []
    for wanted in wishes:
        wish = wanted.for_a_file(shape) if as_file and isinstance(wanted, PoolLayer) and len(shape) == IMAGE else wanted
        if isinstance(wish, Linear) and wish.flatten and len(shape) > 2:  # noqa: PLR2004 - batch and features
            steps.append(_step("Flatten", {}))
            shape = (shape[0], math.prod(shape[1:]))
        fitted = wish.fit(shape)
        if fitted:
            step, shape = fitted
            steps.append(step)
    return steps


def _step(layer: str, values: Step) -> Step:
    """Return a step without values that are torch's own defaults, so that the code that is shown is short."""
    kept = {key: value for key, value in values.items() if (key, value) not in _DEFAULTS}
    if layer.endswith("Pool2d") and layer != "AdaptiveAvgPool2d":
        kept["stride"] = values["stride"]  # by default the kernel's
    return {"layer": layer, "with": kept} if kept else {"layer": layer}


_DEFAULTS = (
    ("stride", 1),
    ("padding", 0),
    ("dilation", 1),
    ("groups", 1),
    ("bias", True),
    ("ceil_mode", False),
)


def _pair(values: tuple[int, ...]) -> int | list[int]:
    return values[0] if len(set(values)) == 1 else list(values)


def _odd(size: int) -> int:
    """Return the nearest size that can be padded alike on both sides."""
    return size - (size + 1) % 2


def _dividing(wanted: int, number: int) -> int:
    """Return the largest divisor of `number` up to `wanted`."""
    return next(divisor for divisor in range(min(wanted, number), 0, -1) if number % divisor == 0)
