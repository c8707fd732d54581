"""Yields one value and then divides by zero."""


def total_macs(model, input_size):
    yield 1
    yield 1 // 0
