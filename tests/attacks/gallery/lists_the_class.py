"""Lists the folder in which all submissions lie.

stopped by: namespaces, landlock
"""

import json
import os


def attack():
    return len(os.listdir(os.path.dirname(json.load(open("world.json"))["other"]))) > 0
