"""What onnxruntime says of a file, node by node: each is a model of its own, run on the arrays that come before it.

Shares nothing with `reference/`: nothing is inferred, weights are read whole, If, Loop and Scan are gone through here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnxruntime
from onnx import helper, inliner, numpy_helper

CONTROL = ("If", "Loop", "Scan")
_PACKED = {onnx.TensorProto.INT4: 2, onnx.TensorProto.UINT4: 2}


@dataclass(eq=False)
class Held:
    """An array (or a list of them) with where it comes from; `parts` where it is others', stacked."""

    value: object
    kind: str = "activation"
    size: int | None = None
    parts: list | None = None

    def bytes(self):
        if self.size is not None:
            return self.size
        values = self.value if isinstance(self.value, list) else [self.value]
        return sum(each.nbytes for each in values if isinstance(each, np.ndarray))

    def real(self):
        return [self] if self.parts is None else [inner for part in self.parts for inner in part.real()]


@dataclass
class Ran:
    """A node that ran, with what it read and wrote."""

    node: onnx.NodeProto
    reads: list
    writes: list


@dataclass
class Witness:
    steps: list = field(default_factory=list)
    inputs: list = field(default_factory=list)
    outputs: list = field(default_factory=list)

    def shapes(self):
        """The shape and type of what each step puts out, in order."""
        return [[_shape(each.value) for each in step.writes] for step in self.steps]

    def traffic(self, policy, *, constants=False):
        left_out = {"weight", "constant"} if policy == "activations_only" else set() if constants else {"constant"}
        moved = [each for step in self.steps for each in (*step.reads, *step.writes) if each.kind not in left_out]
        if policy == "per_tensor":
            moved = {id(real): real for each in moved for real in each.real()}.values()
        return sum(each.bytes() for each in moved)

    def sum_of_outputs(self):
        return sum(each.bytes() for step in self.steps for each in step.writes)

    def largest_node(self):
        return max((sum(each.bytes() for each in _activations(step)) for step in self.steps), default=0)

    def peak_live(self):
        end = len(self.steps)
        made, last, held = {}, {}, {}
        for each in self.inputs:
            made[id(each)], held[id(each)], last[id(each)] = 0, each, 0
        for at, step in enumerate(self.steps):
            for real in (real for each in _activations(step) for real in each.real()):
                made.setdefault(id(real), at)
                held[id(real)], last[id(real)] = real, at
        last |= {id(real): end for each in self.outputs for real in each.real()}
        return max(
            (sum(held[key].bytes() for key in made if made[key] <= at <= last[key]) for at in range(end)), default=0
        )

    def macs(self):
        return sum(_macs(step) for step in self.steps)


def _activations(step):
    return {id(each): each for each in (*step.reads, *step.writes) if each.kind in ("input", "activation")}.values()


def _shape(value):
    return [each.shape for each in value] if isinstance(value, list) else value.shape


def witness(path, feeds):
    """Run a file on arrays by name."""
    model = onnx.load(path)
    if model.functions:
        model = inliner.inline_local_functions(model)
    return _Runner(model).main(feeds)


