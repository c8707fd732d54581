"""Walks its frames and tracebacks outwards, and looks at every variable on the way.

stopped by: design
"""

import json
import sys


def attack():
    marks = ["".join(halves) for halves in json.load(open("world.json"))["marks"]]
    frame, seen = sys._getframe().f_back, []
    try:
        raise ValueError
    except ValueError as error:
        trace = error.__traceback__
    while frame:
        seen.append(repr(frame.f_locals) + repr(list(frame.f_globals.values())))
        frame = frame.f_back
    seen.append(repr(trace.tb_frame.f_back.f_locals))
    return [mark for mark in marks if any(mark in text for text in seen)]
