"""Returns a list that contains itself."""


def total_macs(model, input_size):
    values = [1]
    values.append(values)
    return values
