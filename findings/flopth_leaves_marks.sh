#!/usr/bin/env bash
# flopth changes the network it counts and the layer classes of torch, and undoes neither.
#
# One would expect: after counting, the network is the same, and so are torch.nn's classes.
#
# What happens: one count
# - adds a buffer called `flops` to each layer of the network that it gets, so a saved state has keys that a new
#   network of the same kind refuses;
# - sets a `__call__` of its own on the classes of these layers (nn.Linear, nn.ReLU). From then on it runs for every
#   such layer of the process, and torch.fx, which traces with placeholders instead of tensors, can no longer trace a
#   network that holds one.
# flopth imports torchvision, which only its command line uses; an empty module in its place saves the installation.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6 tabulate==0.10.0
"$folder/venv/bin/pip" install --quiet --no-deps flopth==0.1.6
"$folder/venv/bin/python" - <<'PYTHON'
import sys
import types
from importlib.metadata import version

import torch
import torch.fx
from torch import nn

empty = types.ModuleType("torchvision")
empty.models = types.ModuleType("torchvision.models")
sys.modules.update({"torchvision": empty, "torchvision.models": empty.models})
from flopth import flopth  # noqa: E402

print(*(f"{name} {version(name)}" for name in ("torch", "flopth")), sep=", ")


def network():
    return nn.Sequential(nn.Linear(4, 3), nn.ReLU())


def traced():
    """What torch.fx makes of a new network that flopth never got."""
    try:
        return [node.op for node in torch.fx.symbolic_trace(network()).graph.nodes]
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {str(error).partition('.')[0]}"


def own_calls():
    return [kind.__name__ for kind in (nn.Linear, nn.ReLU, nn.Tanh) if "__call__" in vars(kind)]


def state(net):
    return sorted(net.state_dict())


counted = network()
print("before:", state(counted), "classes with a __call__ of their own:", own_calls(), "torch.fx:", traced())
assert state(counted) == ["0.bias", "0.weight"]
assert own_calls() == []
assert traced() == ["placeholder", "call_module", "call_module", "output"]

flopth(counted, in_size=((4,),))
print("after: ", state(counted), "classes with a __call__ of their own:", own_calls(), "torch.fx:", traced())
assert state(counted) == ["0.bias", "0.flops", "0.weight", "1.flops"]
assert own_calls() == ["Linear", "ReLU"]
assert traced() == "TraceError: Proxy object cannot be iterated"

try:
    network().load_state_dict(counted.state_dict())
except RuntimeError as error:
    print("load_state_dict of a new network:", str(error).split("\n\t")[1])
    assert 'Unexpected key(s) in state_dict: "0.flops", "1.flops"' in str(error)
else:
    sys.exit("the saved state was taken: the behaviour has changed")

other = nn.Linear(4, 3)
other(torch.ones(1, 4))
print("a layer made afterwards, after one plain call, has the attribute flops:", hasattr(other, "flops"))
assert hasattr(other, "flops")
print("the behaviour is as described")
PYTHON

# Output seen (CPU, Python 3.11.7):
#
#   torch 2.13.0+cpu, flopth 0.1.6
#   before: ['0.bias', '0.weight'] classes with a __call__ of their own: [] torch.fx: ['placeholder', 'call_module', 'call_module', 'output']
#   after:  ['0.bias', '0.flops', '0.weight', '1.flops'] classes with a __call__ of their own: ['Linear', 'ReLU'] torch.fx: TraceError: Proxy object cannot be iterated
#   load_state_dict of a new network: Unexpected key(s) in state_dict: "0.flops", "1.flops".
#   a layer made afterwards, after one plain call, has the attribute flops: True
#   the behaviour is as described
