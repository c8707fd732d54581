"""What can be wrong with a file, in words for the person who made it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx


class ModelError(ValueError):
    """The file is no ONNX model, or cannot be analysed. The message names the node or the field."""


def named(names: list[str], most: int = 3) -> str:
    """The first names, and how many more there are: `'a', 'b' and 3 more`."""
    first = ", ".join(f"'{name[:80]}'" for name in names[:most])
    return first + (f" and {len(names) - most:,} more" if len(names) > most else "")


def label(node: onnx.NodeProto) -> str:
    """A node as messages call it: `node 'Conv_3' (Conv)`."""
    kind = f"{node.domain}::{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type
    if node.name:
        return f"node '{node.name[:80]}' ({kind[:80]})"
    return f"the node that makes '{node.output[0][:80] if node.output else ''}' ({kind[:80]})"
