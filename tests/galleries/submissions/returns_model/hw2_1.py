"""Returns the model, in a list."""


def total_macs(model, input_size):
    return {"model": [model]}
