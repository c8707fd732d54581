"""Returns what libraries return in place of plain data."""

from collections import Counter, OrderedDict, defaultdict

import numpy as np
import torch


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
    )
