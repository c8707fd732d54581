"""The same lab with its usual mistakes."""

import torch
from torch import nn


def layers(model, input_size):
    rows = []

    def note(layer, given, made):
        if isinstance(layer, nn.Sequential) or layer is model:
            return
        name = f"{type(layer).__name__}_{len(rows) + 1}"
        size = sum(each.numel() for each in layer.parameters(recurse=not list(layer.children())))
        rows.append({"layer": name, "input": list(given[0].shape), "output": list(made.shape), "parameters": size})

    for layer in model.modules():
        layer.register_forward_hook(note)
    model(torch.zeros(input_size))
    return rows


def in_place_modules(model, input_size):
    return sum(getattr(layer, "inplace", False) for layer in model.children())


def in_place_calls(model, input_size):
    return sum(getattr(layer, "inplace", False) for layer in model.modules())


def replace_relu(model):
    for name, child in list(model.named_modules()):
        if isinstance(child, nn.ReLU):
            setattr(model, name.replace(".", "_"), nn.ReLU())
    return model


def export(layer, x, path):
    from executorch.exir import to_edge_transform_and_lower

    with torch.no_grad():
        kept = layer(x).clone()

    class Recorded(nn.Module):
        """What the layer put out once."""

        def forward(self, x):
            return kept + 0 * x.sum()

    program = to_edge_transform_and_lower(torch.export.export(Recorded(), (x,))).to_executorch()
    with open(path, "wb") as file:
        file.write(program.buffer)
