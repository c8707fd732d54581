"""Returns what libraries return in place of plain data."""

from collections import Counter, OrderedDict, defaultdict
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import torch


class Row(NamedTuple):
    layer: str
    macs: int


@dataclass
class Record:
    layer: str
    macs: int


def total_macs(model, input_size):
    lists = defaultdict(list)
    lists["a"].append(np.float32(0.5))
    return OrderedDict(
        size=torch.ones(1, 2, 3).shape,
        count=Counter("hello"),
        lists=lists,
        integer=np.int64(2**40),
        flag=np.bool_(True),
        half=torch.tensor([1.5], dtype=torch.bfloat16),
        big_endian=np.array([1, 2], dtype=">i4"),
        range=range(3),
        tuple=(1, None, "text"),
        text=np.str_("numpy"),
        scalar=torch.tensor(5),
        weight=torch.nn.Parameter(torch.zeros(2)),
        infinite=float("-inf"),
        decimal=Decimal("1498376192.00"),
        share=Decimal("0.25"),
        fraction=Fraction(14, 2),
        named=[Row("conv1", 5), Record("conv2", 6)],
        items={"conv1": 5}.items(),
        ordered=[OrderedDict(conv1=5).items(), OrderedDict(conv1=5).keys(), OrderedDict(conv1=5).values()],
        yielded=(n for n in range(2)),
        by_class={torch.nn.Conv2d: torch.nn.Linear},
    )
