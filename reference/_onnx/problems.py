"""What can be wrong with a file, in words for the person who made it."""

from __future__ import annotations


class ModelError(ValueError):
    """The file is no ONNX model, or cannot be analysed. The message names the node or the field."""


def named(names: list[str], most: int = 3) -> str:
    """The first names, and how many more there are: `'a', 'b' and 3 more`."""
    first = ", ".join(f"'{name[:80]}'" for name in names[:most])
    return first + (f" and {len(names) - most:,} more" if len(names) > most else "")
