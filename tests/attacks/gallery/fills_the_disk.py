"""Writes more than a scratch may hold.

stopped by: namespaces
leaks in: C
"""

import os


def attack():
    reserved = 0
    try:
        for number in range(3):
            with open(f"large{number}.bin", "wb", buffering=0) as file:
                os.posix_fallocate(file.fileno(), 0, 300 << 20)  # quicker than writing, and takes as much
                reserved += 300 << 20
    except OSError:
        pass
    for number in range(3):
        if os.path.exists(f"large{number}.bin"):
            os.unlink(f"large{number}.bin")
    return reserved > 600 << 20
