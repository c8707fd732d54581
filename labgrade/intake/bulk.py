"""Whose a file is, in what a learning platform hands out for a whole class."""

from __future__ import annotations

import re

from labgrade.intake import archives

_MOODLE = re.compile(r"(?P<who>.+_\d+)_assignsubmission_[a-z]+_?(?P<rest>.*)$")
_CANVAS = re.compile(r"(?P<name>[^_]+)(?:_LATE)?_(?P<user>\d+)_\d+_(?P<rest>.+)$")
_NUMBER = re.compile(r"_\d+$")


def owner(parts: tuple[str, ...], *, is_file: bool) -> tuple[str, tuple[str, ...]] | None:
    """The student that a path belongs to, and the path within the hand-in; None for what is nobody's.

    A folder is its student's, and so is an archive. Moodle: `Anna Lee_123456_assignsubmission_file_/hw.py`, or the
    same without a folder. Canvas: `leeanna_12345_67890_hw.py`, with `_LATE` behind the name.

    >>> owner(("Anna Lee_123456_assignsubmission_file_", "hw.py"), is_file=True)
    ('Anna Lee_123456', ('hw.py',))
    >>> owner(("leeanna_LATE_12345_67890_hw.py",), is_file=True)
    ('leeanna_12345', ('hw.py',))
    """
    first, below = parts[0], parts[1:]
    moodle = _MOODLE.match(first)
    if moodle:
        return moodle["who"], (*([moodle["rest"]] if moodle["rest"] else []), *below)
    if below or not is_file:
        return first, below
    canvas = _CANVAS.match(first)
    if canvas:
        return f"{canvas['name']}_{canvas['user']}", (canvas["rest"],)
    packed = archives.ending(first)
    return (first[: -len(packed)], (first,)) if packed else None


def bare(student: str) -> str:
    """A student's name without the platform's number: `Anna Lee` of `Anna Lee_123456`."""
    return _NUMBER.sub("", student)
