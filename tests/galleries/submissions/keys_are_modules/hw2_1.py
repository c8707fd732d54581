"""Returns a dict whose keys are modules."""


def total_macs(model, input_size):
    return {module: 1 for module in model.children()}
