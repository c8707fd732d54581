"""Wrong functions, each with the smallest network on which it is wrong; and right ones, against which none is."""

import math
import re

import pytest
import torch
from helpers.direct import search, trials
from helpers.soak import sampled

from labgrade.diagnosis.as_code import expression
from labgrade.reports.summary import full_reason
from labgrade.verdict import Outcome

pytestmark = pytest.mark.slow

torch.set_num_threads(1)  # the networks are tiny
HEAD = '''
import math
import torch
from torch import nn


def right(m, i, o):
    if isinstance(m, nn.Linear):
        return o.numel() * m.in_features
    return o.numel() * m.in_channels // m.groups * math.prod(m.kernel_size)


def by_hand(m, i, padding=None, dilation=None, stride=None):
    """The MACs of a convolution with sizes by the formula."""
    sizes = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, p, d, k, s in zip(
            i.shape[2:], padding or padded(m), dilation or m.dilation, m.kernel_size, stride or m.stride
        )
    ]
    return i.shape[0] * m.out_channels * math.prod(sizes) * m.in_channels // m.groups * math.prod(m.kernel_size)


def padded(m):
    return tuple(d * (k - 1) // 2 for d, k in zip(m.dilation, m.kernel_size)) if m.padding == "same" else m.padding


def count(model, input_size, cost=right, kinds=(nn.Conv2d, nn.Linear), modules="modules"):
    total = []
    for m in getattr(model, modules)():
        if isinstance(m, kinds):
            m.register_forward_hook(lambda m, i, o: total.append(cost(m, i[0], o)))
    with torch.no_grad():
        model(torch.zeros(input_size))
    return sum(total)


def total_macs(model, input_size):
'''


def linear_else(conv):
    return f"return count(model, input_size, lambda m, i, o: right(m, i, o) if isinstance(m, nn.Linear) else {conv})"


def one(layer, *shape):
    """One layer, on inputs of one of these shapes."""
    return lambda steps, size: steps == [layer] and size in shape


def two(before, shape=None):
    """What it takes, and then one counted layer of the smallest kind."""
    return lambda steps, size: (
        (len(steps) == 2 and steps[0] == before and steps[1].startswith(("nn.Conv2d(1, 1, 1", "nn.Linear(1, 1")))
        and (shape is None or size == shape)
    )


def of_batch_two(steps, size):
    return len(steps) == 1 and size[0] == math.prod(size) == 2


