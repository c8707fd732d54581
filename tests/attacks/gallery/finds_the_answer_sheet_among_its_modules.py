"""Looks for code of ours that judges or computes, in its modules and in all objects.

stopped by: design
"""

import gc
import sys


def attack():
    gc.unfreeze()
    names = {str(getattr(item, "__module__", "")) for item in gc.get_objects()} | set(sys.modules)
    ours = ("reference", "checkers", "labgrade.judging.judge", "labgrade.spec.load", "labgrade.truth.oracle", "labgrade.run.grader")
    return [name for name in names if name.startswith(ours) or "labgrade_reference" in name]
