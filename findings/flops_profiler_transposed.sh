#!/usr/bin/env bash
# flops-profiler fails on every transposed convolution, and torch itself then fails on them until the process ends.
#
# One would expect: a counter with a formula for transposed convolutions counts them. If counting fails, the counter
# takes its wrappers off again, so that the network still runs.
#
# What happens: the formula uses a misspelt name, so it raises NameError, in one, two and three dimensions, with and
# without groups. The wrappers are taken off only after a run that succeeds, so torch.nn.functional keeps them: other
# layers still work, but each transposed convolution of the process fails in plain torch, far from the counter.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6
"$folder/venv/bin/pip" install --quiet --no-deps flops-profiler==0.1.2
cat > "$folder/case.py" <<'PYTHON'
import sys

import torch
import torch.nn.functional as F
from flops_profiler.profiler import get_model_profile
from torch import nn

WATCHED = ("linear", "relu", "conv2d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
before = {name: getattr(F, name) for name in WATCHED}


def replaced():
    return [name for name in WATCHED if getattr(F, name) is not before[name]]


def profile(network, shape):
    return get_model_profile(network, shape, print_profile=False, as_string=False)


dimensions, groups = map(int, sys.argv[1:])
shape = (1, 4, *[6] * dimensions)
network = getattr(nn, f"ConvTranspose{dimensions}d")(4, 8, 3, groups=groups)
right = network(torch.ones(shape)).shape

macs = profile(nn.Sequential(nn.Conv2d(4, 8, 3)), (1, 4, 6, 6))[1]
assert macs == 16 * 8 * 4 * 9, "a plain convolution is counted"
assert replaced() == [], "and leaves torch as it was"

try:
    profile(nn.Sequential(network), shape)
except NameError as error:
    first = str(error)
else:
    sys.exit("the transposed convolution was counted: the behaviour has changed")
assert replaced() == list(WATCHED), "every function is still wrapped"
assert F.relu(torch.tensor([-1.0, 2.0])).tolist() == [0, 2], "the others still work"
try:
    network(torch.ones(shape))
except NameError as error:
    second = str(error)
else:
    sys.exit("the layer still runs in plain torch: the behaviour has changed")
assert first == second == "name 'grofups' is not defined"
print(f"{network}: before, output {tuple(right)}; profiled, NameError: {first}; after, plain call, NameError: {second}")
print(f"  still wrapped: {', '.join(replaced())}")
PYTHON
"$folder/venv/bin/python" -c "
from importlib.metadata import version
print(*(f'{name} {version(name)}' for name in ('torch', 'flops-profiler')), sep=', ')"
for dimensions in 1 2 3; do
  for groups in 1 2; do
    "$folder/venv/bin/python" "$folder/case.py" "$dimensions" "$groups"   # a process for each: the wrappers stay
  done
done
echo "the behaviour is as described"

# Output seen (CPU, Python 3.11.7):
#
#   torch 2.13.0+cpu, flops-profiler 0.1.2
#   ConvTranspose1d(4, 8, kernel_size=(3,), stride=(1,)): before, output (1, 8, 8); profiled, NameError: name 'grofups' is not defined; after, plain call, NameError: name 'grofups' is not defined
#     still wrapped: linear, relu, conv2d, conv_transpose1d, conv_transpose2d, conv_transpose3d
#   ConvTranspose1d(4, 8, kernel_size=(3,), stride=(1,), groups=2): before, output (1, 8, 8); profiled, NameError: name 'grofups' is not defined; after, plain call, NameError: name 'grofups' is not defined
#     still wrapped: linear, relu, conv2d, conv_transpose1d, conv_transpose2d, conv_transpose3d
#   ConvTranspose2d(4, 8, kernel_size=(3, 3), stride=(1, 1)): before, output (1, 8, 8, 8); profiled, NameError: name 'grofups' is not defined; after, plain call, NameError: name 'grofups' is not defined
#     still wrapped: linear, relu, conv2d, conv_transpose1d, conv_transpose2d, conv_transpose3d
#   ConvTranspose2d(4, 8, kernel_size=(3, 3), stride=(1, 1), groups=2): before, output (1, 8, 8, 8); profiled, NameError: name 'grofups' is not defined; after, plain call, NameError: name 'grofups' is not defined
#     still wrapped: linear, relu, conv2d, conv_transpose1d, conv_transpose2d, conv_transpose3d
#   ConvTranspose3d(4, 8, kernel_size=(3, 3, 3), stride=(1, 1, 1)): before, output (1, 8, 8, 8, 8); profiled, NameError: name 'grofups' is not defined; after, plain call, NameError: name 'grofups' is not defined
#     still wrapped: linear, relu, conv2d, conv_transpose1d, conv_transpose2d, conv_transpose3d
#   ConvTranspose3d(4, 8, kernel_size=(3, 3, 3), stride=(1, 1, 1), groups=2): before, output (1, 8, 8, 8, 8); profiled, NameError: name 'grofups' is not defined; after, plain call, NameError: name 'grofups' is not defined
#     still wrapped: linear, relu, conv2d, conv_transpose1d, conv_transpose2d, conv_transpose3d
#   the behaviour is as described
