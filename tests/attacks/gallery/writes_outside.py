"""Writes to files and folders outside that anybody may write to.

stopped by: namespaces, landlock
"""

import json


def attack():
    world = json.load(open("world.json"))
    done = []
    for path in (world["file"], world["folder"] + "/new.txt"):
        try:
            open(path, "a").write("changed")
            done.append(path)
        except OSError:
            pass
    return done
