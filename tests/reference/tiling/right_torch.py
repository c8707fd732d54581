"""Right tilings as PyTorch's two exporters write them, of modules that students write."""

from __future__ import annotations

import itertools
import logging
import warnings

import numpy as np
import onnx
from onnx import numpy_helper

T = 64
EXPORTERS = ("script", "dynamo")


def network(sizes=(150, 90, 11)):
    """A multilayer perceptron and its export, which is the original."""
    import torch

    torch.manual_seed(7)
    layers = []
    for depth, columns in itertools.pairwise(sizes):
        layers += [torch.nn.Linear(depth, columns), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1]).eval()


def exported(module, batch, depth, exporter, opset=18):
    """The module as an ONNX model, by one of the two exporters."""
    import io

    import torch

    data = torch.randn(batch, depth)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if exporter == "script":
            held = io.BytesIO()
            torch.onnx.export(module, (data,), held, opset_version=opset, dynamo=False)
            return onnx.load_model_from_string(held.getvalue())
        program = torch.onnx.export(module, (data,), dynamo=True, opset_version=opset, verbose=False)
        return program.model_proto


def blocks(length):
    return [(at, min(at + T, length)) for at in range(0, length, T)]


def products(x, layer):
    """For each block of columns the products of its tiles."""
    weight = layer.weight
    for n0, n1 in blocks(weight.shape[0]):
        yield n0, n1, [x[:, k0:k1] @ weight[n0:n1, k0:k1].T for k0, k1 in blocks(weight.shape[1])]


def cat(x, layer):
    import torch

    return torch.cat([sum(each) for _, _, each in products(x, layer)], dim=1) + layer.bias


def in_place(x, layer):
    import torch

    y = torch.zeros(x.shape[0], layer.out_features)
    for n0, n1, each in products(x, layer):
        for product in each:
            y[:, n0:n1] += product
    return y + layer.bias


def written(x, layer):
    import torch

    y = torch.empty(x.shape[0], layer.out_features)
    for n0, n1, each in products(x, layer):
        y[:, n0:n1] = sum(each) + layer.bias[n0:n1]
    return y


def new_zeros(x, layer):
    y = x.new_zeros(x.size(0), layer.out_features)
    for n0, n1, each in products(x, layer):
        y[:, n0:n1] += sum(each)
    return y + layer.bias[None, :]


def from_the_bias(x, layer):
    y = layer.bias.expand(x.shape[0], -1).clone()
    for n0, n1, each in products(x, layer):
        y[:, n0:n1] = y[:, n0:n1] + sum(each)
    return y


def padded(x, layer):
    import torch
    from torch.nn import functional

    columns, depth = layer.weight.shape
    wide, deep = -columns % T, -depth % T
    weight = functional.pad(layer.weight, (0, deep, 0, wide))
    data = functional.pad(x, (0, deep))
    out = []
    for n0, n1 in blocks(columns + wide):
        out.append(sum(data[:, k0:k1] @ weight[n0:n1, k0:k1].t() for k0, k1 in blocks(depth + deep)))
    return torch.cat(out, dim=1)[:, :columns] + layer.bias


def addmm(x, layer):
    import torch

    out = []
    for n0, n1 in blocks(layer.out_features):
        held = layer.bias[n0:n1].expand(x.shape[0], n1 - n0)
        for k0, k1 in blocks(layer.in_features):
            held = torch.addmm(held, x[:, k0:k1], layer.weight[n0:n1, k0:k1].t())
        out.append(held)
    return torch.cat(out, 1)


def linear_blocks(x, layer):
    import torch
    from torch.nn import functional

    out = []
    for n0, n1 in blocks(layer.out_features):
        parts = [
            functional.linear(x[:, k0:k1], layer.weight[n0:n1, k0:k1], layer.bias[n0:n1] if not k0 else None)
            for k0, k1 in blocks(layer.in_features)
        ]
        out.append(sum(parts[1:], parts[0]))
    return torch.cat(out, -1)


def split_and_stack(x, layer):
    import torch

    xs = torch.split(x, T, dim=1)
    out = []
    for n0, n1 in blocks(layer.out_features):
        ws = torch.split(layer.weight[n0:n1], T, dim=1)
        out.append(torch.stack([torch.matmul(a, b.t()) for a, b in zip(xs, ws, strict=True)]).sum(0))
    return torch.cat(out, 1) + layer.bias


def einsum(x, layer):
    import torch

    out = []
    for n0, n1 in blocks(layer.out_features):
        parts = [torch.einsum("bk,nk->bn", x[:, a:b], layer.weight[n0:n1, a:b]) for a, b in blocks(layer.in_features)]
        out.append(torch.stack(parts).sum(dim=0))
    return torch.cat(out, 1) + layer.bias


def transposed(x, layer):
    import torch

    weight = layer.weight.t().contiguous()
    out = []
    for n0, n1 in blocks(layer.out_features):
        total = torch.zeros(x.shape[0], n1 - n0)
        for k0, k1 in blocks(layer.in_features):
            total = total + torch.mm(x.narrow(1, k0, k1 - k0), weight.narrow(0, k0, k1 - k0).narrow(1, n0, n1 - n0))
        out.append(total)
    return torch.hstack(out) + layer.bias.unsqueeze(0)


def index_select(x, layer):
    import torch

    out = []
    for n0, n1 in blocks(layer.out_features):
        total = 0
        for k0, k1 in blocks(layer.in_features):
            columns = torch.index_select(x, 1, torch.arange(k0, k1))
            total = total + columns.matmul(layer.weight[n0:n1, k0:k1].transpose(0, 1))
        out.append(total)
    return torch.concat(out, dim=1).add(layer.bias)


def relu_of_blocks(x, layer):
    import torch

    out = []
    for n0, n1, each in products(x, layer):
        out.append(torch.relu(sum(each) + layer.bias[n0:n1]))
    return torch.cat(out, 1)


STYLES = {
    f.__name__: f
    for f in (cat, in_place, written, new_zeros, from_the_bias, padded, addmm, linear_blocks, split_and_stack, einsum,
              transposed, index_select)
}  # fmt: skip
ACTIVATIONS = ("relu", "clamp", "maximum", "in blocks")


def tiled_module(module, style, activation="relu"):
    """The module with every Linear written in this style."""
    import torch

    class Tiled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = module

        def forward(self, x):
            layers = list(self.net)
            for place, layer in enumerate(layers):
                before_relu = place + 1 < len(layers)
                if isinstance(layer, torch.nn.Linear) and activation == "in blocks" and before_relu:
                    x = relu_of_blocks(x, layer)
                elif isinstance(layer, torch.nn.Linear):
                    x = STYLES[style](x, layer)
                elif activation == "relu":
                    x = layer(x)
                elif activation == "clamp":
                    x = torch.clamp(x, min=0)
                elif activation == "maximum":
                    x = torch.maximum(x, torch.zeros(1))
            return x

    return Tiled().eval()


def cases(styles=tuple(STYLES), activations=("relu",), exporters=EXPORTERS, sizes=(150, 90, 11), batch=3):
    """(name, submitted, original) of each style, activation and exporter."""
    module = network(sizes)
    original = exported(module, batch, sizes[0], "script")
    for style in styles:
        for activation in activations:
            for exporter in exporters:
                submitted = exported(tiled_module(module, style, activation), batch, sizes[0], exporter)
                yield f"torch {style} {activation} {exporter}", submitted, original


def weights_of(model):
    """The weights of a model, by name."""
    return {w.name: numpy_helper.to_array(w).astype(np.float64) for w in model.graph.initializer}
