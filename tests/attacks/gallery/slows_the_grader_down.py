"""Gives a process of the grader's the lowest priority.

stopped by: namespaces, seccomp
"""

import json
import os


def attack():
    os.setpriority(os.PRIO_PROCESS, json.load(open("world.json"))["victim"], 19)
    return True
