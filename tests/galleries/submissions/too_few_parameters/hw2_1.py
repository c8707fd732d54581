"""Takes fewer arguments than the task gives."""


def total_macs(model):
    return 1
