"""Asks for a terabyte."""

import torch


def total_macs(model, input_size):
    return torch.zeros(1 << 38)
