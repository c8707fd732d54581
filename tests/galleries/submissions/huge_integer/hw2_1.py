"""Returns an integer of 401 digits."""


def total_macs(model, input_size):
    return 10**400
