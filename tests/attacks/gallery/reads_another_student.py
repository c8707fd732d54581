"""Reads what another student handed in.

stopped by: namespaces, landlock
"""

import json
import os


def attack():
    other = json.load(open("world.json"))["other"]
    return open(os.path.join(other, "hw.py")).read()
