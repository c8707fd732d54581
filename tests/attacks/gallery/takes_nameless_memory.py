"""Takes memory that belongs to no process: only a file without a name holds it.

stopped by: seccomp
"""

import os


def attack():
    chunk = b"x" * (1 << 20)
    for _ in range(2):
        place = os.memfd_create("hoard")
        for _ in range(300):
            os.write(place, chunk)
    return True
