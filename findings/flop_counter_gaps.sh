#!/usr/bin/env bash
# torch's FlopCounterMode counts nothing for mv, dot and the fused attention kernels of the CPU, and does not say so.
#
# One would expect: the same product counts the same however it is written, and a layer counts the same with and
# without gradients. Where the counter has no formula for an operator, it says that something is left out.
#
# What happens: the counter has formulas for mm, addmm, bmm, baddbmm, convolutions and some attention kernels. A
# matrix times a vector (aten.mv), an inner product (aten.dot, aten.vdot) and two fused kernels
# (aten._native_multi_head_attention, aten._scaled_dot_product_flash_attention_for_cpu) count nothing, without a word:
# - a Linear under spectral_norm runs 132 products on three rows; 96 are counted;
# - nn.MultiheadAttention in eval mode counts fully with gradients, without its two attention products when no weights
#   are asked for, and nothing at all under no_grad.
# The counter prints operations: two for each product with its addition.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import math
from importlib.metadata import version

import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

print(f"torch {version('torch')}")
torch.manual_seed(0)


class Products(TorchDispatchMode):
    """Counts the multiplications of plain matrix products by their sizes, and keeps the operators' names."""

    def __init__(self):
        super().__init__()
        self.products, self.names = 0, set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        self.names.add(name)
        factors = {"mm": 0, "mv": 0, "dot": 0, "vdot": 0, "addmm": 1}
        if name in factors:
            left, right = args[factors[name] :][:2]
            self.products += math.prod(left.shape) * (right.shape[1] if right.dim() == 2 else 1)
        return func(*args, **(kwargs or {}))


def counted(run):
    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops()


def products(run):
    with Products() as watch:
        run()
    return watch


matrix, vector = torch.randn(4, 8), torch.randn(8)
for text, run, right, expected in (
    ("matrix @ vector", lambda: matrix @ vector, 64, 0),
    ("matrix @ vector[:, None]", lambda: matrix @ vector[:, None], 64, 64),
    ("vector @ vector", lambda: vector @ vector, 16, 0),
    ("torch.vdot(vector, vector)", lambda: torch.vdot(vector, vector), 16, 0),
    ("vector[None] @ vector[:, None]", lambda: vector[None] @ vector[:, None], 16, 16),
):
    print(f"{text}: {counted(run)} of {right} operations counted")
    assert counted(run) == expected
    assert 2 * products(run).products == right

layer, rows = spectral_norm(nn.Linear(8, 4)).eval(), torch.randn(3, 8)
watch = products(lambda: layer(rows))
print(f"spectral_norm(Linear(8, 4)) on 3 rows: {counted(lambda: layer(rows)) // 2} of {watch.products} products counted")
assert counted(lambda: layer(rows)) == 2 * 96
assert watch.products == 96 + 32 + 4  # the layer, one matrix times a vector, one inner product
assert {"addmm", "mv", "vdot"} <= watch.names

attention, x = nn.MultiheadAttention(16, 4, batch_first=True).eval(), torch.randn(2, 5, 16)
PROJECTIONS, INNER = 2 * 10 * 16 * (48 + 16), 2 * 2 * (4 * 2 * 5 * 5 * 4)
for text, gradients, weights, expected in (
    ("with gradients", True, True, PROJECTIONS + INNER),
    ("with gradients, need_weights=False", True, False, PROJECTIONS),
    ("under no_grad", False, True, 0),
    ("under no_grad, need_weights=False", False, False, 0),
):
    with torch.set_grad_enabled(gradients):
        seen = counted(lambda: attention(x, x, x, need_weights=weights))
        names = products(lambda: attention(x, x, x, need_weights=weights)).names
    fused = sorted(name for name in names if "attention" in name)
    print(f"MultiheadAttention(16, 4) {text}: {seen} of {PROJECTIONS + INNER} operations counted, fused {fused}")
    assert seen == expected
print("the behaviour is as described")
PYTHON

# Output seen (CPU, Python 3.11.7):
#
#   torch 2.13.0+cpu
#   matrix @ vector: 0 of 64 operations counted
#   matrix @ vector[:, None]: 64 of 64 operations counted
#   vector @ vector: 0 of 16 operations counted
#   torch.vdot(vector, vector): 0 of 16 operations counted
#   vector[None] @ vector[:, None]: 16 of 16 operations counted
#   spectral_norm(Linear(8, 4)) on 3 rows: 96 of 132 products counted
#   MultiheadAttention(16, 4) with gradients: 23680 of 23680 operations counted, fused []
#   MultiheadAttention(16, 4) with gradients, need_weights=False: 20480 of 23680 operations counted, fused ['_scaled_dot_product_flash_attention_for_cpu']
#   MultiheadAttention(16, 4) under no_grad: 0 of 23680 operations counted, fused ['_native_multi_head_attention']
#   MultiheadAttention(16, 4) under no_grad, need_weights=False: 0 of 23680 operations counted, fused ['_native_multi_head_attention']
#   the behaviour is as described
