"""What hw2_1.py imports."""


def total_macs(model, input_size):
    return 3
