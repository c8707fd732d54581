"""Walks out of its folder by its parents and reads what is there.

stopped by: namespaces, landlock
off: none
"""

import os


def attack():
    seen = set()
    for depth in range(1, 12):
        place = "../" * depth
        try:
            seen |= {name for name in os.listdir(place)}
        except OSError:
            pass
    return sorted(seen & {"specs", "reference", "submissions", "boot", "srv", "kept.txt", "class"})
