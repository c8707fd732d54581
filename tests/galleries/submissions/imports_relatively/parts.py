"""Is imported."""


def total_macs(model, input_size):
    return 3
