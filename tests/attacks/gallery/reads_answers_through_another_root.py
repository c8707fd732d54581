"""Reads the answers through the root or the working folder of every process that is to be seen.

stopped by: namespaces, landlock
"""

import glob
import json


def attack():
    answers = json.load(open("world.json"))["answers"]
    for root in glob.glob("/proc/[0-9]*/root") + glob.glob("/proc/[0-9]*/task/*/root") + ["/proc/self/cwd/../../../../.."]:
        try:
            return open(root + answers).read()
        except OSError:
            pass
    return False
