"""Ties a process of the grader's to one core.

stopped by: namespaces, seccomp
"""

import json
import os


def attack():
    victim = json.load(open("world.json"))["victim"]
    os.sched_setaffinity(victim, {0})
    return os.sched_getaffinity(victim) == {0}
