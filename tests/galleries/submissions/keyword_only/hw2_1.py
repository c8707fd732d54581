"""Its parameters can only be given by name."""


def total_macs(*, model, input_size):
    return 1
