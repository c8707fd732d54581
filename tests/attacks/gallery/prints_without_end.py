"""Prints a gigabyte.

stopped by: collector
outcome: output
"""

import os


def attack():
    chunk = b"x" * (1 << 20)
    for _ in range(1024):
        os.write(1, chunk)
    return True
