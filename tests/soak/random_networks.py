"""Networks drawn at random of what counters disagree on, each from a seed: (make, shape, tokens)."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import parametrizations

_WIDTHS = (4, 6, 8, 12)


class Steps(nn.Module):
    """Modules and functions one after another; a module may stand there again, and functions have parameters."""

    def __init__(self, steps: list[Any]) -> None:
        super().__init__()
        self.layers = nn.ModuleDict()
        self.own = nn.ParameterDict()
        self._order: list[Any] = []
        for at, step in enumerate(steps):
            if isinstance(step, nn.Module):
                known = next((name for name, each in self.layers.items() if each is step), f"layer{at}")
                self.layers[known] = step
                self._order.append(known)
            elif isinstance(step, tuple):
                name, shape, function = step
                self.own[f"{name}{at}"] = nn.Parameter(torch.randn(shape))
                self._order.append((f"{name}{at}", function))
            else:
                self._order.append(step)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for step in self._order:
            if isinstance(step, str):
                x = _called(self.layers[step], x)
            elif isinstance(step, tuple):
                x = step[1](x, self.own[step[0]])
            else:
                x = step(x)
        return x


def _called(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    if isinstance(module, nn.MultiheadAttention):
        return module(x, x, x, need_weights=module.wanted)[0]
    made = module(x)
    return made[0] if isinstance(made, tuple) else made


@dataclass
class Drawn:
    """A network by its seed, as labgrade asks for a subject; `with_weights` is what tools are given."""

    seed: int
    kind: str = ""
    steps: list[Any] = field(default_factory=list)

    def _make(self) -> tuple[nn.Module, torch.Tensor]:
        draw = random.Random(self.seed)  # noqa: S311 - no secret
        torch.manual_seed(self.seed)
        make = draw.choice((_image, _image, _sequence, _sequence, _signal))
        steps, x = make(draw)
        network = Steps(steps).eval()
        if draw.random() < 0.3:
            next(network.parameters()).requires_grad_(False)
        return network, x

    def on_meta(self) -> tuple[nn.Module, torch.Tensor]:
        """The network without memory."""
        with torch.device("meta"):
            return self._make()

    def with_weights(self) -> tuple[nn.Module, torch.Tensor]:
        """The network with values."""
        return self._make()


def _image(draw: random.Random) -> tuple[list[Any], torch.Tensor]:
    width = draw.choice(_WIDTHS)
    x = torch.randn(draw.choice((1, 1, 2, 3)), 3, draw.choice((12, 16)), draw.choice((12, 16)))
    steps: list[Any] = [nn.Conv2d(3, width, 3, padding=1, bias=draw.random() < 0.5)]
    for _ in range(draw.randint(2, 6)):
        made = _image_step(draw, width)
        steps += made if isinstance(made, list) else [made]
    steps += [nn.AdaptiveAvgPool2d(draw.choice((1, 2))), nn.Flatten()] if draw.random() < 0.5 else []
    if len(steps) > 1 and isinstance(steps[-1], nn.Flatten):
        steps.append(nn.Linear(width * steps[-2].output_size ** 2, 5))
    return steps, x


def _image_step(draw: random.Random, width: int) -> Any:
    kernel = torch.Size((width, width, 3, 3))
    reused = nn.Conv2d(width, width, 3, padding=1, bias=False)
    return draw.choice(
        (
            lambda: nn.Conv2d(width, width, 3, padding=2, dilation=2, groups=draw.choice((1, 2, width))),
            lambda: nn.Conv2d(width, width, 1, bias=False),
            lambda: parametrizations.spectral_norm(nn.Conv2d(width, width, 1)),
            lambda: nn.ConvTranspose2d(width, width, draw.choice((2, 3, 4)), stride=2, padding=draw.choice((0, 1))),
            lambda: nn.BatchNorm2d(width, affine=draw.random() < 0.8),
            lambda: nn.GroupNorm(2, width),
            lambda: nn.InstanceNorm2d(width, affine=True),
            lambda: draw.choice((nn.ReLU, nn.GELU, nn.SiLU, nn.LeakyReLU, nn.Hardswish, nn.Sigmoid, nn.ELU))(),
            lambda: nn.PReLU(),
            lambda: draw.choice((nn.MaxPool2d, nn.AvgPool2d))(2),
            lambda: nn.Upsample(scale_factor=2, mode=draw.choice(("nearest", "bilinear"))),
            lambda: nn.Dropout(0.1),
            lambda: [reused, nn.ReLU(), reused],
            lambda: nn.Sequential(nn.Conv2d(width, width, 1), nn.BatchNorm2d(width), nn.ReLU()),
            lambda: ("kernel", kernel, lambda x, w: functional.conv2d(x, w, padding=1)),
            lambda: lambda x: functional.relu(x),  # looked up when it runs, as in a module
            lambda: lambda x: functional.silu(x),
            lambda: lambda x: torch.relu(x),
            lambda: lambda x: functional.interpolate(x, scale_factor=2, mode="bilinear"),
            lambda: lambda x: functional.avg_pool2d(x, 2),
            lambda: lambda x: functional.max_pool2d(x, 2, 2),
            lambda: lambda x: x + x,
            lambda: lambda x: torch.sigmoid(x) * x,
        )
    )()


def _sequence(draw: random.Random) -> tuple[list[Any], torch.Tensor]:
    width = draw.choice((8, 12))
    length, batch = draw.choice((5, 7)), draw.choice((1, 1, 2))
    steps: list[Any] = []
    x: torch.Tensor = torch.randn(batch, length, width)
    if draw.random() < 0.4:
        x = torch.ones(batch, length, dtype=torch.long)
        steps.append(nn.Embedding(20, width))
    for _ in range(draw.randint(1, 4)):
        made = _sequence_step(draw, width)
        steps += made if isinstance(made, list) else [made]
    out = nn.Linear(width, 20, bias=False)
    if isinstance(steps[0], nn.Embedding) and draw.random() < 0.5:
        out.weight = steps[0].weight
    steps.append(out)
    return steps, x


def _sequence_step(draw: random.Random, width: int) -> Any:
    square = torch.Size((width, width))
    own = draw.choice((nn.LSTM, nn.LSTM, nn.GRU, nn.RNN))
    layers, both = draw.choice((1, 2)), draw.random() < 0.3
    return draw.choice(
        (
            lambda: nn.Linear(width, width, bias=draw.random() < 0.5),
            lambda: nn.LayerNorm(width),
            lambda: _attention(draw, width),
            lambda: _attention(draw, width),
            lambda: own(width, width // 2 if both else width, num_layers=layers, bidirectional=both, batch_first=True),
            lambda: nn.LSTM(
                width,
                width + 3,
                num_layers=layers,
                bidirectional=both,
                proj_size=width // 2 if both else width,
                batch_first=True,
            ),
            lambda: ("weight", square, lambda x, w: functional.linear(x, w)),
            lambda: ("weight", square, lambda x, w: x @ w),
            lambda: ("weight", square, lambda x, w: torch.matmul(x, w)),
            lambda: ("weight", square, lambda x, w: x.matmul(w)),
            lambda: ("weight", square, lambda x, w: torch.einsum("btk,kl->btl", x, w)),
            lambda: nn.GELU(),
            lambda: lambda x: functional.softmax(x, -1),
            lambda: lambda x: x + x,
            lambda: lambda x: functional.scaled_dot_product_attention(*(_heads(x),) * 3).transpose(1, 2).flatten(2),
            lambda: lambda x: torch.softmax(x @ x.transpose(1, 2), -1) @ x,
        )
    )()


def _heads(x: torch.Tensor) -> torch.Tensor:
    return x.view(*x.shape[:2], 4, x.shape[2] // 4).transpose(1, 2)


def _attention(draw: random.Random, width: int) -> nn.Module:
    module = nn.MultiheadAttention(width, draw.choice((2, 4)), batch_first=True, bias=draw.random() < 0.9)
    module.wanted = draw.random() < 0.5
    return module


def _signal(draw: random.Random) -> tuple[list[Any], torch.Tensor]:
    width = draw.choice(_WIDTHS)
    x = torch.randn(draw.choice((1, 2)), 4, 32)
    steps: list[Any] = [
        nn.Conv1d(4, width, 7, stride=2, padding=3),
        draw.choice((nn.BatchNorm1d(width), nn.GroupNorm(2, width))),
        draw.choice((nn.ReLU(), lambda x: functional.hardswish(x), lambda x: torch.tanh(x))),
        draw.choice((nn.ConvTranspose1d(width, width, 2, stride=2), nn.MaxPool1d(2), nn.AvgPool1d(2))),
        draw.choice((nn.AdaptiveAvgPool1d(4), lambda x: functional.adaptive_avg_pool1d(x, 4))),
        nn.Flatten(),
        nn.Linear(4 * width, 3),
    ]
    return steps, x
