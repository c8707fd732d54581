"""Removes and renames files of the grader's.

stopped by: namespaces, landlock
"""

import json
import os


def attack():
    world = json.load(open("world.json"))
    done = []
    for change in (
        lambda: os.rename(world["folder"] + "/kept.txt", world["folder"] + "/moved.txt"),
        lambda: os.unlink(world["folder"] + "/moved.txt"),
        lambda: os.link(world["folder"] + "/kept.txt", "linked.txt"),
    ):
        try:
            change()
            done.append("changed")
        except OSError:
            pass
    return done
