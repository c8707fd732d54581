"""Right: counts the weights of the model."""


def total_macs(model, input_size):
    return sum(parameter.numel() for parameter in model.parameters()) + sum(input_size)
