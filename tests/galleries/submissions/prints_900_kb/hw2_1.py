"""Prints a lot, but less than 1 MB."""


def total_macs(model, input_size):
    for _ in range(900):
        print("x" * 999)
    print("the end")
    return 1
