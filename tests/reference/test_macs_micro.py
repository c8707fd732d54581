"""MACs of small modules, each worked out by hand, and by torch's own counter."""

import sys

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from labgrade.subjects import models
from reference._counting.rules import SHAPES
from reference.macs import macs, macs_by_layer, macs_by_type, operations
from reference.slips import macs_without_ceil_mode
from tests.reference.generated_networks import as_script
from tests.reference.subjects import Forward, Given


def vecdot(x: torch.Tensor) -> torch.Tensor:
    return torch.linalg.vecdot(x, x)


class Sharp(nn.Conv2d):
    """A convolution by another name."""


def attention():
    return Forward(lambda self, x: self.of(x, x, x)[0], of=nn.MultiheadAttention(16, 4, batch_first=True))


def cross_attention():
    of = nn.MultiheadAttention(16, 4, kdim=8, vdim=12, bias=False, add_bias_kv=True, add_zero_attn=True)
    return Forward(lambda self, x: self.of(x, x.new_empty(5, 2, 8), x.new_empty(5, 2, 12))[0], of=of)


def shared():
    layer = nn.Linear(10, 10)
    return nn.Sequential(layer, nn.ReLU(), layer)


def functions(function, shape):
    return Given(lambda: Forward(lambda _, x: function(x)), shape)


def kernel(weight_and_bias, *, transposed):
    """A convolution called past every function that has a rule."""
    return functions(
        lambda x: torch.convolution(x, *weight_and_bias(x), [1, 1], [0, 0], [1, 1], transposed, [0, 0], 1), (1, 3, 6, 6)
    )


