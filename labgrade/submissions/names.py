"""Names that students and platforms gave, in whatever encoding, kept where they do no harm; whose a file is."""

from __future__ import annotations

import os
import re
import unicodedata

from labgrade.core.text import excerpt, one_line

DEPTH = 16
ARCHIVES = (".tar.gz", ".tgz", ".tar", ".zip")
OTHER_ARCHIVES = (".rar", ".7z", ".tar.xz", ".tar.bz2", ".txz", ".tbz2", ".gz", ".xz", ".bz2", ".zst")
_NAME_BYTES = 255
_PATH_BYTES = 1000
_SHOWN_CHARS = 120
_RARE_IN_BIG5 = 0xC9
_DRIVE = re.compile(r"[A-Za-z]:")
_FOREIGN = re.compile(r'[<>:"|?*]|[. ]$')  # what Windows gives a meaning of its own


def split(path: str) -> tuple[str, ...] | str:
    """Split a path into the parts that are kept, or say why it is not taken. `./a//b` is `a/b`.

    So is what has a backslash in place of the slash, as Windows wrote into archives: what unpacks these leaves it.

    >>> split("./a//b.py"), split("../b.py")
    (('a', 'b.py'), "its path leads out of the hand-in ('..')")
    """
    path = path.replace("\\", "/")
    if path.startswith("/") or _DRIVE.match(path):
        return "its path is absolute"
    parts = tuple(unicodedata.normalize("NFC", part) for part in path.split("/") if part not in ("", "."))
    problem = next((problem for part in parts if (problem := _problem(part))), "")
    if problem or not parts:
        return problem or "it has no name"
    if len(parts) > DEPTH:
        return f"it lies more than {DEPTH} folders deep"
    return parts if len("/".join(parts).encode()) <= _PATH_BYTES else "its path is too long"


def _problem(part: str) -> str:
    if part == "..":
        return "its path leads out of the hand-in ('..')"
    if not part.isprintable():
        return "its name holds characters that can't be shown"
    if os.name == "nt" and _FOREIGN.search(part):
        return "its name means something else to Windows"
    return "" if len(part.encode()) <= _NAME_BYTES else "its name is too long"


def ending(name: str) -> str:
    """Return the ending of an archive that can be unpacked: `.zip` of `hw2.ZIP`; else ""."""
    return next((known for known in ARCHIVES if name.lower().endswith(known)), "")


def decoded(raw: bytes, otherwise: str) -> str:
    """Decode a name from an archive: UTF-8, or else Big5 or GB 2312, as Chinese systems wrote."""
    # A name in GB 2312 is nearly always one in Big5, too, but one of rare characters: those that begin at 0xC9.
    pairs = re.findall(rb"[\x81-\xfe].", raw, re.DOTALL)
    rare = any(pair[0] >= _RARE_IN_BIG5 for pair in pairs)
    for encoding in ("utf-8", *(("gb2312", "cp950") if rare else ("cp950", "gb2312"))):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return otherwise


def of_file_system(name: str) -> str:
    """Decode a name that a folder lists and that may be invalid in the system's encoding."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return decoded(os.fsencode(name), name)
    return name


def for_report(path: str) -> str:
    """Return a path on one line for a report."""
    return one_line(excerpt(path, _SHOWN_CHARS))


_MOODLE = re.compile(r"(?P<who>.+?_\d+)_assignsubmission_[a-z]+_?(?P<rest>.*)$")
_CANVAS = re.compile(r"(?P<name>[^_]+)(?:_LATE)?_(?P<user>\d+)_\d+_(?P<rest>.+)$")
_NUMBER = re.compile(r"_\d+$")


def owner(parts: tuple[str, ...], *, is_file: bool) -> tuple[str, tuple[str, ...]] | None:
    """Return the student that a path belongs to and the path within the hand-in; None if it belongs to no student.

    A folder is its student's, and so is an archive, of a kind that can't be unpacked as well: its owner reads it.
    Moodle: `Anna Lee_123456_assignsubmission_file_/hw.py`, or the same without a folder. Canvas:
    `leeanna_12345_67890_hw.py`, with `_LATE` behind the name.

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
    packed = ending(first) or next((known for known in OTHER_ARCHIVES if first.lower().endswith(known)), "")
    return (first[: -len(packed)], (first,)) if packed else None


def is_canvas(entry: str) -> bool:
    """Return whether Canvas named an entry: `leeanna_12345_67890_hw.py`."""
    return _CANVAS.match(entry) is not None


def by_platform(entry: str) -> str:
    """Return the part of an entry's name that the platform wrote, without the student's own file name.

    >>> by_platform("leeanna_12345_67890_hw_attempt_2026-01-01.py"), by_platform("hw2_b1_attempt_2026-01-01")
    ('leeanna_12345', 'hw2_b1_attempt_2026-01-01')
    """
    owned = owner((entry,), is_file=True)
    return owned[0] if owned is not None and owned[1] != (entry,) else entry


def owner_of_archive(student: str) -> str:
    """Return the owner of an archive: `s08` of `s08.zip`."""
    return student[: -len(ending(student))] if ending(student) else student


def without_number(student: str) -> str:
    """Remove the platform's number from a name: `Anna Lee` of `Anna Lee_123456`."""
    return _NUMBER.sub("", student)
