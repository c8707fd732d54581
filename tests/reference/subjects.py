"""Subjects for these tests: models of the zoo, and small modules made on the spot."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from labgrade.subjects import models

if TYPE_CHECKING:
    from collections.abc import Callable

models.import_torchvision()


@dataclass(frozen=True)
class Given:
    """A module of a test's own, with the shape of its input."""

    make: Callable[[], torch.nn.Module]
    shape: tuple[int, ...]

    def on_meta(self):
        with torch.device("meta"):
            return self.make().eval(), torch.empty(self.shape)

    def with_weights(self):
        torch.manual_seed(0)
        return self.make().eval(), torch.randn(self.shape)


@dataclass(frozen=True)
class Once:
    """A subject whose module is built once, for tests that only look at it, from several sides."""

    subject: models.Subject

    @functools.cached_property
    def _built(self):
        return self.subject.on_meta()

    def on_meta(self):
        return self._built


class Forward(torch.nn.Module):
    """A module whose forward pass is a function of itself and its input."""

    def __init__(self, function, **children):
        super().__init__()
        self._function = function
        for name, child in children.items():
            setattr(self, name, child)

    def forward(self, x):
        return self._function(self, x)


def torchvision(name, *, size=None, batch=1, **options):
    """A classifier of torchvision on images of its customary size."""
    side = size or (299 if name == "inception_v3" else 224)
    return models.Subject(model=f"torchvision/{name}", shape=(batch, 3, side, side), options=options)


NAMES = [name.partition("/")[2] for name in models.names() if name.startswith("torchvision/")]
