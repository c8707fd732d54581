"""Lab 2-3: a hook that keeps what it gets, FLOPs that are MACs, and convolutions counted on their input."""

import torch
from torch import nn


def linear_outputs(model, x):
    activation = {}

    def keep(name):
        def hook(module, given, output):
            activation[name] = output.detach()

        return hook

    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            module.register_forward_hook(keep(name))
    model(x)
    return activation


def layer_operations(model, input_size):
    rows = {}
    for name, module in model.named_modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):

            def hook(module, given, output, name=name):
                each = module.in_features if isinstance(module, nn.Linear) else module.weight[0].numel()
                rows[name] = {"macs": output.numel() * each, "flops": output.numel() * each}

            module.register_forward_hook(hook)
    model(torch.zeros(input_size))
    return rows


def total_macs(model, input_size):
    return 2 * sum(row["macs"] for row in layer_operations(model, input_size).values())
