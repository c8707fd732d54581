"""Lab 2-3: hooks, and operations layer by layer."""

import torch
from torch import nn


def _kept(model, x, types, what):
    found = {}
    hooks = []
    for name, module in model.named_modules():
        if isinstance(module, types):

            def hook(module, _, output, name=name):
                found[name] = what(module, output)

            hooks.append(module.register_forward_hook(hook))
    with torch.no_grad():
        model(x)
    for each in hooks:
        each.remove()
    return found


def linear_outputs(model, x):
    return _kept(model, x, nn.Linear, lambda _, output: output.detach().clone())


def _macs(module, output):
    each = module.in_features if isinstance(module, nn.Linear) else module.weight[0].numel()
    return output.numel() * each


def layer_operations(model, input_size):
    macs = _kept(model, torch.zeros(input_size), (nn.Conv2d, nn.Linear), _macs)
    return {name: {"macs": count, "flops": 2 * count} for name, count in macs.items()}


def total_macs(model, input_size):
    return sum(row["macs"] for row in layer_operations(model, input_size).values())
