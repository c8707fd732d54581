"""Slips in counting the nodes of an ONNX file: which are counted, how often, and what is taken for their type."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .common import also, times, without
from .compose import ROW, Library, Slip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .compose import Factors, Part

NESTED, ELSE, BODY, STORED = "nested", "nested in an else branch", "nested in a loop's body", "stored"
INSIDE, AGAIN = "inside of a function", "inside of a function that is called again"
COUNTED = ("", NESTED, ELSE, BODY)


def _without_part(parts: Sequence[Part], at: int) -> Factors:
    places = [place for place, part in enumerate(parts) if part.counted]
    if not places:
        message = "there is nothing to leave out"
        raise ValueError(message)
    return [int(place != places[at]) for place in range(len(parts))]


def within(graph: Any, attribute: str) -> Iterator[Any]:
    """The nodes in the graphs that nodes have as this attribute (`else_branch`, `body`), and in the graphs of these."""
    for node in graph.node:
        for each in node.attribute:
            for inner in _graphs(each):
                yield from _all_nodes(inner) if each.name == attribute else within(inner, attribute)


def _all_nodes(graph: Any) -> Iterator[Any]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for each in _graphs(attribute):
                yield from _all_nodes(each)


def _graphs(attribute: Any) -> list[Any]:
    return [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]


def _without_deeper(parts: Sequence[Part]) -> Factors:
    nested = [part.source for part in parts if part.kind in COUNTED[1:]]
    deeper = {id(each) for node in nested for held in node.attribute for graph in _graphs(held) for each in graph.node}
    return [int(id(part.source) not in deeper) for part in parts]


def _last_runs(parts: Sequence[Part]) -> Factors:
    """Leave out what stands before a node of another type and a later one of its own."""
    kept, later, after = [], set(), ""
    for part in reversed(parts):
        if part.counted and part.row != after:
            later |= {after}
            after = part.row
        kept.append(int(part.row not in later))
    return kept[::-1]


def _is(kind: str) -> Callable[[Any], bool]:
    return lambda node: bool(node.op_type == kind)


def _one_less_each(parts: Sequence[Part]) -> Factors:
    rows = Counter(part.row for part in parts if part.counted)
    return [Fraction(rows[part.row] - 1, rows[part.row] or 1) for part in parts]


_OWN = ("", "ai.onnx", "ai.onnx.ml")
_ONE_LESS = (
    "This is one less: a loop leaves out the first or the last node, or the tensors of value_info are counted, where "
    "the model's output is missing. Count all of graph.node."
)
_RUNS = (
    "Each run of neighbouring nodes of one type counts: itertools.groupby joins neighbours only. Sort first, or count "
    "with collections.Counter."
)
COUNTS: Library = {
    "types": Slip(
        of="factor",
        change=lambda parts: [Fraction(1, [each.row for each in parts].count(part.row)) for part in parts],
        says="Each operator type counts once, however many nodes it has. Count nodes.",
    ),
    "constants": Slip(
        of="left out",
        change=without(lambda node: node.op_type == "Constant", COUNTED),
        says="Constant nodes are left out. They are nodes of the file, too.",
    ),
    "identities": Slip(
        of="left out",
        change=without(lambda node: node.op_type in ("Constant", "Identity"), COUNTED),
        says="Constant and Identity nodes are left out. They are nodes of the file, too.",
    ),
    **{
        f"no_{kind}": Slip(
            of="left out",
            change=without(_is(kind), COUNTED),
            says=f"{kind} nodes are left out. They are nodes of the file, too.",
        )
        for kind in ("Flatten", "Reshape", "Relu", "Clip", "Add", "Concat", "Dropout", "Identity")
    },
    "first_node": Slip(
        of="left out",
        change=lambda parts: _without_part(parts, 0),
        says=_ONE_LESS,
    ),
    "last_node": Slip(
        of="left out",
        change=lambda parts: _without_part(parts, -1),
        says=_ONE_LESS,
    ),
    "nested": Slip(
        of="left out",
        change=lambda parts: [int(part.kind not in (NESTED, ELSE, BODY)) for part in parts],
        says="The nodes inside If and Loop are missing. Their graphs are attributes of the node (attribute.g).",
    ),
    "holders": Slip(
        of="left out",
        change=without(lambda node: any(each.HasField("g") for each in node.attribute), COUNTED),
        says="If, Loop and Scan are left out where their graphs are gone through. They are nodes, too.",
    ),
    "else_branches": Slip(
        of="nested",
        change=lambda parts: [int(part.kind != ELSE) for part in parts],
        says="Of an If only then_branch is counted. The nodes of else_branch are nodes, too.",
    ),
    "loop_bodies": Slip(
        of="nested",
        change=lambda parts: [int(part.kind != BODY) for part in parts],
        says="The nodes inside Loop and Scan are missing. Their graph is the attribute body; take the graph of each "
        "attribute that has one.",
    ),
    "one_level": Slip(
        of="nested",
        change=_without_deeper,
        says="Graphs inside of nodes are gone through one level deep: the nodes of an If inside of a Loop are missing. "
        "Look into each node that you find, also inside of another.",
    ),
    "other_domains": Slip(
        of="domains",
        change=without(lambda node: node.domain not in _OWN, COUNTED),
        says="Nodes of other domains than ONNX's own are left out, such as calls of the file's own functions. They are "
        "nodes, too.",
    ),
    "one_each": Slip(
        of="factor",
        change=_one_less_each,
        says="Each type counts one too few. The first node of a type makes its count 1, not 0.",
    ),
    "runs": Slip(
        of="factor",
        change=lambda parts: [int(at == 0 or parts[at - 1].row != part.row) for at, part in enumerate(parts)],
        says=_RUNS,
    ),
    "last_run": Slip(
        of="factor",
        change=_last_runs,
        says="Of each type the last run of neighbouring nodes alone counts: itertools.groupby joins neighbours only, "
        "and a dict keeps the last of a type. Sort first, or count with collections.Counter.",
    ),
    "outputs": Slip(
        of="factor",
        change=times(lambda node: sum(1 for each in node.output if each), COUNTED),
        says="Outputs are counted, not nodes: a node of two outputs counts twice. Count nodes.",
    ),
    "function_bodies": Slip(
        of="extra",
        change=also(INSIDE),
        says="The nodes inside of the file's own functions are counted, too. A call of a function is one node; what is "
        "inside is none of the graph's.",
    ),
    "function_bodies_each_call": Slip(
        of="extra",
        change=lambda parts: [int(part.kind in (INSIDE, AGAIN)) for part in parts],
        says="The nodes inside of the file's own functions are counted, too, at each call. A call of a function is one "
        "node; what is inside is none of the graph's.",
    ),
    "inlined": Slip(
        of="extra",
        change=lambda parts: [
            int(part.kind in (INSIDE, AGAIN)) - int(part.kind in COUNTED and part.source.domain not in _OWN)
            for part in parts
        ],
        says="The nodes inside of the file's own functions are counted in place of their calls. A call of a function "
        "is one node.",
    ),
    "initializers": Slip(
        of="extra",
        change=also(STORED),
        says="Initializers are counted. They are weights, not nodes.",
    ),
}


def _as(row: Callable[[Part], str], says: str) -> Slip:
    """Another text taken for the type of a node."""
    return Slip(of=ROW, change=lambda parts: [row(part) for part in parts], says=says)


def _runs(parts: Sequence[Part]) -> list[str]:
    starts = [int(at == 0 or parts[at - 1].row != part.row) for at, part in enumerate(parts)]
    return [f"{part.row} {sum(starts[: at + 1])}" for at, part in enumerate(parts)]


def _kernel(node: Any) -> str:
    return "".join(str(list(each.ints)) for each in node.attribute if each.name == "kernel_shape")


def _attributes(node: Any) -> str:
    return "".join(sorted(each.SerializeToString().hex() for each in node.attribute))


_NAMES = "A node's type is taken from its name, which need not say it. Read node.op_type."
# One type more or less comes of many things: of what changes the number of a type's nodes nothing is said.
_OF_NODES = ("types", "first_node", "last_node", "one_each", "runs", "last_run", "outputs", "initializers")
TYPES: Library = {
    **{name: slip for name, slip in COUNTS.items() if name not in _OF_NODES},
    "runs_as_types": Slip(of=ROW, change=_runs, says=_RUNS),
    "before_underscore": _as(lambda part: part.source.name.partition("_")[0], _NAMES),
    "before_last_underscore": _as(lambda part: part.source.name.rpartition("_")[0] or part.source.name, _NAMES),
    "kernels_as_types": _as(
        lambda part: f"{part.row} {_kernel(part.source) if part.kind in COUNTED else ''}",
        "Nodes of one type with another kernel_shape count as another type. A type is node.op_type alone.",
    ),
    "attributes_as_types": _as(
        lambda part: f"{part.row} {_attributes(part.source) if part.kind in COUNTED else ''}",
        "Nodes of one type with other attributes count as another type. A type is node.op_type alone.",
    ),
    "types_of_each_graph": _as(
        lambda part: f"{part.row} {part.kind}",
        "A type counts once for each graph that has it, that of an If or Loop and the whole file's. Put the types of "
        "all nodes into one set.",
    ),
}
