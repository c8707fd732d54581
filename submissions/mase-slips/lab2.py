"""Each function with a mistake that is known."""

from collections import Counter

import torch
from torch import fx, nn


def opcodes(model):
    leaves = sum(not list(each.children()) for each in model.modules())
    return {"placeholder": 1, "call_module": leaves, "output": 1}


def weight_moments(model):
    layers = {name: layer for name, layer in model.named_modules() if isinstance(layer, nn.Linear)}
    arrays = {name: layer.weight.detach().numpy() for name, layer in layers.items()}
    return {name: {"mean": float(array.mean()), "variance": float(array.var())} for name, array in arrays.items()}


def activation_quantiles(model, input):
    found = {}
    for name, layer in model.named_modules():
        if isinstance(layer, nn.ReLU):
            layer.register_forward_hook(lambda module, _, out, name=name: found.update({name: out.max().item()}))
    model(input)
    return found


def changed_nodes(model):
    traced, rows = fx.symbolic_trace(model), {}
    for node in traced.graph.nodes:
        if node.op == "call_module":
            name = type(traced.get_submodule(node.target)).__name__
            row = rows.setdefault(name, {"op": node.op, "total": 0, "changed": 0, "unchanged": 0})
            row["total"] += 1
            row["changed"] += 1
    return rows


def quantise(model):
    layers = {name: layer for name, layer in model.named_modules() if isinstance(layer, (nn.Linear, nn.Conv2d))}
    return {name: torch.floor(layer.weight.detach() * 16).clamp(-128, 127) / 16 for name, layer in layers.items()}


def operations_by_layer(model, input_size):
    found = Counter()
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            found[name] = input_size[0] * (module.in_features + 1) * module.out_features
        elif isinstance(module, nn.BatchNorm1d):
            found[name] = 4 * input_size[0] * module.num_features
        elif isinstance(module, nn.ReLU):
            found[name] = input_size[0] * 16
    return dict(found)
