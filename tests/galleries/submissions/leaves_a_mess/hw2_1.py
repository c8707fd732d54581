"""Leaves folders deeper than Python can remove, and one that is locked."""

import os


def total_macs(model, input_size):
    os.mkdir("locked")
    open("locked/file", "w").close()
    os.chmod("locked", 0)
    for _ in range(1200):
        os.mkdir("d")
        os.chdir("d")
    return 1
