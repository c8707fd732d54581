"""A graph folded to what fits on a page: the long stretches between its narrow places become a box for each operator.

A narrow place is where a single tensor is on its way: all that comes later reaches the inputs through it alone. Between
two of them lies a section, such as a block with branches, or a layer that was cut into ten thousand products. A section
that is too large is drawn as one box for each operator in it, with how many there are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

MOST_BOXES = 120  # that a page shows so that they can be read
_FINEST = (60, 24, 8, 3, 1)  # nodes of a section that are still drawn one by one, tried in turn
_WIDEST = 6  # nodes side by side: more don't fit across a page
_MOST_SHAPES = 4  # of the weights of one box; a tiled layer has four: inside, two edges, a corner

Shape: TypeAlias = "tuple[int, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node of a graph: the tensors that it reads and writes by name, and the shapes of its weights."""

    name: str
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    weights: tuple[Shape, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """One or more nodes of the same operator, drawn as one. `shapes`: of their weights, the most frequent first."""

    operator: str
    name: str
    count: int
    shapes: tuple[tuple[Shape, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Boxes in order, arrows between them with how many tensors run along each, and the tensors at both ends.

    `inputs` and `outputs` are arrows from a name to a box, and from a box to a name.
    """

    boxes: tuple[Box, ...]
    arrows: Mapping[tuple[int, int], int]
    inputs: Sequence[tuple[str, int]]
    outputs: Sequence[tuple[int, str]]


def fold(nodes: Sequence[Node], most: int = MOST_BOXES) -> Drawing:
    """The graph with at most `most` boxes, if folding every section gets there; then sections are joined, too."""
    ordered = _ordered(nodes)
    sections = _sections(ordered)
    for finest in _FINEST:
        groups = _groups(sections, finest)
        if len(groups) <= most:
            return _drawing(groups)
    joined = sections
    while len(groups) > most and len(joined) > 1:
        joined = [list(chain(*joined[place : place + 2])) for place in range(0, len(joined), 2)]
        groups = _groups(joined, 1)
    return _drawing(groups)


def _ordered(nodes: Sequence[Node]) -> list[Node]:
    """The nodes in an order in which each comes after what it reads; ONNX asks for it, a broken file may differ."""
    made = {name: place for place, node in enumerate(nodes) for name in node.outputs}
    waits = [len({made[name] for name in node.inputs if name in made} - {place}) for place, node in enumerate(nodes)]
    readers: defaultdict[int, list[int]] = defaultdict(list)
    for place, node in enumerate(nodes):
        for source in {made[name] for name in node.inputs if name in made} - {place}:
            readers[source].append(place)
    ready = [place for place, count in enumerate(waits) if not count]
    order: list[int] = []
    for place in ready:  # grows as it goes
        order.append(place)
        for reader in readers[place]:
            waits[reader] -= 1
            if not waits[reader]:
                ready.append(reader)
    reached = set(order)
    return [nodes[place] for place in (*order, *(place for place in range(len(nodes)) if place not in reached))]


def _sections(nodes: Sequence[Node]) -> list[list[Node]]:
    """The nodes parted at the narrow places."""
    last = {name: place for place, node in enumerate(nodes) for name in node.inputs}
    alive = last.keys() - {name for node in nodes for name in node.outputs}
    sections: list[list[Node]] = []
    current: list[Node] = []
    for place, node in enumerate(nodes):
        current.append(node)
        alive -= {name for name in node.inputs if last[name] == place}
        alive |= {name for name in node.outputs if name in last}
        if len(alive) <= 1:
            sections.append(current)
            current = []
    return [*sections, current] if current else sections


def _groups(sections: Iterable[Sequence[Node]], finest: int) -> list[list[Node]]:
    """What is drawn as one box: a node of a small section, all nodes of an operator in a large one."""
    groups: list[list[Node]] = []
    for section in sections:
        if len(section) <= finest and _width(section) <= _WIDEST:
            groups += [[node] for node in section]
            continue
        kinds: defaultdict[str, list[Node]] = defaultdict(list)
        for node in section:
            kinds[node.operator].append(node)
        groups += kinds.values()
    return groups


def _width(section: Sequence[Node]) -> int:
    """How many nodes stand side by side: those that are as many steps below the section's beginning."""
    depth: dict[str, int] = {}
    levels: Counter[int] = Counter()
    for node in section:
        level = max((depth.get(name, 0) for name in node.inputs), default=0)
        levels[level] += 1
        depth |= dict.fromkeys(node.outputs, level + 1)
    return max(levels.values())


def _drawing(groups: Sequence[Sequence[Node]]) -> Drawing:
    made = {name: place for place, group in enumerate(groups) for node in group for name in node.outputs}
    read = {name for group in groups for node in group for name in node.inputs}
    arrows: Counter[tuple[int, int]] = Counter()
    for place, group in enumerate(groups):
        for source in _sources(group, made):
            if source != place:
                arrows[source, place] += 1
    inputs = {(name, place) for place, group in enumerate(groups) for node in group for name in node.inputs}
    return Drawing(
        boxes=tuple(map(_box, groups)),
        arrows=arrows,
        inputs=sorted((name, place) for name, place in inputs if name not in made),
        outputs=[(place, name) for name, place in made.items() if name not in read],
    )


def _sources(group: Iterable[Node], made: Mapping[str, int]) -> Iterator[int]:
    """Where each tensor comes from that a group reads, once a tensor."""
    for name in dict.fromkeys(name for node in group for name in node.inputs):
        if name in made:
            yield made[name]


def _box(group: Sequence[Node]) -> Box:
    shapes = Counter(shape for node in group for shape in node.weights)
    return Box(
        operator=group[0].operator,
        name=group[0].name if len(group) == 1 else "",
        count=len(group),
        shapes=tuple(shapes.most_common(_MOST_SHAPES)),
    )
