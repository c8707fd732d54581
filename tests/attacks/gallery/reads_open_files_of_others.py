"""Opens the open files and the memory of every other process.

stopped by: namespaces, landlock
"""

import glob
import os


def attack():
    opened = []
    for path in glob.glob("/proc/[0-9]*/fd/*") + glob.glob("/proc/[0-9]*/mem"):
        owner = int(path.split("/")[2])
        if owner in (os.getpid(), os.getppid()) or (owner == 1 and os.getpid() == 1):
            continue
        try:
            open(path, "rb").close()
            opened.append(path)
        except OSError:
            pass
    return opened
