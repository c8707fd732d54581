"""Looks for the jobs of others, beside its own.

stopped by: namespaces, landlock
"""

import os


def attack():
    found = []
    for place in ("/jobs", "../..", "/tmp"):
        try:
            found += [name for name in os.listdir(place) if name.startswith(("job-", "labgrade-"))]
        except OSError:
            pass
    return found
