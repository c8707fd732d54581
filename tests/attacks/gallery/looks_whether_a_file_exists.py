"""Asks for the size of the answers.

stopped by: namespaces
leaks in: C
"""

import json
import os


def attack():
    return os.path.getsize(json.load(open("world.json"))["answers"]) > 0
