"""Returns a generator of its values."""


def total_macs(model, input_size):
    return (size for size in input_size)
