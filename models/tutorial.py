"""Networks of Lab 2's tutorial: small ones to count by hand, and one with several inputs."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


def perceptron(*, sizes: list[int] = [10, 20, 15, 1], bias: bool = False) -> nn.Module:  # noqa: B006 - never changed
    """Linear layers fc1, fc2, ... of these sizes, with the function relu between them."""
    import torch
    from torch import nn

    class Perceptron(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.count = len(sizes) - 1
            for place, (size, wider) in enumerate(itertools.pairwise(sizes), 1):
                self.add_module(f"fc{place}", nn.Linear(size, wider, bias=bias))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for place in range(1, self.count):
                x = torch.relu(self.get_submodule(f"fc{place}")(x))
            output: torch.Tensor = self.get_submodule(f"fc{self.count}")(x)
            return output

    return Perceptron()


def digits(*, channels: list[int] = [16, 32], classes: int = 10, side: int = 28, stride: int = 1) -> nn.Module:  # noqa: B006
    """Two convolutions of 3x3 on one channel of side x side pixels, and a linear layer; relu is a function.

    `stride` is that of the second convolution.
    """
    import torch
    from torch import nn

    class Digits(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            first, second = channels
            left = (side - 1) // stride + 1
            self.conv1 = nn.Conv2d(1, first, 3, padding=1)
            self.conv2 = nn.Conv2d(first, second, 3, stride=stride, padding=1)
            self.fc = nn.Linear(second * left * left, classes)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = torch.relu(self.conv2(torch.relu(self.conv1(x))))
            output: torch.Tensor = self.fc(x.flatten(1))
            return output

    return Digits()


def branches(*, count: int = 3, name: str = "alexnet") -> nn.Module:
    """Classifiers of torchvision beside one another, each with its own input; their outputs are joined as a batch."""
    import torch
    import torchvision
    from torch import nn

    class Branches(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for place in range(1, count + 1):
                self.add_module(f"{name}{place}", torchvision.models.get_model(name, weights=None))

        def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
            outputs = [branch(x) for branch, x in zip(self.children(), inputs, strict=True)]
            return torch.cat(outputs, dim=0)

    return Branches()
