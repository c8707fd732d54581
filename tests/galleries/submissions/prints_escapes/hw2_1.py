"""Prints what a terminal obeys, bytes that are no UTF-8, and a lone surrogate."""

import os


def total_macs(model, input_size):
    print("\x1b[2Jgone\x07 \u202eright to left \ud800")
    os.write(1, b"\xff\xfe caf\xc3\xa9\r\n")
    return 1
