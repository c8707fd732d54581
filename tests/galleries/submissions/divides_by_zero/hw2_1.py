"""An honest mistake, in a library that is called from a helper."""


def _share(part, whole):
    return part / whole


def total_macs(model, input_size):
    return _share(1, 0)