class _Runner:
    def __init__(self, model):
        self.model = model
        self.done = Witness()
        self.sessions = {}
        self.weights = {}
        self.alive = []  # protobuf makes its wrappers anew, and a new one may get the id of one that is gone

    def main(self, feeds):
        names = {name: Held(value, "input") for name, value in feeds.items()}
        self.done.inputs = list(names.values())
        found = self.graph(self.model.graph, names)
        self.done.outputs = [found[each.name] for each in self.model.graph.output]
        return self.done

    def graph(self, graph, names):
        names = dict(names)
        for each in graph.initializer:
            if id(each) not in self.weights:
                self.alive.append(each)
                packed = _PACKED.get(each.data_type)
                size = -(-math.prod(each.dims) // packed) if packed else None
                self.weights[id(each)] = Held(numpy_helper.to_array(each), "weight", size)
            names[each.name] = self.weights[id(each)]
        for node in graph.node:
            made = self.node(node, names)
            names |= {name: each for name, each in zip(node.output, made, strict=False) if name}
        return names

    def node(self, node, names):
        attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        if node.op_type == "Constant":
            return [Held(_constant(attributes), "constant")]
        if node.op_type not in CONTROL or node.domain not in ("", "ai.onnx"):
            reads = [names[name] if name else None for name in node.input]
            made = [Held(each) for each in self.run(node, reads)]
            self.done.steps.append(Ran(node, [each for each in reads if each is not None], made))
            full = iter(made)
            return [next(full) if name else None for name in node.output]
        if node.op_type == "If":
            branch = attributes["then_branch" if names[node.input[0]].value.item() else "else_branch"]
            found = self.graph(branch, names)
            return [found[each.name] for each in branch.output]
        return getattr(self, node.op_type.lower())(node, attributes, names)

    def loop(self, node, attributes, names):
        body = attributes["body"]
        limit = names[node.input[0]].value.item() if node.input[0] else None
        cond = names[node.input[1]] if node.input[1] else Held(np.array(True))  # noqa: FBT003 - a tensor's value
        carried = [names[name] for name in node.input[2:]]
        rows, going = [], bool(cond.value.item())
        while going and (limit is None or len(rows) < limit):
            given = [Held(np.array(len(rows), np.int64)), cond, *carried]
            found = self.graph(body, names | {each.name: one for each, one in zip(body.input, given, strict=True)})
            cond, *made = [found[each.name] for each in body.output]
            carried, row = made[: len(carried)], made[len(carried) :]
            rows.append(row)
            going = bool(cond.value.item()) or not node.input[1]
        return [*carried, *(_stacked(each) for each in zip(*rows, strict=True))]

    def scan(self, node, attributes, names):
        body, count = attributes["body"], attributes["num_scan_inputs"]
        given = [names[name] for name in node.input]
        states, scanned = given[: len(given) - count], given[len(given) - count :]
        rows = []
        for at in range(scanned[0].value.shape[0]):
            slices = [Held(each.value[at], each.kind, parts=[each]) for each in scanned]
            inner = dict(zip((each.name for each in body.input), [*states, *slices], strict=True))
            found = self.graph(body, names | inner)
            made = [found[each.name] for each in body.output]
            states, row = made[: len(states)], made[len(states) :]
            rows.append(row)
        return [*states, *(_stacked(each) for each in zip(*rows, strict=True))]

    def run(self, node, reads):
        """The arrays of one node's outputs. Weights stay what they are: some kernels ask for constants."""
        fixed = [
            name
            for name, each in zip(node.input, reads, strict=True)
            if each is not None and each.kind in ("weight", "constant")
        ]
        feeds = {
            name: each.value
            for name, each in zip(node.input, reads, strict=True)
            if each is not None and name not in fixed
        }
        key = (id(node), tuple(_kind(each) for each in feeds.values()))
        if key not in self.sessions:
            self.alive.append(node)
            self.sessions[key] = self.session(node, reads, feeds, fixed)
        return self.sessions[key].run([name for name in node.output if name], feeds)

    def session(self, node, reads, feeds, fixed):
        held = {name: each.value for name, each in zip(node.input, reads, strict=True) if name in fixed}
        infos = [_info(name, value) for name, value in feeds.items()]
        results = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        weights = [numpy_helper.from_array(value, name) for name, value in held.items()]
        graph = helper.make_graph([node], "node", infos, results, weights)
        model = helper.make_model(graph, opset_imports=self.model.opset_import, ir_version=self.model.ir_version)
        model.ir_version = max(model.ir_version, 4)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _constant(attributes):
    if "value" in attributes:
        return numpy_helper.to_array(attributes["value"])
    ((name, value),) = attributes.items()
    return np.array(value, np.float32 if "float" in name else np.int64)


def _stacked(parts):
    return Held(np.stack([each.value for each in parts]), parts=list(parts))


def _kind(value):
    return ("seq", str(dtype_in(value))) if isinstance(value, list) else (str(value.dtype), value.ndim)


def dtype_in(values):
    return values[0].dtype if values else np.dtype(np.float32)


def _info(name, value):
    if isinstance(value, list):
        kind = helper.np_dtype_to_tensor_dtype(dtype_in(value))
        return helper.make_tensor_sequence_value_info(name, kind, None)
    kind = helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_value_info(name, kind, [None] * value.ndim)


def _macs(step):
    """Products by the arrays themselves; None of these formulas is that of `reference/`."""
    kind, shapes = step.node.op_type, [each.value.shape for each in step.reads if isinstance(each.value, np.ndarray)]
    attributes = {each.name: helper.get_attribute_value(each) for each in step.node.attribute}
    made = math.prod(_shape(step.writes[0].value)) if isinstance(step.writes[0].value, np.ndarray) else 0
    if kind in ("Conv", "ConvInteger", "FusedConv"):
        return made * math.prod(shapes[1]) // shapes[1][0]
    if kind == "QLinearConv":
        return made * math.prod(shapes[3]) // shapes[3][0]
    if kind == "ConvTranspose":
        return math.prod(shapes[0]) * math.prod(shapes[1][1:])
    if kind in ("MatMul", "MatMulInteger", "QLinearMatMul", "DynamicQuantizeMatMul", "MatMulIntegerToFloat"):
        return made * shapes[0][-1]
    if kind in ("Gemm", "FusedGemm", "FusedMatMul", "QGemm"):
        return made * shapes[0][-2 if attributes.get("transA") else -1]
    if kind in ("LSTM", "GRU", "RNN"):
        weights = math.prod(shapes[1]) + math.prod(shapes[2])
        return shapes[0][0] * shapes[0][1] * weights
    if kind == "DynamicQuantizeLSTM":
        return shapes[0][0] * shapes[0][1] * (math.prod(shapes[1]) + math.prod(shapes[2]))
    if kind == "Einsum" and len(shapes) > 1:
        terms = attributes["equation"].decode().replace(" ", "").partition("->")[0].split(",")
        return math.prod(dict(zip("".join(terms), sum(shapes, ()), strict=True)).values())
    if kind in ("LinearClassifier", "LinearRegressor"):
        return math.prod(shapes[0][:-1]) * len(attributes["coefficients"])
    return 0
