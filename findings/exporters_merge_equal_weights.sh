#!/usr/bin/env bash
# A network that is not trained has fewer parameters in its ONNX file than in PyTorch: equal tensors are merged.
#
# One would expect: the initializers of an exported network hold as many values as its parameters, where nothing is
# shared and no batch norm is folded.
#
# What happens: torch.onnx.export keeps tensors with the same shape and values once, also where nothing shares them. New
# layer norms all have ones and zeros, so their scales become one tensor and their biases another, which zeros in the
# biases of linear layers join. A count in the file is too small, and right after training. Both exporters do it; with
# optimize=False the newer one does not. The other way round, a weight that an embedding and a linear layer share lies
# in the file twice, the second time transposed (once with optimize=False).
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6 onnx==1.23.2 onnxscript==0.7.2
"$folder/venv/bin/python" -W ignore - "$folder" <<'PYTHON'
import math
import sys
from importlib.metadata import version

import onnx
import torch
from torch import nn

print(*(f"{name} {version(name)}" for name in ("torch", "onnx", "onnxscript")), sep=", ")
path = f"{sys.argv[1]}/network.onnx"


def block():
    return nn.Sequential(nn.Linear(30, 30), nn.LayerNorm(30), nn.Linear(30, 30), nn.LayerNorm(30)).eval()


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(20, 6), nn.Linear(6, 20, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, words):
        return self.out(self.embed(words))


def in_file(network, given, **options):
    program = torch.onnx.export(network, (given,), None if options["dynamo"] else path, verbose=False, **options)
    if options["dynamo"]:
        program.save(path)
    return sum(math.prod(each.dims) for each in onnx.load(path).graph.initializer)


def seen(what, network, given, expected):
    of_torch = sum(each.numel() for each in network.parameters())
    found = [in_file(network, given, dynamo=False)]
    found += [in_file(network, given, dynamo=True, optimize=optimize) for optimize in (True, False)]
    ways = zip(found, ("dynamo=False", "dynamo=True", "optimize=False"), strict=True)
    print(f"{what}: {of_torch} parameters; in the file", *(f"{count} ({way})" for count, way in ways))
    assert [of_torch, *found] == expected


torch.manual_seed(0)
seen("two linear layers, two layer norms, new", block(), torch.ones(2, 30), [1980, 1920, 1920, 1980])
trained = block()
with torch.no_grad():
    for each in trained.parameters():
        each += 0.01 * torch.randn_like(each)
seen("the same, every value changed", trained, torch.ones(2, 30), [1980, 1980, 1980, 1980])
seen("an embedding and a linear layer of one weight", Tied().eval(), torch.zeros(2, 3, dtype=torch.long), [120, 240, 240, 120])
print("the behaviour is as described")
PYTHON

# Output seen (CPU, Python 3.11.7; PyTorch's warnings that torchvision is not installed left out):
#
#   torch 2.13.0+cpu, onnx 1.23.2, onnxscript 0.7.2
#   two linear layers, two layer norms, new: 1980 parameters; in the file 1920 (dynamo=False) 1920 (dynamo=True) 1980 (optimize=False)
#   the same, every value changed: 1980 parameters; in the file 1980 (dynamo=False) 1980 (dynamo=True) 1980 (optimize=False)
#   an embedding and a linear layer of one weight: 120 parameters; in the file 240 (dynamo=False) 240 (dynamo=True) 120 (optimize=False)
#   the behaviour is as described
