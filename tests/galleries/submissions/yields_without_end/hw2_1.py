"""Yields one text for ever."""

from itertools import repeat


def total_macs(model, input_size):
    yield from repeat("many" * 1000)
