"""Every operation is counted by a rule, known to count nothing, or refused by name: torch's own registry is walked."""

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.flop_counter import flop_registry

from reference._counting.formulas import KINDS, PRODUCTS
from reference._counting.operators import COMPUTES, MOVES, NOTHING, REFUSED, plain, refusal
from reference._counting.trace import UncountableError
from reference.layers import activation_bytes
from reference.macs import macs, operations
from reference.tutorial import output_shape
from tests.reference.generated_networks import Generated, Net, as_script


def packets():
    """The operators of aten, with the names of their overloads."""
    found = {}
    for name in torch._C._dispatch_get_all_op_names():
        if name.startswith("aten::"):
            found.setdefault(plain(name.removeprefix("aten::").partition(".")[0]), []).append(name)
    return found


def made_of_others(names):
    return all(torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd") for name in names)


def test_every_operator_of_torch_is_in_one_of_three_lists_or_made_of_those_that_are():
    known = {**NOTHING, **dict.fromkeys(PRODUCTS), **dict.fromkeys(KINDS)}
    unknown = [
        name
        for name, overloads in packets().items()
        if not (name in known or refusal(name) or made_of_others(overloads))
    ]
    assert unknown == []


def test_no_operator_is_in_two_lists_and_none_is_there_that_torch_does_not_have():
    lists = [*MOVES, *COMPUTES, *PRODUCTS, *KINDS, *REFUSED]
    assert len(lists) == len(set(lists))
    assert set(lists) <= packets().keys()


def test_every_kernel_that_torchs_counter_knows_is_counted_or_refused():
    for kernel in flop_registry:
        space, _, name = (
            kernel._qualified_op_name.partition("::") if hasattr(kernel, "_qualified_op_name") else ("", "", "")
        )
        assert space != "aten" or name in PRODUCTS or refusal(name), name


# ---- operators of other libraries ------------------------------------------------------------------------------------

_library = torch.library.Library("closed_world", "DEF")
_library.define("dense(Tensor x, Tensor w) -> Tensor")
_library.impl("dense", lambda x, w: x @ w, "CPU")
_library.impl("dense", lambda x, w: x.new_empty(x.shape[0], w.shape[1]), "Meta")
_library.define("scan(Tensor x) -> Tensor")
_library.impl("scan", lambda x: x.cumsum(0), "CompositeExplicitAutograd")
_library.define("made_of_others(Tensor x, Tensor w) -> Tensor")
_library.impl("made_of_others", lambda x, w: x @ w, "CompositeImplicitAutograd")


@torch.library.custom_op("closed_world::own", mutates_args=())
def own(x: torch.Tensor) -> torch.Tensor:
    """An operator in Python."""
    return x @ x.mT


own.register_fake(lambda x: x.new_empty(x.shape[0], x.shape[0]))


@torch.library.custom_op("closed_world::into", mutates_args={"out"})
def into(x: torch.Tensor, out: torch.Tensor) -> None:
    """An operator that writes into its argument."""
    out.copy_(x @ x.mT)


into.register_fake(lambda x, out: None)


def _written(x):
    out = x.new_empty(x.shape[0], x.shape[0])
    into(x, out)
    return out


def _mixed(net, x):
    with torch.autocast("cpu"):
        return torch.ops.closed_world.dense(net.layer(x).float(), net.w)


UNKNOWN = {
    "defined, with a kernel of its own": lambda net, x: torch.ops.closed_world.dense(x, net.w),
    "by its overload": lambda net, x: torch.ops.closed_world.dense.default(x, net.w),
    "that multiplies nothing, which nobody can know": lambda _, x: torch.ops.closed_world.scan(x),
    "in Python": lambda _, x: own(x),
    "that writes into its argument": lambda _, x: _written(x),
    "within vmap": lambda _, x: torch.vmap(own)(x[None]),
    "in a checkpoint": lambda _, x: torch.utils.checkpoint.checkpoint(own, x, use_reentrant=False),
    "in a hook": lambda net, x: net.hooked(x),
    "under autocast": _mixed,
    "in TorchScript": lambda net, x: net.scripted(x),
    "where values decide": lambda _, x: own(x) if float(x.sum()) > -1e9 else x,
}


class _Scripted(nn.Module):
    def forward(self, x):
        return torch.ops.closed_world.scan(x)


@pytest.mark.parametrize("case", UNKNOWN)
def test_an_operator_of_another_library_is_named(case):
    hooked = nn.Linear(4, 4)
    hooked.register_forward_hook(lambda _, __, out: own(out))
    children = {"layer": nn.Linear(4, 4), "hooked": hooked, "scripted": as_script(_Scripted())}
    net = Net(UNKNOWN[case], w=nn.Parameter(torch.randn(4, 3)), **children)
    with pytest.raises(UncountableError, match=r"closed_world\.(dense|scan|own|into)") as caught:
        macs(Generated(net, torch.randn(2, 4)))
    assert "it stands in " in str(caught.value)


def _gradient(net, x):
    return torch.func.grad(lambda row: torch.linalg.vecdot(row, net.w).sum())(x)


@pytest.mark.parametrize("run", [lambda net, x: torch.vmap(lambda row: torch.linalg.vecdot(row, net.w))(x), _gradient])
def test_products_of_vectors_that_arrive_as_mul_and_sum_are_named(run):
    net = Net(run, w=nn.Parameter(torch.randn(2, 4)))
    with pytest.raises(UncountableError, match=r"'linalg_vecdot' runs there as 'mul' and 'sum'.* it stands in Net"):
        macs(Generated(net, torch.randn(3, 4)))


def test_one_that_is_made_of_others_is_counted():
    net = Net(lambda net, x: torch.ops.closed_world.made_of_others(x, net.w), w=nn.Parameter(torch.randn(4, 3)))
    assert macs(Generated(net, torch.randn(2, 4))) == 2 * 4 * 3


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda x: torch.cdist(x, x), "_cdist_forward"),
        (torch.linalg.inv, "linalg_inv_ex"),
        (torch.linalg.det, "_linalg_det"),
        (lambda x: torch.linalg.solve(x, x), "_linalg_solve_ex"),
        (torch.linalg.svdvals, "_linalg_svd"),
        (lambda x: torch.linalg.qr(x).R, "linalg_qr"),
        (torch.linalg.matrix_exp, "linalg_matrix_exp"),
        (torch.linalg.eigvalsh, "_linalg_eigh"),
        (lambda x: torch.fft.fft(x).real, "_fft_"),
        (lambda x: torch.stft(x, 4, window=x.new_ones(4), return_complex=True), "_fft_"),
        (lambda x: functional.bilinear(x, x, x.new_empty(3, 4, 4)), "_trilinear"),
        (lambda x: torch.sparse.mm(x.to_sparse(), x), "sparse"),
        (functional.pdist, "_pdist_forward"),
    ],
)
def test_what_multiplies_without_a_formula_is_refused(function, name):
    with pytest.raises(UncountableError, match=name):
        macs(Generated(Net(lambda _, x: function(x)), torch.randn(4, 4)))


