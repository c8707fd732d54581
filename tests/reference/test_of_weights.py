"""Products that make weights of weights: both numbers are right, with them and without."""

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize, spectral_norm
from torch.utils.flop_counter import FlopCounterMode

from reference import tool_slips
from reference.macs import flops, macs, macs_by_layer, macs_by_type
from tests.reference.subjects import Forward, Given


def low_rank(run):
    own = {
        "w": nn.Parameter(torch.ones(8, 6)),
        "a": nn.Parameter(torch.ones(8, 2)),
        "b": nn.Parameter(torch.ones(2, 6)),
    }
    return Forward(lambda m, x: run(x, m.w + m.a @ m.b), **own)


class Made(nn.Module):
    """A weight that a linear layer makes of another."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, weight):
        return self.linear(weight)


IMAGE, ROWS = (2, 3, 8, 8), (4, 6)
MAKE = {
    "spectral norm": (lambda: parametrizations.spectral_norm(nn.Conv2d(3, 5, 3)), IMAGE, 9720, 140),
    "spectral norm by a hook": (lambda: spectral_norm(nn.Conv2d(3, 5, 3)), IMAGE, 9720, 140),
    "a low rank on the right": (lambda: low_rank(nn.functional.linear), ROWS, 192, 96),
    "a low rank on the left": (lambda: low_rank(lambda x, w: w @ x.T), ROWS, 192, 96),
    "a layer of a parametrization": (
        lambda: parametrize.register_parametrization(nn.Linear(6, 4), "weight", Made()),
        ROWS,
        96,
        144,
    ),
}


@pytest.mark.parametrize("name", MAKE)
def test_what_makes_a_weight_may_count_or_not(name):
    build, shape, own, more = MAKE[name]
    subject = Given(build, shape)
    assert (macs(subject), macs(subject, of_weights=False)) == (own + more, own)
    assert (flops(subject), flops(subject, of_weights=False)) == (2 * (own + more), 2 * own)
    for way, total in ((True, own + more), (False, own)):
        assert sum(row["macs"] for row in macs_by_layer(subject, of_weights=way)) == total
        assert sum(macs_by_type(subject, of_weights=way).values()) == total


def test_flop_counter_counts_no_spectral_norm():
    build, shape, own, _ = MAKE["spectral norm"]
    with FlopCounterMode(display=False) as counter:
        build().eval()(torch.zeros(shape))
    assert counter.get_total_flops() == flops(Given(build, shape), of_weights=False) == 2 * own


def test_a_layer_that_works_on_a_table_of_positions_is_work_like_any_other():
    def build():
        made = Forward(lambda m, x: m.q(x) @ m.k(m.table).T, q=nn.Linear(6, 6), k=nn.Linear(2, 6))
        made.register_buffer("table", torch.ones(7, 2))
        return made

    subject = Given(build, ROWS)
    assert macs(subject) == macs(subject, of_weights=False) == 4 * 36 + 7 * 12 + 4 * 6 * 7


def test_what_the_input_is_written_into_is_no_weight():
    def build():
        made = Forward(lambda m, x: x @ (m.seen.copy_(x.T) @ m.own), own=nn.Parameter(torch.ones(4, 3)))
        made.register_buffer("seen", torch.zeros(6, 4))
        return made

    subject = Given(build, ROWS)
    assert macs(subject) == macs(subject, of_weights=False) == 6 * 4 * 3 + 4 * 6 * 3


def test_no_tool_is_told_to_leave_out_what_need_not_be_counted():
    build, shape, own, _ = MAKE["spectral norm"]
    found = tool_slips.macs_tool_slips(Given(build, shape))
    assert own not in {each["value"] for each in found}
    assert not any("mv" in each["says"] for each in found if "fvcore" in each["tools"] or "thop" in each["tools"])


def test_the_backward_pass_has_a_product_for_each_gradient():
    def build():
        return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 2, 1), nn.Flatten(), nn.Linear(72, 3))

    with FlopCounterMode(display=False) as counter:
        build()(torch.zeros(IMAGE)).sum().backward()
    found = tool_slips.flops_tool_slips(Given(build, IMAGE))
    said = [each["says"] for each in found if each["value"] == counter.get_total_flops()]
    assert len(said) == 1
    assert "with the backward pass gives this number" in said[0]


@pytest.mark.parametrize(
    ("run", "own", "work"),
    [
        # Learned queries by their matrix, and these by the keys of the input.
        (lambda m, x: (m.a @ m.b) @ x.T, {"a": (3, 8), "b": (8, 6)}, 3 * 8 * 6 + 3 * 6 * 4),
        # A graph's matrix, which its degrees scale, by the rows of the input.
        (lambda m, x: (m.a @ m.b @ m.a) @ x, {"a": (4, 4), "b": (4, 4)}, 2 * 4 * 4 * 4 + 4 * 4 * 6),
    ],
)
def test_what_stands_first_and_is_no_changed_weight_is_work(run, own, work):
    subject = Given(lambda: Forward(run, **{name: nn.Parameter(torch.ones(*size)) for name, size in own.items()}), ROWS)
    assert macs(subject) == macs(subject, of_weights=False) == work
