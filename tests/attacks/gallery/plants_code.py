"""Puts a file where Python loads code from at its start, for whoever comes next.

stopped by: namespaces, landlock
off: none
"""

import os
import sys


def attack():
    done = []
    for place in [place for place in sys.path if place.endswith(("-packages", "python3.11"))] + ["/usr/lib", "/etc"]:
        for name in ("zz_planted.pth", "sitecustomize.py"):
            try:
                with open(os.path.join(place, name), "x") as file:
                    file.write("import os\n")
                os.unlink(os.path.join(place, name))
                done.append(place)
            except OSError:
                pass
    return done
