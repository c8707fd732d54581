"""Yields values for ever."""

from itertools import count


def total_macs(model, input_size):
    yield from map(str, count())