CASES = {
    "convolution": (Given(lambda: nn.Conv2d(3, 4, 3), (1, 3, 10, 10)), 8 * 8 * 4 * 3 * 9),
    "strided, padded, dilated": (
        Given(lambda: nn.Conv2d(2, 6, 3, stride=2, padding=1, dilation=2), (1, 2, 11, 15)),
        5 * 7 * 6 * 2 * 9,
    ),
    "grouped": (Given(lambda: nn.Conv2d(8, 4, 3, groups=2), (1, 8, 6, 6)), 4 * 4 * 4 * 4 * 9),
    "depthwise": (Given(lambda: nn.Conv2d(8, 8, 3, groups=8), (1, 8, 6, 6)), 4 * 4 * 8 * 9),
    "oblong": (Given(lambda: nn.Conv2d(3, 4, (1, 7), padding=(0, 3)), (1, 3, 5, 9)), 5 * 9 * 4 * 3 * 7),
    "padding same": (Given(lambda: nn.Conv2d(3, 4, 4, padding="same"), (1, 3, 8, 8)), 12_288),
    "padding valid": (Given(lambda: nn.Conv2d(3, 4, 3, padding="valid"), (1, 3, 8, 8)), 36 * 4 * 27),
    "one dimension": (Given(lambda: nn.Conv1d(3, 4, 5, stride=2), (2, 3, 20)), 2 * 8 * 4 * 15),
    "three dimensions": (Given(lambda: nn.Conv3d(1, 2, 2), (1, 1, 3, 4, 5)), 2 * 3 * 4 * 2 * 8),
    "without a batch": (Given(lambda: nn.Conv2d(3, 4, 3), (3, 10, 10)), 8 * 8 * 4 * 27),
    "transposed": (Given(lambda: nn.ConvTranspose2d(3, 4, 2, stride=2), (1, 3, 8, 8)), 3072),
    "transposed, grouped": (Given(lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, groups=2), (1, 4, 5, 5)), 2700),
    "transposed, then seen": (
        Given(
            lambda: nn.Sequential(
                nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1, output_padding=1, dilation=2), nn.Conv2d(3, 1, 1)
            ),
            (1, 2, 4, 4),
        ),
        16 * 2 * 27 + 10 * 10 * 3,
    ),
    "derived class": (Given(lambda: Sharp(3, 4, 3), (1, 3, 10, 10)), 6912),
    "linear": (Given(lambda: nn.Linear(8, 5), (1, 8)), 40),
    "linear on a sequence": (Given(lambda: nn.Linear(8, 5), (1, 10, 8)), 400),
    "linear on a vector": (Given(lambda: nn.Linear(8, 5), (8,)), 40),
    "functional convolution": (
        functions(lambda x: functional.conv2d(x, x.new_empty(4, 3, 3, 3)), (1, 3, 10, 10)),
        6912,
    ),
    "functional linear": (functions(lambda x: functional.linear(x, x.new_empty(5, 8)), (1, 8)), 40),
    "attention": (Given(attention, (1, 6, 16)), 7296),
    "cross attention": (
        Given(cross_attention, (6, 2, 16)),
        2 * (6 * 16 * 16 + 5 * 8 * 16 + 5 * 12 * 16 + 6 * 7 * 16 * 2 + 6 * 16 * 16),
    ),
    "attention without a batch": (
        Given(lambda: Forward(lambda self, x: self.of(x, x, x)[1], of=nn.MultiheadAttention(16, 4)), (6, 16)),
        7296,
    ),
    "scaled dot product": (functions(lambda x: functional.scaled_dot_product_attention(x, x, x), (1, 4, 6, 4)), 1152),
    "values of another width": (
        functions(lambda x: functional.scaled_dot_product_attention(x, x, x.new_empty(1, 4, 6, 9)), (1, 4, 6, 5)),
        4 * 6 * 6 * (5 + 9),
    ),
    "addbmm": (functions(lambda x: torch.addbmm(x.new_empty(6), x, x.new_empty(2, 8, 6)), (2, 6, 8)), 576),
    "convolution by its kernel": (
        kernel(lambda x: (x.new_empty(2, 3, 3, 3), x.new_empty(2)), transposed=False),
        16 * 2 * 27,
    ),
    "transposed by its kernel": (
        kernel(lambda x: (x.new_empty(3, 2, 3, 3), None), transposed=True),
        36 * 3 * 2 * 9,
    ),
    "@": (functions(lambda x: x @ x.new_empty(8, 6), (6, 8)), 288),
    "matmul": (functions(lambda x: torch.matmul(x, x.new_empty(8, 6)), (6, 8)), 288),
    "matmul, broadcast": (functions(lambda x: x.matmul(x.new_empty(3, 1, 8, 6)), (2, 6, 8)), 3 * 2 * 288),
    "matrix and vector": (functions(lambda x: x @ x.new_empty(8), (6, 8)), 48),
    "vector and matrix": (functions(lambda x: x @ x.new_empty(8, 3), (8,)), 24),
    "vectors": (functions(lambda x: x @ x, (8,)), 8),
    "mm": (functions(lambda x: torch.mm(x, x.new_empty(8, 6)), (6, 8)), 288),
    "mv": (functions(lambda x: x.mv(x.new_empty(8)), (6, 8)), 48),
    "dot": (functions(lambda x: torch.dot(x, x), (8,)), 8),
    "vecdot": (functions(lambda x: torch.linalg.vecdot(x, x), (8,)), 8),
    "vecdot, of rows": (functions(lambda x: torch.linalg.vecdot(x, x.new_empty(8)), (6, 8)), 48),
    "vecdot, of columns": (functions(lambda x: torch.linalg.vecdot(x, x, dim=0), (6, 8)), 48),
    "vecdot, written into another": (
        functions(lambda x: torch.linalg.vecdot(x, x, out=x.new_empty(6)), (6, 8)),
        48,
    ),
    "vecdot, scripted": (functions(as_script(vecdot), (6, 8)), 48),
    "vecdot, broadcast": (
        functions(lambda x: torch.linalg.vecdot(x[:, None], x.new_empty(1, 5, 8)).sum(), (6, 8)),
        6 * 5 * 8,
    ),
    "vecdot, a dimension of many": (
        functions(lambda x: torch.linalg.vecdot(x, x.new_empty(3, 1, 8, 6), dim=-2), (2, 8, 6)),
        3 * 2 * 8 * 6,
    ),
    "bmm": (functions(lambda x: torch.bmm(x, x.new_empty(2, 8, 6)), (2, 6, 8)), 576),
    "addmm": (functions(lambda x: torch.addmm(x.new_empty(6), x, x.new_empty(8, 6)), (6, 8)), 288),
    "baddbmm": (functions(lambda x: torch.baddbmm(x.new_empty(6), x, x.new_empty(2, 8, 6)), (2, 6, 8)), 576),
    "einsum": (functions(lambda x: torch.einsum("bik,bjk->bij", x, x), (1, 6, 8)), 288),
    "tensordot": (functions(lambda x: torch.tensordot(x, x.new_empty(8, 6), dims=1), (6, 8)), 288),
    "lstm": (Given(lambda: nn.LSTM(8, 16), (5, 1, 8)), 7680),
    "gru, two ways": (Given(lambda: nn.GRU(8, 16, bidirectional=True), (5, 1, 8)), 2 * 5 * 3 * 16 * 24),
    "rnn": (Given(lambda: nn.RNN(8, 16), (5, 1, 8)), 5 * 16 * 24),
    "lstm cell": (Given(lambda: nn.LSTMCell(8, 16), (1, 8)), 4 * 16 * 24),
    "batch of two": (
        Given(lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(72, 46)), (2, 1, 8, 8)),
        2 * (36 * 2 * 9 + 72 * 46),
    ),
    "forward() called directly": (
        Given(lambda: Forward(lambda self, x: self.child.forward(x), child=nn.Linear(8, 8)), (1, 8)),
        64,
    ),
    "one layer in two places": (Given(shared, (1, 10)), 200),
    "encoder layer": (
        Given(lambda: nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), (1, 6, 16)),
        7296 + 2 * 6 * 16 * 32,
    ),
    "no product at all": (Given(lambda: nn.Sequential(nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()), (1, 3, 8, 8)), 0),
}


