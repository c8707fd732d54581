"""Puts a process of the grader's into the idle class.

stopped by: namespaces, seccomp
"""

import json
import os


def attack():
    victim = json.load(open("world.json"))["victim"]
    os.sched_setscheduler(victim, os.SCHED_IDLE, os.sched_param(0))
    return os.sched_getscheduler(victim) == os.SCHED_IDLE
