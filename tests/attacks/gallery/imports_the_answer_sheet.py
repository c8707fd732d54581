"""Imports the code that computes ground truth, wherever the interpreter may find it.

stopped by: namespaces, landlock
"""

import importlib.util
import json
import sys


def attack():
    sys.path[:0] = [json.load(open("world.json"))["project"]]
    found = importlib.util.find_spec("reference.macs")
    return len(found.loader.get_source("reference.macs")) > 100
