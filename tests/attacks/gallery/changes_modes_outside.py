"""Changes mode, time and attributes of a file of the grader's.

stopped by: namespaces, seccomp
"""

import json
import os


def attack():
    path = json.load(open("world.json"))["file"]
    for change in (
        lambda: os.chmod(path, 0o000),
        lambda: os.utime(path, (1, 1)),
        lambda: os.setxattr(path, "user.note", b"1"),
    ):
        try:
            change()
        except OSError:
            pass
    return False  # whether anything changed is looked at from outside
