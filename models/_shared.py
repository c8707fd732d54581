"""A network whose graph has nodes of every kind."""

from __future__ import annotations

import torch
from torch import nn


class Shared(nn.Module):
    """Calls one ReLU three times, adds, multiplies by a parameter of its own, and flattens by the tensor's method."""

    def __init__(self, features: int, width: int, classes: int) -> None:
        super().__init__()
        self.first = nn.Linear(features, width)
        self.second = nn.Linear(width, width)
        self.last = nn.Linear(width, classes)
        self.relu = nn.ReLU()
        self.scale = nn.Parameter(torch.full((1,), 0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of the classes."""
        x = self.relu(self.first(x.flatten(1)))
        x = self.relu(self.second(x) + x)
        scores: torch.Tensor = self.relu(self.last(x)) * self.scale
        return scores
