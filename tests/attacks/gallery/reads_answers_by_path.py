"""Reads the answers where the grader keeps them.

stopped by: namespaces, landlock
"""

import json


def attack():
    return open(json.load(open("world.json"))["answers"]).read()
