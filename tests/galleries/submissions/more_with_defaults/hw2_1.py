"""Takes more arguments than the task gives, and has defaults for them."""


def total_macs(model, size, *, verbose=False, **options):
    return len(size)
