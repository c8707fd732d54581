"""Random structural edits of right graphs, of any operator: what a slip of the hand makes of what students write."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, numpy_helper

_SWAPS = {
    "Add": "Sub", "Sum": "Max", "Relu": "Identity", "Identity": "Neg", "Transpose": "Identity", "Sub": "Add", "Mul": "Add",
    "Mean": "Sum", "Max": "Min", "ScatterND": "Identity", "Where": "Where", "Neg": "Identity", "Div": "Mul", "Cast": "Identity",
    "Less": "Greater", "Squeeze": "Identity", "Slice": "Identity", "ReduceSum": "ReduceMean", "Min": "Max",
}  # fmt: skip


def edit(model, rng):
    """One change at a random place; what it was."""
    kinds = [_retarget, _exchange, _drop_input, _repeat, _number, _weight, _operator, _attribute, _swap_inputs, _remove]
    for _ in range(50):
        graph = _any_graph(model, rng)
        done = kinds[rng.integers(len(kinds))](graph, rng)
        if done:
            return done
    return "nothing"


def _any_graph(model, rng):
    inner = [a.g for node in model.graph.node for a in node.attribute if a.HasField("g")]
    if inner and rng.integers(2):
        return inner[rng.integers(len(inner))]
    return model.graph


def _any(items, rng):
    items = list(items)
    return items[rng.integers(len(items))] if items else None


def _retarget(graph, rng):
    if len(graph.node) < 2:
        return ""
    place = int(rng.integers(1, len(graph.node)))
    node = graph.node[place]
    made = [name for earlier in graph.node[:place] for name in earlier.output] + [i.name for i in graph.input]
    if not node.input:
        return ""
    slot = int(rng.integers(len(node.input)))
    node.input[slot] = _any(made, rng)
    return f"input {slot} of {node.name} ({node.op_type}) is {node.input[slot]}"


def _exchange(graph, rng):
    one = _any(graph.node, rng)
    others = [n for n in graph.node if n.op_type == one.op_type and len(n.input) == len(one.input) and n is not one]
    other = _any(others, rng)
    if other is None or not one.input:
        return ""
    slot = int(rng.integers(len(one.input)))
    one.input[slot], other.input[slot] = other.input[slot], one.input[slot]
    return f"{one.name} and {other.name} ({one.op_type}) exchange input {slot}"


def _swap_inputs(graph, rng):
    node = _any([n for n in graph.node if len(n.input) > 1], rng)
    if node is None:
        return ""
    node.input[0], node.input[1] = node.input[1], node.input[0]
    return f"{node.name} ({node.op_type}) has its inputs exchanged"


def _drop_input(graph, rng):
    node = _any([n for n in graph.node if len(n.input) > 1], rng)
    if node is None:
        return ""
    del node.input[int(rng.integers(len(node.input)))]
    return f"{node.name} ({node.op_type}) has an input less"


def _repeat(graph, rng):
    node = _any([n for n in graph.node if n.op_type in ("Sum", "Concat", "SequenceConstruct", "Max", "Mean")], rng)
    if node is None:
        return ""
    node.input.append(node.input[int(rng.integers(len(node.input)))])
    return f"{node.name} ({node.op_type}) has an input twice"


def _number(graph, rng):
    weight = _any([w for w in graph.initializer if w.data_type in (TensorProto.INT64, TensorProto.INT32)], rng)
    if weight is None:
        return ""
    values = numpy_helper.to_array(weight).copy()
    if not values.size:
        return ""
    values.flat[rng.integers(values.size)] += int(rng.choice([-1, 1, 64, -64]))
    weight.CopyFrom(numpy_helper.from_array(values, weight.name))
    return f"{weight.name} is {values.ravel()[:9].tolist()}"


def _weight(graph, rng):
    weight = _any([w for w in graph.initializer if w.data_type == TensorProto.FLOAT], rng)
    if weight is None:
        return ""
    values = numpy_helper.to_array(weight).copy()
    values.flat[rng.integers(values.size)] += np.float32(rng.standard_normal())
    weight.CopyFrom(numpy_helper.from_array(values, weight.name))
    return f"{weight.name} has another value"


def _operator(graph, rng):
    node = _any([n for n in graph.node if n.op_type in _SWAPS], rng)
    if node is None:
        return ""
    node.op_type = _SWAPS[node.op_type]
    if node.op_type in ("Identity", "Neg"):
        del node.input[1:]
        del node.attribute[:]
    return f"{node.name} is {node.op_type}"


def _attribute(graph, rng):
    node = _any([n for n in graph.node if any(a.type in (1, 2, 7) for a in n.attribute)], rng)
    if node is None:
        return ""
    attribute = _any([a for a in node.attribute if a.type in (1, 2, 7)], rng)
    if attribute.type == 2:
        attribute.i += int(rng.choice([-1, 1]))
    elif attribute.type == 1:
        attribute.f += 0.5
    elif attribute.ints:
        attribute.ints[int(rng.integers(len(attribute.ints)))] += 1
    return f"{node.name} ({node.op_type}) has another {attribute.name}"


def _remove(graph, rng):
    """A node is left out: what used its output takes its first input."""
    node = _any([n for n in graph.node if n.input and len(n.output) == 1], rng)
    if node is None or not node.input[0]:
        return ""
    gone, instead = node.output[0], node.input[0]
    says = f"{node.name} ({node.op_type}) is left out"
    graph.node.remove(node)
    for other in graph.node:
        other.input[:] = [instead if name == gone else name for name in other.input]
    return says
