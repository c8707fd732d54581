"""Returns a tensor that requires grad."""

import torch


def total_macs(model, input_size):
    return torch.ones(2, 3, requires_grad=True).transpose(0, 1) * 2
