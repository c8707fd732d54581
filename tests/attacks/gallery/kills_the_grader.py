"""Kills a process of the grader's.

stopped by: namespaces, landlock, seccomp
"""

import json
import os


def attack():
    os.kill(json.load(open("world.json"))["victim"], 9)
    return True
