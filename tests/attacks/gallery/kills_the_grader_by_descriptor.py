"""Kills a process of the grader's through a process descriptor.

stopped by: namespaces, landlock, seccomp
"""

import json
import os
import signal


def attack():
    signal.pidfd_send_signal(os.pidfd_open(json.load(open("world.json"))["victim"]), 9)
    return True
