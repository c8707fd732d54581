"""Wrong students, made out of right ones: each slip is a change of a program's text, and several may be made at once.

They know nothing of the library of slips in reference/: the names alone are the same.
"""

import itertools
import random
from dataclasses import dataclass

MACS = """
import torch
from torch import nn


def total_macs(model, input_size):
    rows = []
    for name, m in model.named_modules():
        if isinstance(m, ({kinds})):
            m.register_forward_hook(lambda m, i, o, name=name: rows.append((name, m, i[0], o)))
    with torch.no_grad():
        model(torch.zeros(input_size))
    {rows}
    total = sum(cost(m, x, y) for _, m, x, y in rows)
    return {total}


def cost(m, x, y):
    if isinstance(m, nn.BatchNorm2d):
        return {norm}
    if isinstance(m, nn.ReLU):
        return y.numel()
    if isinstance(m, (nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d)):
        return {pool}
    bias = {bias}
    if isinstance(m, nn.Linear):
        return {linear} + bias
    n, c, h, w = y.shape
    return {batch} * {out} * {height} * {width} * ({channels}) * {kernel_height} * {kernel_width} + bias
"""
MACS_RIGHT = {
    "kinds": "nn.Conv2d, nn.Linear",
    "rows": "pass",
    "total": "total",
    "norm": "x.numel()",
    "pool": "x.numel()",
    "bias": "0",
    "linear": "y.numel() * m.in_features",
    "batch": "n",
    "out": "c",
    "height": "h",
    "width": "w",
    "channels": "m.in_channels // m.groups",
    "kernel_height": "m.kernel_size[0]",
    "kernel_width": "m.kernel_size[1]",
}
MACS_SLIPS = {
    "groups": {"channels": "m.in_channels"},
    "groups_twice": {"channels": "m.in_channels / m.groups / m.groups"},
    "in_channels": {"channels": "1"},
    "out_channels": {"out": "1"},
    "kernel_height": {"kernel_width": "m.kernel_size[0]"},
    "kernel_width": {"kernel_height": "m.kernel_size[1]"},
    "kernel_side": {"kernel_width": "1"},
    "kernel": {"kernel_height": "1", "kernel_width": "1"},
    "positions": {"height": "1", "width": "1"},
    "height_twice": {"width": "h"},
    "width_twice": {"height": "w"},
    "input_size": {"height": "x.shape[2]", "width": "x.shape[3]"},
    "conv_batch": {"batch": "1"},
    "linear_once": {"linear": "m.in_features * m.out_features"},
    "linear": {"kinds": "nn.Conv2d,"},
    "stride_twice": {"height": "(h // m.stride[0])", "width": "(w // m.stride[1])"},
    "linear_batch_twice": {"linear": "y.numel() * m.in_features * x.shape[0]"},
    "linear_inputs_twice": {"linear": "y.numel() * m.in_features ** 2"},
    "last_layer": {"rows": "rows = [row for row in rows if row[0] != rows[-1][0]]"},
    "first_layer": {"rows": "rows = [row for row in rows if row[0] != rows[0][0]]"},
    "repeats": {"rows": "rows = list({row[0]: row for row in reversed(rows)}.values())[::-1]"},
    "norm_once": {"kinds": "nn.Conv2d, nn.Linear, nn.BatchNorm2d"},
    "norm_twice": {"kinds": "nn.Conv2d, nn.Linear, nn.BatchNorm2d", "norm": "2 * x.numel()"},
    "pool_inputs": {"kinds": "nn.Conv2d, nn.Linear, nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d"},
    "pool_outputs": {
        "kinds": "nn.Conv2d, nn.Linear, nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d",
        "pool": "y.numel()",
    },
    "relu": {"kinds": "nn.Conv2d, nn.Linear, nn.ReLU"},
    "batch": {"total": "total // input_size[0]"},
    "batch_twice": {"total": "total * input_size[0]"},
    "twice": {"total": "total * 2"},
    "half": {"total": "total / 2"},
    "in_millions": {"total": "total / 1e6"},
}
SIZES = """
import math

from torch import nn


def total_macs(model, input_size):
    n, _, h, w = input_size
    return walk(model, n, h, w)[0]


def walk(m, n, h, w):
    total = 0
    if isinstance(m, nn.Sequential):
        for each in m:
            more, h, w = walk(each, n, h, w)
            total += more
    elif isinstance(m, nn.Linear):
        total = n * m.in_features * m.out_features
    elif isinstance(m, nn.Conv2d):
        if m.padding == "same":
            {same}
        else:
            h, w = conv(h, m, 0), conv(w, m, 1)
        total = n * h * w * m.out_channels * ({channels}) * m.kernel_size[0] * m.kernel_size[1]
    elif isinstance(m, (nn.MaxPool2d, nn.AvgPool2d)):
        h, w = pool(h, m), pool(w, m)
    elif isinstance(m, nn.AdaptiveAvgPool2d):
        h = w = m.output_size
    elif any(m.children()):
        raise TypeError(m)
    return {total}, h, w


def conv(size, m, at):
    return (size + {padding} - {dilation} * (m.kernel_size[at] - 1) - 1) // {stride} + 1


def pool(size, m):
    room = size + 2 * m.padding - m.kernel_size
    if {ceil}:
        count = -(-room // m.stride) + 1
        return count - 1 if (count - 1) * m.stride >= size + m.padding else count
    return room // m.stride + 1
"""
SIZES_RIGHT = {
    "same": "pass",
    "channels": "m.in_channels // m.groups",
    "total": "total",
    "padding": "2 * m.padding[at]",
    "dilation": "m.dilation[at]",
    "stride": "m.stride[at]",
    "ceil": "m.ceil_mode",
}
SIZES_SLIPS = {
    "ceil_mode": {"ceil": "False"},
    "dilation": {"dilation": "1"},
    "stride": {"stride": "1"},
    "padding_once": {"padding": "m.padding[at]"},
    "groups": {"channels": "m.in_channels"},
}
HELD = """
from torch import nn


def total_parameters(model):
    total, seen = 0, set()
    modules = [(name, m) for name, m in model.named_modules() if {modules}]
    for path, m in modules:
        for name, p in m.named_parameters(recurse={recurse}):
            if {wanted} and (any(m.children()) or id(p) not in seen):
                total += {count}
            if not any(m.children()):
                seen.add(id(p))
        for name, b in m.named_buffers(recurse=False):
            total += {buffers}
    return {total}


weight_bytes = total_parameters
"""
HELD_RIGHT = {
    "modules": "True",
    "recurse": "False",
    "wanted": "True",
    "count": "p.numel()",
    "buffers": "0",
    "total": "total",
}
HELD_SLIPS = {
    "biases": {"wanted": "not name.endswith('bias')"},
    "vectors": {"wanted": "p.dim() > 1"},
    "norms": {"modules": "not isinstance(m, nn.BatchNorm2d)"},
    "linear": {"modules": "not isinstance(m, nn.Linear)"},
    "convolutions": {"modules": "not isinstance(m, nn.Conv2d)"},
    "frozen": {"wanted": "p.requires_grad"},
    "buffers": {"buffers": "b.numel()"},
    "running_statistics": {"buffers": "b.numel() if b.is_floating_point() else 0"},
    "containers_and_root": {"recurse": "True"},
    "tensors": {"count": "1"},
    "groups": {"count": "p.numel() * getattr(m, 'groups', 1) if p.dim() == 4 else p.numel()"},
    "kernel": {"count": "p.shape[0] * p.shape[1] if p.dim() == 4 else p.numel()"},
    "in_thousands": {"total": "total / 1000"},
    "in_millions": {"total": "total / 1e6"},
    "twice": {"total": "2 * total"},
    "float32": {"total": "4 * total"},
}
ONNX = """
import math

import numpy as np
import onnx
import onnxruntime

SIZES = {1: 4, 3: 1, 6: 4, 7: 8, 9: 1, 10: 2, 21: 0.5}


def read(path):
    model = onnx.load(path)
    graph = model.graph
    given = {
        each.name: np.zeros([d.dim_value or 1 for d in each.type.tensor_type.shape.dim], np.float32)
        for each in graph.input
    }
    ends = {each.name for each in graph.output}
    made = [name for node in graph.node for name in node.output]
    del graph.output[:]
    graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in made)
    onnxruntime.set_default_logger_severity(3)
    values = onnxruntime.InferenceSession(model.SerializeToString()).run(made, given)
    sizes = {name: value.size * {element} for name, value in [*given.items(), *zip(made, values)]}
    held = {node.output[0] for node in graph.node if node.op_type == "Constant"}
    sizes |= {name: sizes[name] * {constants} for name in held}
    weights = {each.name: math.ceil(math.prod(each.dims) * {weight_element}) for each in graph.initializer}
    vectors = {each.name for each in graph.initializer if len(each.dims) < 2}
    return graph, sizes, weights, vectors, ends


def traffic_bytes(path):
    graph, sizes, weights, vectors, ends = read(path)
    total = {begin}
    for node in graph.node:
        if node.op_type != "Constant" and {nodes}:
            for name in {inputs}:
                total += {weight} if name in weights else {reads}
            for name in {outputs}:
                total += {writes}
    return {total}


def activation_bytes(path):
    graph, sizes, weights, vectors, ends = read(path)
    total = {also}
    for node in graph.node:
        if node.op_type != "Constant" and {nodes}:
            for name in {outputs}:
                total += {writes}
    return {total}
"""
ONNX_RIGHT = {
    "element": "value.itemsize",
    "constants": "0",
    "weight_element": "SIZES[each.data_type]",
    "nodes": "True",
    "inputs": "node.input",
    "outputs": "node.output",
    "weight": "weights[name]",
    "reads": "sizes[name]",
    "writes": "sizes[name]",
    "begin": "0",
    "also": "0",
    "total": "total",
}
_NODES = {
    "convolutions_alone": {"nodes": "node.op_type == 'Conv'"},
    "functions": {"nodes": "node.op_type not in ('Relu', 'Clip')"},
    "graph_output": {"writes": "sizes[name] if name not in ends else 0"},
    "in_kibi": {"total": "total / 1024"},
    "in_mebi": {"total": "total / 2**20"},
    "kib_as_kb": {"total": "total / 1024 * 1000"},
    "bits": {"total": "total * 8"},
    "elements": {"element": "1", "weight_element": "1"},
    "float32": {"element": "4", "weight_element": "4"},
    "float16": {"element": "2", "weight_element": "2"},
    "other_outputs": {"outputs": "node.output[:1]"},
}
TRAFFIC_SLIPS = {
    **_NODES,
    "weights": {"weight": "0"},
    "biases": {"weight": "(weights[name] if name not in vectors else 0)"},
    "writes": {"writes": "0"},
    "reads": {"reads": "0"},
    "weights_twice": {"weight": "2 * weights[name]"},
    "weights_once": {"weight": "[weights[name], weights.update({name: 0})][0]"},
    "other_inputs": {"inputs": "node.input[:1]"},
    "constants": {"constants": "1"},
    "given": {"begin": "sum(sizes[each.name] for each in graph.input)"},
}
ACTIVATION_SLIPS = {
    **_NODES,
    "weights": {"also": "sum(weights.values())"},
}


