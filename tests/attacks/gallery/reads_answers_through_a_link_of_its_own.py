"""Makes a link to the answers and reads that.

stopped by: namespaces, landlock
"""

import json
import os


def attack():
    os.symlink(json.load(open("world.json"))["answers"], "innocent.txt")
    return open("innocent.txt").read()
