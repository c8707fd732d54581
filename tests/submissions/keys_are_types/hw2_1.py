"""Returns a dict whose keys are classes."""


def total_macs(model, input_size):
    return {type(module): 1 for module in model.children()}
