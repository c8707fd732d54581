"""Returns a tensor that has no values."""

import torch


def total_macs(model, input_size):
    return torch.ones(2, 3, device="meta")