@pytest.mark.parametrize("case", CASES)
def test_by_hand(case):
    subject, expected = CASES[case]
    assert macs(subject) == expected
    assert sum(row["macs"] for row in macs_by_layer(subject)) == expected


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")
# torch's counter has no formula for a vector's products, nor for addbmm.
@pytest.mark.parametrize(
    "case",
    sorted(
        case
        for case in set(CASES) - {"vectors", "dot", "mv", "matrix and vector", "addbmm"}
        if not case.startswith("vecdot")
    ),
)
def test_by_torchs_own_counter(case):
    subject, expected = CASES[case]
    module, x = subject.on_meta()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        module(x)
    assert counter.get_total_flops() == 2 * expected


def test_what_multiplies_without_a_formula_is_refused():
    subject = functions(lambda x: torch.cdist(x, x), (4, 3))
    with pytest.raises(NotImplementedError, match=r"'cdist' runs 'aten\._?cdist.*', which multiplies .* in Forward"):
        macs(subject)


@pytest.mark.parametrize(
    ("make", "shape", "message"),
    [
        (lambda: nn.Conv2d(3, 4, 3), (1, 1, 8, 8), "conv2d expects 3 channels or features, but its input has 1"),
        (lambda: nn.ConvTranspose2d(3, 4, 3), (1, 1, 8, 8), "conv_transpose2d expects 3 channels"),
        (lambda: nn.Linear(8, 5), (1, 7), "linear expects 8 channels or features, but its input has 7"),
        (lambda: Forward(lambda _, x: x @ x), (2, 3), "@ expects 2 channels or features, but its input has 3"),
        (
            lambda: Forward(lambda _, x: torch.cat([x, x[:, :1]])),
            (2, 3),
            r"\(2, 3\), \(2, 1\).* can't be joined along 0",
        ),
        (lambda: Forward(lambda _, x: x + x.new_empty(4)), (2, 3), "Forward cannot take an input of shape"),
        (lambda: nn.Conv2d(3, 4, 9), (1, 3, 4, 4), "Conv2d cannot take an input of shape"),
        (lambda: nn.MaxPool2d(9), (1, 3, 4, 4), "MaxPool2d cannot take an input of shape"),
    ],
)
def test_an_input_that_does_not_fit_is_refused(make, shape, message):
    with pytest.raises(ValueError, match=message):
        macs(Given(make, shape))


@pytest.mark.parametrize("name", ["mean", "sum", "cat", "concat"])
def test_what_counts_nothing_has_the_shape_that_torch_gives_it(name):
    def meta(*shape, dtype=torch.float32):
        return torch.empty(shape, device="meta", dtype=dtype)

    x, double, whole = meta(2, 3, 4), meta(2, 3, 4, dtype=torch.float64), meta(2, 3, 4, dtype=torch.int64)
    dims = [(), (1,), (-1,), ((1, 2),), ([0, -1], True), (3,), ((1, 1),), (None,)]
    named = [{"dim": 1, "keepdim": True}, {"dim": (1, -2)}, {"dtype": torch.float64}, {"axis": 1}]
    others = [meta(2, 5, 4), double, meta(0), meta(4, 3)]
    reductions = [*(((x, *more), {}) for more in dims), *(((x,), more) for more in named), ((whole, 1), {})]
    joins = [(([x, other], dim), {}) for other in (x, *others) for dim in (0, 1, -3, 3)]
    for args, kwargs in [*joins, (([],), {}), (([x, x],), {"axis": 1})] if "c" in name else reductions:
        function, rule = getattr(torch, name), SHAPES[getattr(torch, name)]
        assert _shape_of(rule, args, kwargs) == _shape_of(function, args, kwargs)