@dataclass(frozen=True)
class Kind:
    """Programs for one check of a task."""

    text: str
    right: dict
    slips: dict
    task: str
    file: str = "hw2_1.py"
    check: str = "total"

    def program(self, names):
        """The program with these slips; None where two of them change the same words."""
        changed = [key for name in names for key in self.slips[name]]
        if len(changed) != len(set(changed)):
            return None
        words = dict(self.right)
        for name in names:
            words |= self.slips[name]
        text = self.text
        for key, word in words.items():
            text = text.replace("{" + key + "}", word)
        return text


KINDS = {
    "macs": Kind(MACS, MACS_RIGHT, MACS_SLIPS, "2-1-4-macs"),
    "sizes": Kind(SIZES, SIZES_RIGHT, SIZES_SLIPS, "2-1-4-macs"),
    "parameters": Kind(HELD, HELD_RIGHT, HELD_SLIPS, "2-1-1-parameters"),
    "traffic": Kind(ONNX, ONNX_RIGHT, TRAFFIC_SLIPS, "2-2-2-bandwidth", "hw2_2.py"),
    "activations": Kind(ONNX, ONNX_RIGHT, ACTIVATION_SLIPS, "2-2-3-activation-memory", "hw2_2.py"),
}


def drawn(seed, count):
    """So many (kind, slips) with a program, of one to three slips."""
    chance = random.Random(seed)  # noqa: S311 - a test
    found: list = []
    while len(found) < count:
        kind = chance.choice(list(KINDS))
        names = tuple(chance.sample(list(KINDS[kind].slips), chance.choice([1, 1, 2, 2, 3])))
        if KINDS[kind].program(names) is not None:
            found.append((kind, names))
    return found


def singles():
    """Each slip alone."""
    return list(itertools.chain.from_iterable(((kind, (name,)) for name in each.slips) for kind, each in KINDS.items()))
