"""Warns, and is right."""

import warnings


def total_macs(model, input_size):
    warnings.warn("the output size is rounded down")
    return 1
