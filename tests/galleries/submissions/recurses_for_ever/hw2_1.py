"""Calls itself."""


def total_macs(model, input_size):
    return total_macs(model, input_size)
