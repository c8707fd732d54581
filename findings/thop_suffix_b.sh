#!/usr/bin/env bash
# thop writes B behind counts of one thousand and less, where ptflops writes B for a billion.
#
# One would expect: 858 is printed as 858, and B, where it stands, means a billion, as K, M and G mean a thousand, a
# million and a thousand million.
#
# What happens: thop's clever_format puts B behind every count that is not above one thousand, so `858.000B` is 858 and
# not 858,000,000,000. ptflops prints seven thousand million parameters as `7.0 B`. Also, thop compares with "above":
# exactly one thousand is `1000.000B`, exactly one million `1000.000K`.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6
"$folder/venv/bin/pip" install --quiet --no-deps thop==0.1.1.post2209072238 ptflops==0.7.5
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

import torch
from ptflops.utils import params_to_string
from thop import clever_format, profile
from torch import nn

print(*(f"{name} {version(name)}" for name in ("torch", "thop", "ptflops")), sep=", ")
# 4 * 3 * 9 weights and 4 biases; at each of six times six places 4 * 3 * 9 products
network = nn.Sequential(nn.Conv2d(3, 4, 3))
macs, parameters = profile(network, inputs=(torch.ones(1, 3, 8, 8),), verbose=False)
assert (macs, parameters) == (36 * 108, 112)
print("Conv2d(3, 4, 3) on 8x8:", clever_format([macs, parameters], "%.3f"), "products and parameters")
assert clever_format([macs, parameters], "%.3f") == ("3.888K", "112.000B")

for count, text in ((0, "0.000B"), (858, "858.000B"), (1000, "1000.000B"), (1001, "1.001K"), (10**6, "1000.000K")):
    print(f"thop, {count:,}:", clever_format([count], "%.3f"))
    assert clever_format([count], "%.3f") == text
print("thop, 7,000,000,000:", clever_format([7 * 10**9], "%.3f"))
assert clever_format([7 * 10**9], "%.3f") == "7.000G"
print("ptflops, 7,000,000,000, in B:", params_to_string(7 * 10**9, units="B"))
assert params_to_string(7 * 10**9, units="B") == "7.0 B"
print("the behaviour is as described")
PYTHON

# Output seen (CPU, Python 3.11.7):
#
#   torch 2.13.0+cpu, thop 0.1.1-2209072238, ptflops 0.7.5
#   Conv2d(3, 4, 3) on 8x8: ('3.888K', '112.000B') products and parameters
#   thop, 0: 0.000B
#   thop, 858: 858.000B
#   thop, 1,000: 1000.000B
#   thop, 1,001: 1.001K
#   thop, 1,000,000: 1000.000K
#   thop, 7,000,000,000: 7.000G
#   ptflops, 7,000,000,000, in B: 7.0 B
#   the behaviour is as described
