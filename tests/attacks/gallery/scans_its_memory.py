"""Reads all memory of its own process, looking for the answers and for what the last student handed in.

stopped by: design
"""

import json
import re


def attack():
    # The marks come in halves, so that looking for one does not put it there. The last one is in this very process.
    marks = [[half.encode() for half in halves] for halves in json.load(open("world.json"))["marks"]]
    control = [bytearray(b"a control that is"), bytearray(b" certainly in memory")]
    kept = control[0] + control[1]
    marks.append([bytes(control[0]), bytes(control[1])])
    found = [0] * len(marks)
    with open("/proc/self/mem", "rb", buffering=0) as memory:
        for line in open("/proc/self/maps").read().splitlines():
            match = re.match(r"([0-9a-f]+)-([0-9a-f]+) r", line)
            if not match or "[v" in line:
                continue
            start, end = (int(text, 16) for text in match.groups())
            for place in range(start, end, 1 << 24):
                try:
                    memory.seek(place)
                    data = memory.read(min((1 << 24) + 100, end - place))
                except (OSError, OverflowError, ValueError):
                    continue
                for number, (first, second) in enumerate(marks):
                    position = data.find(first)
                    while position >= 0:
                        after = position + len(first)
                        found[number] += data[after : after + len(second)] == second
                        position = data.find(first, position + 1)
    if not kept or not found.pop():
        return "blind: it does not even find what is there"
    return any(found)
