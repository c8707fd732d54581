"""What onnxruntime says of a file: it runs with every node's output exposed, and the arrays are weighed.

Shares nothing with `reference/`: weights are loaded whole, nothing is inferred. Functions are inlined by onnx, the
branch of an If that runs takes its place, and a Loop's body puts out all that it makes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import onnx
import onnxruntime
from onnx import helper, inliner, numpy_helper

_PACKED = {onnx.TensorProto.INT4: 2, onnx.TensorProto.UINT4: 2}


@dataclass
class Move:
    """A node that ran: what it read and wrote, as (name, bytes). `times` for the body of a loop."""

    kind: str
    reads: list
    writes: list
    node: object = None


@dataclass
class Executed:
    moves: list = field(default_factory=list)
    arrays: dict = field(default_factory=dict)
    weights: dict = field(default_factory=dict)
    constants: set = field(default_factory=set)
    inputs: dict = field(default_factory=dict)
    outputs: list = field(default_factory=list)

    def traffic(self, policy):
        fixed = self.constants | (set(self.weights) if policy == "activations_only" else set())
        if policy == "per_tensor":
            each = {name: size for move in self.moves for name, size in (*move.reads, *move.writes)}
            return sum(size for name, size in each.items() if name not in fixed)
        return sum(size for move in self.moves for name, size in (*move.reads, *move.writes) if name not in fixed)

    def sum_of_outputs(self):
        return sum(size for move in self.moves for _, size in move.writes)

    def largest_node(self):
        fixed = self.constants | set(self.weights)
        return max(
            sum({name: size for name, size in (*m.reads, *m.writes) if name not in fixed}.values()) for m in self.moves
        )

    def peak_live(self):
        """By brute force: at each node, everything made so far that is still to be read."""
        fixed, end = self.constants | set(self.weights), len(self.moves)
        made = dict.fromkeys(self.inputs, 0)
        last, sizes = dict.fromkeys(self.inputs, 0), dict(self.inputs)
        for at, move in enumerate(self.moves):
            for name, size in move.writes:
                made[name], sizes[name], last[name] = at, size, at
            for name, size in move.reads:
                last[name] = at
                if name not in made:  # a loop's counter
                    made[name], sizes[name] = at, size
        last |= dict.fromkeys(self.outputs, end)
        return max(
            sum(sizes[name] for name in made if name not in fixed and made[name] <= at <= last[name])
            for at in range(end)
        )


def execute(path, shape, seed=0):
    model = onnx.load(path)
    if model.functions:
        model = inliner.inline_local_functions(model)
    feeds = _feeds(model, shape, seed)
    while any(node.op_type == "If" for node in model.graph.node):
        _inline_if(model, feeds)
    done = Executed()
    done.weights = {each.name: _bytes(each) for each in model.graph.initializer}
    done.inputs = {name: array.nbytes for name, array in feeds.items()}
    done.outputs = [each.name for each in model.graph.output]
    loops = {node.name: _expose_body(node) for node in model.graph.node if node.op_type == "Loop"}
    done.arrays = _exposed(model, feeds)
    sizes = {**done.weights, **done.inputs, **{name: array.nbytes for name, array in done.arrays.items()}}
    for node in model.graph.node:
        if node.op_type == "Constant":
            done.constants.add(node.output[0])
        elif node.op_type == "Loop":
            done.moves += _loop_moves(done, node, sizes, *loops[node.name])
        else:
            reads = [(name, sizes[name]) for name in node.input if name]
            done.moves.append(Move(node.op_type, reads, [(name, sizes[name]) for name in node.output if name], node))
    return done


def _bytes(tensor):
    if tensor.data_type in _PACKED:
        return -(-int(np.prod(tensor.dims)) // _PACKED[tensor.data_type])
    return numpy_helper.to_array(tensor).nbytes


def _feeds(model, shape, seed):
    random = np.random.default_rng(seed)
    weights = {each.name for each in model.graph.initializer}
    feeds = {}
    for each in model.graph.input:
        if each.name not in weights:
            dims = [dim.dim_value for dim in each.type.tensor_type.shape.dim]
            sizes = [dim or size for dim, size in zip(dims, shape or dims, strict=True)]
            feeds[each.name] = random.standard_normal(sizes).astype(np.float32)
    return feeds


def _exposed(model, feeds):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    names = [name for node in copy.graph.node for name in node.output if name]
    del copy.graph.output[:]
    copy.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(copy.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip(names, session.run(names, feeds), strict=True))


def _inline_if(model, feeds):
    at = next(at for at, node in enumerate(model.graph.node) if node.op_type == "If")
    node = model.graph.node[at]
    before = onnx.ModelProto()
    before.CopyFrom(model)
    del before.graph.node[at:]
    holds = bool(_exposed(before, feeds)[node.input[0]])
    branch = next(each.g for each in node.attribute if each.name == ("then_branch" if holds else "else_branch"))
    renamed = {one.name: other for one, other in zip(branch.output, node.output, strict=True)}
    inner = []
    for each in branch.node:
        own = onnx.NodeProto()
        own.CopyFrom(each)
        own.input[:] = [renamed.get(name, name) for name in each.input]
        own.output[:] = [renamed.get(name, name) for name in each.output]
        inner.append(own)
    nodes = [*model.graph.node[:at], *inner, *model.graph.node[at + 1 :]]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(branch.initializer)


def _expose_body(node):
    """Let each tensor inside a Loop come out of it, stacked; the body's nodes as they were, and the new names."""
    body = next(each.g for each in node.attribute if each.name == "body")
    nodes = [(each.op_type, list(each.input), list(each.output)) for each in body.node]
    inner = [each.name for each in body.input] + [name for each in body.node for name in each.output]
    for name in inner:
        body.node.append(helper.make_node("Identity", [name], [f"{name}:copy"]))
        body.output.append(helper.make_empty_tensor_value_info(f"{name}:copy"))
        node.output.append(f"{name}:all")
    return nodes, inner, [each.name for each in body.initializer]


def _loop_moves(done, node, sizes, nodes, inner, weights):
    """The body's nodes, once a trip. What a trip hands to the next keeps the name under which it was made."""
    body = next(each.g for each in node.attribute if each.name == "body")
    trips = sizes[f"{inner[0]}:all"] // 8
    carried = len(node.input) - 2
    given = [each.name for each in body.input][1:]
    made = [each.name for each in body.output][: 1 + carried]
    stacked = [each.name for each in body.output][1 + carried : len(body.output) - len(inner)]
    names, moves = dict(zip(given, node.input[1:], strict=True)), []
    for trip in range(trips):
        names |= {each: f"{each}@{trip}" for each in (body.input[0].name, *(w for _, _, ws in nodes for w in ws))}
        size = {name: sizes[f"{name}:all"] // trips for name in inner}
        moves += [
            Move(
                kind,
                [(names.get(each, each), size.get(each, sizes.get(each))) for each in reads],
                [(names[each], size[each]) for each in writes],
            )
            for kind, reads, writes in nodes
        ]
        names |= {one: names[other] for one, other in zip(given, made, strict=True)}
    last = dict(zip(node.output, [names[each] for each in made[1:]], strict=False))
    rows = dict(zip(node.output[carried:], [[f"{each}@{t}" for t in range(trips)] for each in stacked], strict=False))
    done.outputs = [real for each in done.outputs for real in rows.get(each, [last.get(each, each)])]
    return moves
