"""What torch.fx traces of a model: the kinds of its nodes, and which of them a pass over the graph replaces."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ._counting.calls import chosen

if TYPE_CHECKING:
    import torch

    from ._counting.engine import CountedSubject

_KINDS = ("placeholder", "get_attr", "call_function", "call_module", "call_method", "output")


def fx_opcodes(subject: CountedSubject) -> dict[str, int]:
    """How many nodes of each kind (`node.op`) the graph has that torch.fx.symbolic_trace makes of the model.

    A module that is called several times has a node for each call; a kind that there is none of counts 0.
    """
    graph = _traced(subject).graph
    counted = Counter(node.op for node in graph.nodes)
    return {kind: counted[kind] for kind in _KINDS}


def fx_opcodes_of_modules(subject: CountedSubject) -> dict[str, int]:
    """The kinds with a call_module node for each module without modules inside.

    Slip of: fx_opcodes
    Hint: These are the model's modules, not the nodes of its graph. A module that is called several times has a node
    for each call: trace the model with torch.fx.symbolic_trace and count node.op.
    Credit: 0.3
    """
    module, _ = subject.on_meta()
    leaves = sum(not any(each.children()) for each in module.modules())
    return {**fx_opcodes(subject), "call_module": leaves}


def fx_opcodes_of_all_modules(subject: CountedSubject) -> dict[str, int]:
    """The kinds with a call_module node for each module, containers and the model itself, too.

    Slip of: fx_opcodes
    Hint: named_modules() was counted, with containers and the model itself. torch.fx has a node for each call of a
    module that it does not look into: trace the model and count node.op.
    Credit: 0.2
    """
    module, _ = subject.on_meta()
    return {**fx_opcodes(subject), "call_module": sum(1 for _ in module.modules())}


def fx_opcodes_without_ends(subject: CountedSubject) -> dict[str, int]:
    """The kinds without the nodes for input and output.

    Slip of: fx_opcodes
    Hint: The input and the output are missing. They are nodes of the graph, too, of the kinds placeholder and output.
    Credit: 0.5
    """
    return {**fx_opcodes(subject), "placeholder": 0, "output": 0}


def changed_nodes(subject: CountedSubject, *, types: list[str]) -> list[dict[str, Any]]:
    """Which nodes of the traced graph change where a pass replaces every module of some types, a row a type of node.

    `types` are classes such as Linear. A row's `type` is the module's class, or what a function or method is called;
    `op` the kind of its nodes, `total` how many there are, `changed` how many have a target of another class
    afterwards, `unchanged` the others. The rows of the input, the output and of parameters read are optional.
    """
    return _rows(subject, types)


def changed_nodes_by_identity(subject: CountedSubject, *, types: list[str]) -> list[dict[str, Any]]:
    """The rows with every module changed, as by comparing the modules themselves and not their classes.

    Comes of `original.target is not quantised.target`, which holds for each module of a copied graph.

    Slip of: changed_nodes
    Hint: Every module is called changed. A copied graph has other objects throughout: compare the classes of what the
    two nodes call, type(a) and type(b).
    Credit: 0.3
    """
    rows = _rows(subject, types)
    return [_row(row, row["total"]) if row["op"] == "call_module" else row for row in rows]


def changed_nodes_by_module(subject: CountedSubject, *, types: list[str]) -> list[dict[str, Any]]:
    """The rows with each module counted once, however often it is called, and without functions.

    Slip of: changed_nodes
    Hint: Modules are counted, not nodes: one that is called several times has a node for each call, and functions such
    as add or flatten have nodes, too. Walk over graph.nodes.
    Credit: 0.4
    """
    module, _ = subject.on_meta()
    leaves = [each for each in module.modules() if not any(each.children())]
    replaced, counted = chosen(module, types), Counter(type(each).__name__ for each in leaves)
    changed = Counter(type(each).__name__ for each in leaves if replaced(each))
    return [_row({"type": name, "op": "call_module", "total": total}, changed[name]) for name, total in counted.items()]


def _rows(subject: CountedSubject, types: list[str]) -> list[dict[str, Any]]:
    traced = _traced(subject)
    replaced = chosen(traced, types)
    found: dict[str, dict[str, Any]] = {}
    changed: Counter[str] = Counter()
    for node in traced.graph.nodes:
        called = traced.get_submodule(node.target) if node.op == "call_module" else None
        name = type(called).__name__ if called is not None else _name(node)
        row = {"type": name, "op": node.op, "total": 0}
        if node.op in ("placeholder", "output"):
            row |= {"optional": True, "also_named": [str(node.target), node.op, "x", "input"]}
        elif node.op == "get_attr":
            row |= {"optional": True, "also_named": [str(node.target), node.op]}
        found.setdefault(name, row)["total"] += 1
        changed[name] += called is not None and replaced(called)
    return [_row(row, changed[name]) for name, row in found.items()]


def _row(row: dict[str, Any], changed: int) -> dict[str, Any]:
    return {**row, "changed": changed, "unchanged": row["total"] - changed}


def _name(node: torch.fx.Node) -> str:
    """What a node that calls no module is called: its function, its method, or its own name."""
    if node.op == "call_function":
        return str(getattr(node.target, "__name__", node.target))
    return str(node.target) if node.op == "call_method" else node.name


def _traced(subject: CountedSubject) -> torch.fx.GraphModule:
    from torch.fx import symbolic_trace

    module, _ = subject.on_meta()
    return symbolic_trace(module)