WRONG = {
    "ignores groups": (
        "return count(model, input_size, lambda m, i, o: right(m, i, o) * getattr(m, 'groups', 1))",
        one("nn.Conv2d(2, 2, 1, groups=2, bias=False)", (1, 2, 1, 1)),
    ),
    "knows depthwise groups only": (
        linear_else("right(m, i, o) * (1 if m.groups == m.in_channels else m.groups)"),
        lambda steps, size: len(steps) == 1 and "groups=2" in steps[0] and size == (1, 4, 1, 1),
    ),
    "takes kernels for square": (
        linear_else("right(m, i, o) // m.kernel_size[1] * m.kernel_size[0]"),
        one("nn.Conv2d(1, 1, (1, 2), bias=False)", (1, 1, 1, 2)),
    ),
    "takes images for square": (
        linear_else("right(m, i, o) // o.shape[3] * o.shape[2]"),
        one("nn.Conv2d(1, 1, 1, bias=False)", (1, 1, 1, 2), (1, 1, 2, 1)),
    ),
    "ignores dilation": (
        linear_else("by_hand(m, i, dilation=(1, 1), padding=(0, 0) if m.padding == 'same' else None)"
                    " if m.padding != 'same' else right(m, i, o)"),
        lambda steps, size: len(steps) == 1 and "dilation=" in steps[0] and math.prod(size) == 3,
    ),
    "ignores strides": (
        linear_else("by_hand(m, i, stride=(1, 1))"),
        lambda steps, size: len(steps) == 1 and "stride=" in steps[0] and math.prod(size) == 2,
    ),
    "takes the first padding for both": (
        linear_else("by_hand(m, i, padding=(padded(m)[0],) * 2)"),
        lambda steps, size: len(steps) == 1 and "padding=" in steps[0] and math.prod(size) <= 2,
    ),
    "takes padding='same' for none": (
        linear_else("by_hand(m, i, padding=(0, 0)) if m.padding == 'same' else right(m, i, o)"),
        lambda steps, size: len(steps) == 1 and 'padding="same"' in steps[0] and math.prod(size) <= 3,
    ),
    "fails for padding='same'": (
        linear_else("by_hand(m, i, padding=tuple(2 * p // 2 for p in m.padding))"),
        one('nn.Conv2d(1, 1, 1, padding="same", bias=False)', (1, 1, 1, 1)),
    ),
    "ignores ceil_mode": (
        """for m in model.modules():
        if hasattr(m, "ceil_mode"):
            m.ceil_mode = False
        if isinstance(m, nn.Linear):
            m.forward = lambda x, m=m: x.new_zeros((*x.shape[:-1], m.out_features))
    return count(model, input_size)""",
        lambda steps, size: len(steps) == 2 and "ceil_mode=True" in steps[0] and max(size) <= 4,
    ),
    "counts a shared module once": (
        """macs = {}
    for m in model.modules():
        if isinstance(m, (nn.Conv2d, nn.Linear)):
            m.register_forward_hook(lambda m, i, o: macs.__setitem__(m, right(m, i[0], o)))
    model(torch.zeros(input_size))
    return sum(macs.values())""",
        lambda steps, size: two("Twice(nn.Conv2d(1, 1, 1, bias=False))")(steps, size)
        or two("Twice(nn.Linear(1, 1, bias=False))")(steps, size),
    ),
    "sees the top level only": (
        "return count(model, input_size, modules='children')",
        lambda steps, size: len(steps) == 2 and steps[0].startswith(("Twice", "Add", "Cat")) and math.prod(size) == 1,
    ),
    "linear of two dimensions": (
        """return count(model, input_size, lambda m, i, o: right(m, i, o) if isinstance(m, nn.Conv2d) else
        len(o) * m.in_features * m.out_features)""",
        lambda steps, size: steps == ["nn.Linear(1, 1, bias=False)"] and size[0] == 1 and math.prod(size) == 2,
    ),
    "leaves linear layers out": (
        "return count(model, input_size, kinds=nn.Conv2d)",
        one("nn.Linear(1, 1, bias=False)", (1, 1, 1, 1)),
    ),
    "leaves out the batch": (
        "return count(model, input_size, lambda m, i, o: right(m, i, o) // len(o))",
        of_batch_two,
    ),
    "counts the batch twice": (
        "return count(model, input_size, lambda m, i, o: right(m, i, o) * len(o))",
        of_batch_two,
    ),
    "counts biases twice": (
        "return count(model, input_size, lambda m, i, o: right(m, i, o) + 2 * o.numel() * (m.bias is not None))",
        lambda steps, size: steps in (["nn.Conv2d(1, 1, 1)"], ["nn.Linear(1, 1)"]) and math.prod(size) == 1,
    ),
    "counts batch norm": (
        "return count(model, input_size) + count(model, input_size, lambda m, i, o: o.numel(), nn.BatchNorm2d)",
        two("nn.BatchNorm2d(1)", (1, 1, 1, 1)),
    ),
    "counts additions of branches": (
        "return count(model, input_size) + sum(type(m).__name__ == 'Add' for m in model.modules())",
        lambda steps, size: len(steps) == 2 and steps[0].startswith("Add(") and math.prod(size) == 1,
    ),
}  # fmt: skip
RIGHT = {
    "right": "return count(model, input_size)",
    "with bias": "return count(model, input_size, lambda m, i, o: right(m, i, o) + o.numel() * (m.bias is not None))",
    "a float": "return float(count(model, input_size))",
    "a text": "return f'{count(model, input_size):,} MACs'",
}
COARSE = {  # of tiny networks these say the same, and nothing
    "a rounded text": "return f'{count(model, input_size) / 1e9:.3f} GMac'",
    "a constant": "return '0.000 GMac'",
}


@pytest.mark.parametrize("name", sampled(WRONG, 3))
def test_a_wrong_function_is_shown_the_smallest_network(name, tmp_path):
    body, fits = WRONG[name]
    verdict, smallest = search(trials(tmp_path, f"{HEAD}    {body}\n"))
    assert smallest is not None, verdict
    wrong = {Outcome.CRASHED} if name.startswith("fails") else {Outcome.INCORRECT, Outcome.PARTIAL}  # of known mistakes
    assert verdict.outcome in wrong
    steps = [expression(step) for step in smallest.options["program"]]
    assert fits(steps, smallest.input.shape), (steps, smallest.input.shape, verdict.reason)
    for step in steps:
        assert step in full_reason(verdict)


@pytest.mark.parametrize("name", RIGHT)
def test_no_network_is_raised_against_a_right_function(name, tmp_path):
    tries = 300 if name == "right" else 100
    verdict, smallest = search(trials(tmp_path, f"{HEAD}    {RIGHT[name]}\n"), tries=tries)
    assert smallest is None, verdict.reason
    assert verdict.outcome is Outcome.CORRECT
    assert int(re.match(r"right on (\d+) ", verdict.reason)[1]) >= tries * 2 // 3, verdict.reason


@pytest.mark.parametrize("name", COARSE)
def test_too_few_digits_are_neither_right_nor_wrong(name, tmp_path):
    verdict, smallest = search(trials(tmp_path, f"{HEAD}    {COARSE[name]}\n"), tries=30)
    assert smallest is None, verdict.reason
    assert verdict.outcome is Outcome.MANUAL
    assert re.fullmatch(r"on \d+ of \d+ random networks the value has too few digits to tell .*", verdict.reason)
    assert verdict.hint.startswith("return the whole number")
