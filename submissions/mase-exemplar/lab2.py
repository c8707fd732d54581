"""Passes over graphs of torch.fx, by themselves."""

import copy
from collections import Counter

import torch
from torch import fx, nn

LAYERS = (nn.Linear, nn.Conv2d)


class QuantisedLinear(nn.Module):
    """A linear layer that computes with quantised weights."""

    def __init__(self, layer):
        super().__init__()
        self.register_buffer("weight", on_grid(layer.weight.detach()))
        self.bias = layer.bias

    def forward(self, x):
        return nn.functional.linear(x, self.weight, self.bias)


def opcodes(model):
    return dict(Counter(node.op for node in fx.symbolic_trace(model).graph.nodes))


def weight_moments(model):
    found = {}
    for name, layer in model.named_modules():
        if isinstance(layer, nn.Linear):
            weight = layer.weight.detach()
            found[name] = {"mean": weight.mean().item(), "variance": weight.var().item()}
    return found


def activation_quantiles(model, input):
    found, times = {}, Counter()

    def keep(name):
        def hook(module, inputs, output):
            times[name] += 1
            row = name if times[name] == 1 else f"{name}#{times[name]}"
            found[row] = torch.quantile(output.flatten(), 0.97).item()

        return hook

    for name, layer in model.named_modules():
        if isinstance(layer, nn.ReLU):
            layer.register_forward_hook(keep(name))
    with torch.no_grad():
        model(input)
    return found


def on_grid(x, width=8, fraction=4):
    steps = torch.round(x * 2**fraction)
    return torch.clamp(steps, -(2 ** (width - 1)), 2 ** (width - 1) - 1) / 2**fraction


def quantise(model):
    return {name: on_grid(layer.weight.detach()) for name, layer in model.named_modules() if isinstance(layer, LAYERS)}


def quantised(traced):
    """A copy of a graph whose linear layers are quantised."""
    traced = copy.deepcopy(traced)
    for node in traced.graph.nodes:
        if node.op == "call_module" and isinstance(traced.get_submodule(node.target), nn.Linear):
            parent, _, name = node.target.rpartition(".")
            setattr(traced.get_submodule(parent), name, QuantisedLinear(traced.get_submodule(node.target)))
    return traced


def called(traced, node):
    if node.op == "call_module":
        return type(traced.get_submodule(node.target)).__name__
    if node.op == "call_function":
        return node.target.__name__
    return str(node.target)


def changed_nodes(model):
    before = fx.symbolic_trace(model)
    after = quantised(before)
    rows = {}
    for old, new in zip(before.graph.nodes, after.graph.nodes):
        name = called(before, old)
        row = rows.setdefault(name, {"total": 0, "changed": 0, "unchanged": 0})
        row["total"] += 1
        row["unchanged" if called(after, new) == name else "changed"] += 1
    return rows


def operations_by_layer(model, input_size):
    found = Counter()

    def keep(name):
        def hook(module, inputs, output):
            if isinstance(module, nn.Linear):
                found[name] += output.numel() * module.in_features
            elif isinstance(module, nn.Conv2d):
                height, width = module.kernel_size
                found[name] += output.numel() * module.in_channels // module.groups * height * width
            elif isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
                found[name] += 4 * inputs[0].numel()
            elif isinstance(module, nn.ReLU):
                found[name] += output.numel()

        return hook

    for name, module in model.named_modules():
        module.register_forward_hook(keep(name))
    with torch.no_grad():
        model(torch.zeros(input_size))
    return dict(found)
