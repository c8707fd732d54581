"""The names of a tree that torchinfo prints without its numbers: out of the tree, as `conv1.conv` or `Conv2d: 2-1`."""

from __future__ import annotations

import re

_HEADER = re.compile(r"layer \(type(?P<variable> \(var_name\))?\)", re.IGNORECASE)
_INDENT = re.compile(r"(?:[|+\u2500-\u257f]|[ \t](?=[ \t]*[|+\u2500-\u257f])|[ \t]{1,4})*[ \t]?")
_NAMED = re.compile(r"(?P<type>\w{1,60})(?: \((?P<variable>[\w.]{1,80})\))?")
# A tensor of a layer, which verbose=2 prints below it: `weight  [64, 3, 7, 7]  ├─9,408`.
_TENSOR = re.compile(r"\s[\u251c\u2514]\u2500[\d,]+(?:\s|$)")
_STEP, _FIRST = 5, 2  # columns of a level, and before the first name


def is_tensor(line: str) -> bool:
    """Return whether a line is a tensor of the layer above it, and no layer."""
    return bool(_TENSOR.search(line))


class Tree:
    """The rows of a tree, in order. Numbers are counted at each depth; names are those of the variables."""

    def __init__(self, *, variables: bool) -> None:
        self._variables = variables
        self._path: list[str] = []
        self._counts: dict[int, int] = {}

    def name(self, line: str, written: str, *, abridged: bool) -> str:
        """Return the name of the row; as written if the tree can't show it, type by type or with rows left out."""
        match = _NAMED.fullmatch(written.strip())
        indent = _INDENT.match(line)
        if match is None or indent is None:
            return written
        depth = 0 if indent.end() < _FIRST else (indent.end() - _FIRST) // _STEP + 1
        self._counts[depth] = self._counts.get(depth, 0) + 1
        if not depth:
            return written
        if self._variables and match["variable"]:
            self._path = [*self._path[: depth - 1], match["variable"]]
            return ".".join(self._path) if len(self._path) == depth else written
        return written if abridged else f"{match['type']}: {depth}-{self._counts[depth]}"


def tree_below(header: str) -> Tree | None:
    """Return the tree below a header; None if its names already have numbers, or there is no tree."""
    match = _HEADER.search(header)
    return Tree(variables=match["variable"] is not None) if match is not None else None
