"""A folded graph as SVG: written in graphviz' language, drawn by its `dot`."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from labgrade.core.errors import FaultError, UsageError
from labgrade.core.text import escaped, for_graphviz

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
    """Boxes in order, arrows with their number of tensors, and the graph's inputs and outputs.

    `inputs` and `outputs` are arrows from a name to a box, and from a box to a name.
    """

    boxes: tuple[Box, ...]
    arrows: Mapping[tuple[int, int], int]
    inputs: Sequence[tuple[str, int]]
    outputs: Sequence[tuple[int, str]]


def fold(nodes: Sequence[Node], most: int = MOST_BOXES) -> Drawing:
    """Fold a graph into at most `most` boxes; sections are joined if folding them is not enough."""
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
    """Sort the nodes topologically. ONNX requires that order, but a broken file may differ."""
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
    """Split the nodes at the graph's narrow places."""
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
    """Group the nodes into boxes: single nodes of small sections, all nodes of an operator in large ones."""
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
    """Return a section's width: the most nodes at the same depth."""
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
        boxes=tuple(map(_folded, groups)),
        arrows=arrows,
        inputs=sorted((name, place) for name, place in inputs if name not in made),
        outputs=[(place, name) for name, place in made.items() if name not in read],
    )


def _sources(group: Iterable[Node], made: Mapping[str, int]) -> Iterator[int]:
    """Yield the source of each tensor that a group reads, once for each tensor."""
    for name in dict.fromkeys(name for node in group for name in node.inputs):
        if name in made:
            yield made[name]


def _folded(group: Sequence[Node]) -> Box:
    shapes = Counter(shape for node in group for shape in node.weights)
    return Box(
        operator=group[0].operator,
        name=group[0].name if len(group) == 1 else "",
        count=len(group),
        shapes=tuple(shapes.most_common(_MOST_SHAPES)),
    )


PRODUCTS = frozenset({"MatMul", "Gemm", "MatMulInteger", "QLinearMatMul"})
_CONVOLUTIONS = frozenset({"Conv", "ConvInteger", "ConvTranspose", "QLinearConv"})
_SECONDS = 60
_LONGEST = 40  # characters of a name
_MOST_ENDS = 12  # inputs and outputs that are drawn; a broken graph may have thousands
_COLOURS = {"product": "#cfe0ff", "convolution": "#d8f0dd", "other": "#f1f3f7"}


def svg(drawing: Drawing, title: str) -> str:
    """The drawing as an SVG document.

    Raises:
        UsageError: there is no `dot` here.
        FaultError: it failed.
    """
    program = shutil.which("dot")
    if program is None:
        message = "graphs are drawn by graphviz, and its 'dot' is not here: apt-get install graphviz"
        raise UsageError(message)
    try:
        done = subprocess.run(
            [program, "-Tsvg"], input=dot(drawing, title).encode(), capture_output=True, check=True, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        message = f"'dot' took more than {_SECONDS} seconds"
        raise FaultError(message) from error
    except subprocess.CalledProcessError as error:
        message = f"'dot' failed: {error.stderr.decode(errors='replace')[:300]}"
        raise FaultError(message) from error
    return done.stdout.decode()


def dot(drawing: Drawing, title: str) -> str:
    """The drawing in graphviz' language. Names are a student's: each is quoted, and acts on nothing."""
    return "\n".join(_lines(drawing, title))


def _lines(drawing: Drawing, title: str) -> Iterator[str]:
    yield "digraph {"
    yield f"  graph [label={_quoted(title)} labelloc=t fontname=sans fontsize=18 nodesep=0.25 ranksep=0.3 pad=0.3]"
    yield '  node [shape=box style="filled,rounded" fontname=sans fontsize=12 margin="0.15,0.08" color="#8a94a6"]'
    yield '  edge [fontname=sans fontsize=10 color="#5b6577" arrowsize=0.7]'
    for place, box in enumerate(drawing.boxes):
        yield f"  b{place} [{_box(box)}]"
    for (source, target), tensors in drawing.arrows.items():
        label = f' [label="{tensors:,}" penwidth=2]' if tensors > 1 else ""
        yield f"  b{source} -> b{target}{label}"
    for number, (name, place) in enumerate(drawing.inputs[:_MOST_ENDS]):
        yield f"  i{number} [label={_quoted(name)} shape=plain style=solid]"
        yield f"  i{number} -> b{place}"
    for number, (place, name) in enumerate(drawing.outputs[:_MOST_ENDS]):
        yield f"  o{number} [label={_quoted(name)} shape=plain style=solid]"
        yield f"  b{place} -> o{number}"
    yield "}"


def _box(box: Box) -> str:
    kind = "product" if box.operator in PRODUCTS else "convolution" if box.operator in _CONVOLUTIONS else "other"
    lines = [box.operator if box.count == 1 else f"{box.operator} × {box.count:,}"]  # noqa: RUF001 - as people write it
    sizes = [("x".join(map(str, shape)) or "1", count) for shape, count in box.shapes]
    if box.count == 1 and sizes:
        lines.append(f"weights {', '.join(size for size, _ in sizes)}")
    elif sizes:
        lines += [f"{count:,} weights {size}" for size, count in sizes]
    tooltip = f" tooltip={_quoted(box.name)}" if box.name else ""
    double = " peripheries=2" if box.count > 1 else ""
    return f'label={_quoted(*lines)} fillcolor="{_COLOURS[kind]}"{double}{tooltip}'


def _quoted(*lines: str) -> str:
    """Quote lines as a graphviz string in which no backslash, quote or brace has a meaning."""
    return '"' + r"\n".join(_quoted_line(line) for line in lines) + '"'


def _quoted_line(line: str) -> str:
    line = " ".join(escaped(line).split())
    return for_graphviz(line if len(line) <= _LONGEST * 3 else f"{line[: _LONGEST * 3]}...")