def _shape_of(function, args, kwargs):
    try:
        made = function(*args, **kwargs)
    except (IndexError, RuntimeError, ValueError):
        return "refused"
    return made.shape, made.dtype


def test_no_count_of_a_network_of_images_takes_sympy(monkeypatch):
    for name in ("sympy", "torch.fx.experimental.symbolic_shapes"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it fails
    subject = models.Subject(model="torchvision/googlenet", shape=(1, 3, 64, 64))
    assert macs(subject) > macs_without_ceil_mode(subject) > 0


def test_attention_is_charged_to_its_module_and_told_apart():
    rows = operations(Given(attention, (1, 6, 16)))
    assert {row["type"] for row in rows} == {"MultiheadAttention"}
    assert [(row["layer"], row["macs"], row["bias"], row["activation_outputs"]) for row in rows] == [
        ("of/linear", 1536, 96, 0),
        ("of/linear#2", 1536, 96, 0),
        ("of/linear#3", 1536, 96, 0),
        ("of/scaled_dot_product_attention", 1152, 0, 0),
        ("of/attention_softmax", 0, 0, 144),
        ("of/linear#4", 1536, 96, 0),
    ]


def test_what_a_container_computes_itself_is_its_own_row():
    subject = Given(lambda: Forward(lambda self, x: self.lin(x) @ x.mT, lin=nn.Linear(8, 8, bias=False)), (6, 8))
    assert [(row["layer"], row["macs"]) for row in macs_by_layer(subject)] == [("lin", 384), ("Forward", 288)]


def test_a_layer_called_twice_is_one_row():
    assert [(row["layer"], row["macs"]) for row in macs_by_layer(Given(shared, (1, 10)))] == [("0", 200)]


@pytest.mark.parametrize(("case", "added"), [("addmm", 36), ("baddbmm", 72), ("addbmm", 36), ("mm", 0), ("linear", 5)])
def test_what_is_added_counts_as_bias(case, added):
    subject, products = CASES[case]
    assert macs(subject, bias=True) == products + added


@pytest.mark.parametrize(("case", "added"), [("convolution by its kernel", 32), ("transposed by its kernel", 0)])
def test_the_bias_of_a_kernel(case, added):
    subject, products = CASES[case]
    assert macs(subject, bias=True) == products + added


BLOCK = Given(
    lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(2)),
    (2, 3, 10, 10),
)


@pytest.mark.parametrize(
    ("convention", "extra"),
    [
        ({"bias": True}, 512),
        ({"norm": "one_per_input"}, 512),
        ({"norm": "two_per_input"}, 1024),
        ({"norm": "four_per_input"}, 2048),
        ({"norm": "five_per_input"}, 2560),
        ({"activation": "one_per_output"}, 512),
        ({"pooling": "one_per_input"}, 512 + 128),
        ({"pooling": "one_per_output"}, 128 + 32),
    ],
)
def test_conventions_by_hand(convention, extra):
    assert macs(BLOCK, **convention) == 2 * 6912 + extra
    assert macs(BLOCK, **convention, per="sample") == 6912 + extra // 2
    assert macs(BLOCK, **convention, layers=["Conv2d"]) == 2 * 6912 + (extra if "bias" in convention else 0)


def test_layers_takes_derived_types_and_refuses_unknown_ones():
    subject = Given(lambda: nn.Sequential(Sharp(3, 4, 3), nn.Conv2d(4, 4, 1)), (1, 3, 10, 10))
    assert macs(subject, layers=["Conv2d"]) == 6912 + 64 * 16
    assert macs(subject, layers=["Sharp"]) == 6912
    assert macs(subject, layers=["Linear"]) == 0
    assert macs_by_type(subject, layers=["Conv2d"]) == {"Sharp": 6912, "Conv2d": 1024}
    with pytest.raises(ValueError, match=r"there is no layer type 'Conv2D'; did you mean 'Conv2d'\?"):
        macs(subject, layers=["Conv2D"])


def test_the_small_network_with_attention_by_hand():
    patches, attention, last = 16 * 20 * (3 * 8 * 8), 4 * 16 * 20 * 20 + 2 * 16 * 16 * 20, 320 * 10
    subject = models.Subject(model="micro/attention", shape=(3, 3, 32, 40))
    assert macs(subject) == 3 * (patches + attention + last)
    assert macs(subject, layers=["Conv2d", "Linear"]) == 3 * (patches + last)  # none of attention's is called by itself
