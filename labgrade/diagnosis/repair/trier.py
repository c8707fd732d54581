"""The module that stands in place of a student's while changes of it are tried: a template."""

from __future__ import annotations

# Calls each changed function once, in the order in which it is called itself.
TRIER = """
import sys
from time import process_time

_PARTS, _EDITS = {parts!r}, {edits!r}
_begun, _at, _compiled = process_time(), -1, {{}}


def _code(at, text):
    if (at, text) not in _compiled:
        _compiled[at, text] = compile(text, __file__, "exec", {flags!r}, True)
    return _compiled[at, text]


def _is_plain(value, depth=4):
    if isinstance(value, (dict, list, tuple)) and len(value) > 10_000:
        return False  # what comes of a list in place of its length, mostly: millions, which nobody has asked for
    if isinstance(value, dict):
        return depth > 0 and all(isinstance(k, str) and _is_plain(v, depth - 1) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return depth > 0 and all(_is_plain(each, depth - 1) for each in value)
    return value is None or isinstance(value, (bool, int, float, str)) or hasattr(value, "dtype")


def {function}(*given):
    global _at
    _at += 1
    if process_time() - _begun > {seconds!r}:
        raise TimeoutError  # what was returned until now is kept
    parts, there = list(_PARTS), {{"__name__": __name__, "__file__": __file__}}
    for part, start, end, text in _EDITS[_at]:
        parts[part] = parts[part][:start] + text + parts[part][end:]
    try:
        for at, text in enumerate(parts):
            exec(_code(at, text), there)
        value = there[{function!r}](*given)
        return value if _is_plain(value) else None
    except Exception:
        return None
"""