def test_shapes_are_known_where_products_are_not():
    net = Net(lambda net, x: net.linear(torch.fft.rfft(x).abs()), linear=nn.Linear(5, 4))
    given = Generated(net, torch.randn(3, 8))
    with pytest.raises(UncountableError, match="fft_rfft"):
        macs(given)
    assert activation_bytes(given) == 3 * 4 * 4
    assert output_shape(given) == [3, 4]
    with pytest.raises(UncountableError, match="fft_rfft"):  # whoever asked before
        macs(given)


# ---- norms, pools and activations, however they run ------------------------------------------------------------------

# fmt: off
_MADE = {
    "LayerNorm": (4,), "GroupNorm": (2, 4), "RMSNorm": (4,), "LocalResponseNorm": (2,), "Threshold": (0.1, 0.2),
    "Softmax": (-1,), "LogSoftmax": (-1,), "Softmin": (-1,), "GLU": (-1,), "FractionalMaxPool2d": (2,),
    "FractionalMaxPool3d": (2,),
}
# fmt: on
_COLUMNS = {"norm": "norm_inputs", "pooling": "pooling_outputs", "activation": "activation_outputs"}
_LEFT_OUT = {
    "MultiheadAttention",
    "SyncBatchNorm",
    "CrossMapLRN2d",
}  # is several; runs on other devices; is torch's old one


def layers():
    for module, column in (
        (nn.modules.activation, "activation"),
        (nn.modules.normalization, "norm"),
        (nn.modules.batchnorm, "norm"),
        (nn.modules.instancenorm, "norm"),
        (nn.modules.pooling, "pooling"),
    ):
        for name in module.__all__:
            if name not in _LEFT_OUT and "Lazy" not in name and "Unpool" not in name:
                yield name, column


def made(name):
    kind = getattr(nn, name)
    given = _MADE.get(name)
    if given is None:
        given = (4,) if "Norm" in name else (2, 2) if name.startswith("LPPool") else (2,) if "Pool" in name else ()
    options = {"output_size": 2} if name.startswith("Fractional") else {}
    return kind(*given, **options).eval()


def given(name):
    dimensions = next((int(n) for n in "123" if f"{n}d" in name), 1)
    return torch.randn(2, 4, *(4,) * dimensions)


@pytest.mark.parametrize(("name", "column"), list(layers()), ids=lambda value: value)
@pytest.mark.parametrize("way", ["itself", "without a rule"])
def test_every_layer_of_torch_is_seen_as_what_it_is(name, column, way, monkeypatch):
    layer, x = made(name), given(name)
    if way != "itself":
        monkeypatch.setattr("reference._counting.recorder.RULES", {})
    subject = Generated(nn.Sequential(layer), x)
    if way != "itself" and name in _OF_SEVERAL:
        return
    rows = operations(subject)
    assert sum(row[_COLUMNS[column]] for row in rows) > 0
    assert sum(row["macs"] for row in rows) == 0


# In Python made of functions that have rules; without a rule nothing says what they are.
_OF_SEVERAL = {"Softsign", "Tanhshrink", "Softmin", "LocalResponseNorm", "LPPool1d", "LPPool2d", "LPPool3d", "RMSNorm"}
