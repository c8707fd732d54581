"""Prints 10 MB, then returns."""


def total_macs(model, input_size):
    for _ in range(10_000):
        print("x" * 999)
    return 1
