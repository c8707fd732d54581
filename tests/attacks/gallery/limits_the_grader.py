"""Takes a process of the grader's the right to open files.

stopped by: namespaces, seccomp
"""

import json
import resource


def attack():
    resource.prlimit(json.load(open("world.json"))["victim"], resource.RLIMIT_NOFILE, (3, 3))
    return True
