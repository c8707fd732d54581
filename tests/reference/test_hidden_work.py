"""What a counter easily misses, by hand: hooks of the root, scripted parts, checkpoints, mixed types, samples."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional

from reference._counting.trace import UncountableError
from reference.layers import activation_bytes, layer_shapes
from reference.macs import macs, macs_by_layer, macs_by_type
from reference.profiles import operator_memory
from reference.state import buffer_bytes, buffers, weight_bytes
from tests.reference.generated_networks import Generated, Net, as_script

pytestmark = [
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf"),
    pytest.mark.filterwarnings("ignore:enable_nested_tensor is True"),
]
ROOT = Path(__file__).parents[2]
LINEAR = 3 * 8 * 4  # MACs of the linear layer below


def linear(*, bias=False, out=4):
    return nn.Linear(8, out, bias=bias)


# ---- hooks -----------------------------------------------------------------------------------------------------------


def gram(_, __, out):
    return out @ out.mT


def wider(_, __, out):
    return torch.cat([out, out], 1)


HOOKS = {
    "behind the root": (lambda net: net.register_forward_hook(gram), 3 * 4 * 3),
    "behind the root, with what it is called by": (
        lambda net: net.register_forward_hook(lambda _, __, ___, out: out @ out.mT, with_kwargs=True),
        3 * 4 * 3,
    ),
    "behind the root, always": (lambda net: net.register_forward_hook(gram, always_call=True), 3 * 4 * 3),
    "two behind the root": (
        lambda net: (net.register_forward_hook(gram), net.register_forward_hook(gram)),
        3 * 4 * 3 + 3 * 3 * 3,
    ),
    "the second first": (
        lambda net: (net.register_forward_hook(gram), net.register_forward_hook(wider, prepend=True)),
        3 * 8 * 3,
    ),
    "before the root": (
        lambda net: net.register_forward_pre_hook(lambda _, x: (x[0] @ x[0].mT @ x[0],)),
        2 * 3 * 8 * 3,
    ),
    "behind a child": (lambda net: net.fc.register_forward_hook(gram), 3 * 4 * 3),
    "before a child": (
        lambda net: net.fc.register_forward_pre_hook(lambda _, x: (x[0] @ x[0].mT @ x[0],)),
        2 * 3 * 8 * 3,
    ),
    "that looks at the output alone": (lambda net: net.register_forward_hook(lambda _, __, out: None), 0),
    "that calls a layer": (
        lambda net: net.register_forward_hook(lambda _, __, out: functional.linear(out, out.new_empty(5, 4))),
        3 * 4 * 5,
    ),
    "that calls a module": (lambda net: net.register_forward_hook(lambda net, x, _: net.fc(x[0])), LINEAR),
}


@pytest.mark.parametrize("case", HOOKS)
def test_products_of_hooks(case):
    net = Net(lambda net, x: net.fc(x), fc=linear())
    hook, added = HOOKS[case]
    hook(net)
    subject = Generated(net, torch.randn(3, 8))
    assert macs(subject) == LINEAR + added
    assert sum(row["macs"] for row in macs_by_layer(subject)) == LINEAR + added


def test_an_output_is_that_behind_a_modules_own_hooks():
    net = nn.Sequential(linear(), nn.Linear(8, 2))
    net[0].register_forward_hook(wider)
    net.register_forward_hook(wider)
    rows = {row["layer"]: row["output_shape"] for row in layer_shapes(Generated(net, torch.randn(3, 8)))}
    assert rows == {"Sequential": [3, 4], "0": [3, 8], "1": [3, 2]}


# ---- TorchScript -----------------------------------------------------------------------------------------------------


def test_a_scripted_layer_keeps_its_type_and_its_bias():
    net = nn.Sequential(linear(out=8), as_script(nn.Linear(8, 4)))
    subject = Generated(net, torch.randn(2, 3, 5, 8))
    assert macs_by_type(subject) == {"Linear": 30 * 8 * 12}
    assert macs(subject, layers=["Linear"], bias=True) == 30 * 8 * 12 + 30 * 4
    assert [(row["layer"], row["macs"]) for row in macs_by_layer(subject)] == [("0", 30 * 64), ("1", 30 * 32)]
    assert activation_bytes(subject) == 30 * 12 * 4


@pytest.mark.parametrize(
    ("layer", "shape", "convention", "extra"),
    [
        (nn.LayerNorm(8), (3, 8), {"norm": "one_per_input"}, 24),
        (nn.BatchNorm2d(8), (1, 8, 2, 2), {"norm": "two_per_input"}, 64),
        (nn.GroupNorm(2, 8), (1, 8, 2, 2), {"norm": "one_per_input"}, 32),
        (nn.ReLU(), (3, 8), {"activation": "one_per_output"}, 24),
        (nn.Softmax(-1), (3, 8), {"activation": "one_per_output"}, 24),
        (nn.GELU(), (3, 8), {"activation": "one_per_output"}, 24),
        (nn.MaxPool2d(2), (1, 8, 4, 4), {"pooling": "one_per_input"}, 128),
        (nn.AvgPool2d(2), (1, 8, 4, 4), {"pooling": "one_per_output"}, 32),
        (nn.AdaptiveAvgPool2d(1), (1, 8, 4, 4), {"pooling": "one_per_output"}, 8),
        (nn.Conv2d(8, 2, 3), (1, 8, 4, 4), {"bias": True}, 8),
        (nn.ConvTranspose2d(8, 2, 2), (1, 8, 4, 4), {"bias": True}, 50),
    ],
)
def test_conventions_hold_in_torchscript(layer, shape, convention, extra):
    of_layer = as_script(layer.eval())
    here, there = (Generated(nn.Sequential(each), torch.randn(shape)) for each in (layer, of_layer))
    assert macs(here, **convention) - macs(here) == macs(there, **convention) - macs(there) == extra


def test_what_a_scripted_container_hides_is_said():
    part = as_script(nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2)).eval())
    subject = Generated(nn.Sequential(linear(out=8), part), torch.randn(3, 8))
    assert macs(subject) == 3 * (64 + 32 + 8)
    for ask in (
        lambda: macs(subject, layers=["Linear"]),
        lambda: macs_by_type(subject),
        lambda: activation_bytes(subject),
    ):
        with pytest.raises(UncountableError, match=r"TorchScript runs '1' \(Sequential\)"):
            ask()
    assert activation_bytes(subject, modules="top_level") == 3 * (8 + 2) * 4


def test_sums_in_torchscript_and_vmap_may_be_layers():
    scripted = Generated(nn.Sequential(as_script(nn.Softsign())), torch.randn(3, 8))
    mapped = Generated(Net(lambda net, x: torch.vmap(net.fc)(x), fc=linear(bias=True)), torch.randn(5, 3, 8))
    assert (macs(scripted), macs(scripted, bias=True), macs(mapped)) == (0, 0, 5 * LINEAR)
    with pytest.raises(UncountableError, match=r"'abs', which TorchScript, or a library, runs in '0' \(Softsign\)"):
        macs(scripted, activation="one_per_output")
    with pytest.raises(UncountableError, match=r"which vmap or the like runs in 'fc' \(Linear\)"):
        macs(mapped, bias=True)
    with pytest.raises(UncountableError, match="it runs within vmap or the like, where a tensor stands for many"):
        activation_bytes(mapped)


# ---- types under autocast --------------------------------------------------------------------------------------------

MIXED = {
    "linear": (lambda: nn.Linear(8, 4), (2, 8)),
    "convolution": (lambda: nn.Conv2d(8, 4, 3), (1, 8, 5, 5)),
    "transposed": (lambda: nn.ConvTranspose1d(8, 4, 3), (1, 8, 5)),
    "attention": (lambda: Net(lambda net, x: net.of(x, x, x)[0], of=nn.MultiheadAttention(8, 2)), (3, 2, 8)),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16), (3, 2, 8)),
    "softmax behind a linear layer": (lambda: nn.Sequential(nn.Linear(8, 4), nn.Softmax(-1)), (2, 8)),
    "norm behind a linear layer": (lambda: nn.Sequential(nn.Linear(8, 4), nn.LayerNorm(4)), (2, 8)),
    "batch norm": (lambda: nn.Sequential(nn.Conv2d(8, 4, 3), nn.BatchNorm2d(4), nn.ReLU()), (1, 8, 5, 5)),
    "gelu": (lambda: nn.Sequential(nn.Linear(8, 4), nn.GELU(), nn.Linear(4, 2)), (2, 8)),
    "pool": (lambda: nn.Sequential(nn.Conv2d(8, 4, 3), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1)), (1, 8, 6, 6)),
    "recurrent": (lambda: nn.GRU(8, 4), (3, 2, 8)),
    "scripted": (lambda: nn.Sequential(as_script(nn.Linear(8, 4)), nn.Linear(4, 2)), (2, 8)),
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("case", MIXED)
def test_bytes_under_autocast_are_those_of_the_run(case, dtype):
    make, shape = MIXED[case]

    def run(net, x):
        with torch.autocast("cpu", dtype=dtype):
            return net.of(x)

    net = Net(run, of=make()).eval()
    found = []
    for module in net.modules():
        if not any(module.children()) and not isinstance(module, torch.jit.ScriptModule):
            module.register_forward_hook(lambda _, __, out: found.extend(out if isinstance(out, tuple) else [out]))
    x = torch.randn(shape)
    with torch.no_grad():
        net(x)
    seen = sum(each.nbytes for each in found if each is not None)
    for module in net.modules():
        module._forward_hooks.clear()
    if case == "scripted":  # which takes no hook
        seen += 2 * 4 * 2
    assert activation_bytes(Generated(net, x)) == seen


def test_memory_that_is_counted_as_float32_is_refused_where_it_is_not():
    def run(net, x):
        with torch.autocast("cpu"):
            return net.fc(x)

    with pytest.raises(UncountableError, match="puts out other numbers than float32 ones"):
        operator_memory(Generated(Net(run, fc=nn.Linear(8, 4)), torch.randn(2, 8)))


# ---- what is not saved -----------------------------------------------------------------------------------------------


class _Held(nn.Module):
    def __init__(self, *, twice=False):
        super().__init__()
        self.fc = nn.Linear(8, 4, bias=False)
        self.register_buffer("kept", torch.zeros(10))
        self.register_buffer("table", torch.zeros(1000), persistent=False)
        self.register_buffer("ids", torch.arange(7), persistent=False)
        if twice:
            self.register_buffer("again", self.table)

    def forward(self, x):
        return self.fc(x)


class _Extra(_Held):
    def get_extra_state(self):
        return {"version": 1}

    def set_extra_state(self, state):
        pass


def test_bytes_with_buffers_are_those_of_a_state_dict():
    def saved(module):
        return sum(each.nbytes for each in module.state_dict().values())

    nets = [_Held(), nn.Sequential(_Held(), nn.BatchNorm1d(4)), nn.Sequential(_Held(), nn.Linear(4, 8), _Held())]
    nets += [nn.Sequential(as_script(_Held())), _Held().half(), nn.BatchNorm1d(8), nn.ModuleList([_Held(), _Held()])]
    nets += [nn.utils.parametrizations.weight_norm(nn.Linear(8, 4)), nn.MultiheadAttention(8, 2), _Held(twice=True)]
    for net in nets:
        assert weight_bytes(Generated(net, torch.zeros(1, 8)), buffers=True) == saved(net)


def test_buffers_that_are_saved_and_those_that_are_not():
    subject = Generated(_Held(), torch.zeros(1, 8))
    counts = {which: buffers(subject, which=which) for which in ("all", "saved", "not_saved")}
    assert counts == {"all": 1017, "saved": 10, "not_saved": 1007}
    assert buffer_bytes(subject, which="not_saved") == 4000 + 7 * 8
    assert buffer_bytes(subject) == buffer_bytes(subject, which="saved") + buffer_bytes(subject, which="not_saved")
    with pytest.raises(UncountableError, match="'_extra_state' in the state_dict of _Extra is no tensor"):
        weight_bytes(Generated(_Extra(), torch.zeros(1, 8)), buffers=True)


# ---- one sample of a batch -------------------------------------------------------------------------------------------


class _Steps(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(8, 4)

    def forward(self, x):
        state = None
        for step in x:
            state = self.cell(step, state)
        return state


def positions(net, x, grid):
    return net.fc(x) + functional.linear(grid, net.fc.weight[:, :2])


def pooled(net, x):
    return net.fc(x.mean(0))


UNTOLD = {
    "an LSTM": (lambda: nn.LSTM(8, 16), [(5, 3, 8)]),
    "an LSTM of one sample": (lambda: nn.LSTM(8, 16), [(5, 1, 8)]),
    "an LSTM of one step": (lambda: nn.LSTM(8, 16), [(1, 3, 8)]),
    "an LSTM without a batch": (lambda: nn.LSTM(8, 16), [(5, 8)]),
    "a GRU, two ways": (lambda: nn.GRU(8, 16, bidirectional=True), [(5, 3, 8)]),
    "a cell in a loop": (_Steps, [(5, 3, 8)]),
    "attention": (lambda: Net(lambda net, x: net.of(x, x, x)[0], of=nn.MultiheadAttention(8, 2)), [(5, 3, 8)]),
    "an encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16), [(5, 3, 8)]),
    "a transformer": (lambda: nn.Transformer(8, 2, 1, 1, 16), [(5, 3, 8), (4, 3, 8)]),
    "a mean over time": (lambda: Net(pooled, fc=linear()), [(5, 3, 8)]),
    "a product with itself": (lambda: Net(lambda net, x: x @ x.mT), [(5, 8)]),
    "a loss": (lambda: Net(lambda net, x: net.fc(x).sum(), fc=linear()), [(5, 8)]),
    "features that are transposed": (lambda: Net(lambda net, x: net.fc(x.mT), fc=linear()), [(8, 3)]),
}


@pytest.mark.parametrize("case", UNTOLD)
def test_a_first_dimension_that_is_no_batch_is_refused(case):
    make, shapes = UNTOLD[case]
    subject = Generated(make(), *map(torch.randn, shapes))
    assert macs(subject) > 0
    with pytest.raises(UncountableError, match=r"which dimension of .* is the batch can't be determined"):
        macs(subject, per="sample")


def masked(net, x, mask):
    return net.fc(x * mask)


def scaled(net, x, time):
    return net.fc(x) * time


def of_two(net, x, y):
    return net.fc(x) @ y


def asked(net, x):
    return functional.scaled_dot_product_attention(net.queries, x, x)


ONE = 6 * 8 * 4  # MACs of the linear layer for one sample
TOLD = {
    "a grid": (positions, [(2, 6, 8), (6, 2)], ONE + 6 * 2 * 4),
    "a grid of the batch's size": (positions, [(6, 6, 8), (6, 2)], ONE + 6 * 2 * 4),
    "one sample and a grid": (positions, [(1, 6, 8), (6, 2)], ONE + 6 * 2 * 4),
    "a mask": (masked, [(2, 6, 8), (6, 1)], ONE),
    "a mask of the batch": (masked, [(2, 6, 8), (2, 6, 1)], ONE),
    "a number": (scaled, [(2, 6, 8), ()], ONE),
    "a number with a dimension": (scaled, [(4, 6, 8), (1,)], ONE),
    "a time for each sample": (scaled, [(4, 6, 8), (4, 1, 1)], ONE),
    "two inputs": (of_two, [(3, 6, 8), (3, 4, 2)], ONE + 6 * 4 * 2),
    "a second input for all": (of_two, [(3, 6, 8), (4, 2)], ONE + 6 * 4 * 2),
    "learned queries": (asked, [(3, 2, 6, 8)], 2 * 4 * 6 * 8 * 2),
    "images": (lambda net, x: net.convolution(x), [(2, 3, 8, 8)], 36 * 4 * 27),
    "an encoder": (lambda net, x: net.encoder(x), [(2, 5, 8)], 5 * (4 * 64 + 256 + 80)),
    "an LSTM": (lambda net, x: net.lstm(x)[0], [(3, 5, 8)], 7680),
}


def all_kinds(run):
    return Net(
        run,
        fc=linear(),
        queries=nn.Parameter(torch.randn(1, 2, 4, 8)),
        convolution=nn.Conv2d(3, 4, 3),
        encoder=nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
        lstm=nn.LSTM(8, 16, batch_first=True),
    )


@pytest.mark.parametrize("case", TOLD)
def test_one_sample_where_the_inputs_tell(case):
    run, shapes, expected = TOLD[case]
    assert macs(Generated(all_kinds(run), *map(torch.randn, shapes)), per="sample") == expected


# ---- forward passes that touch torch._dynamo -------------------------------------------------------------------------

COMPILED = """
import sys, warnings
warnings.simplefilter("ignore")
from labgrade.subjects import models
from labgrade.subjects.importing import without_dynamo
models.import_torchvision()
import torch, torch.utils.checkpoint as checkpoint
from torch import nn
from reference.macs import macs, macs_by_type
from tests.reference.generated_networks import Generated, Net

def compiled_in_forward(net, x):
    return torch.compile(lambda x: net.fc(x) @ net.fc.weight)(x)

def asks(net, x):
    return net.fc(x) if not torch._dynamo.is_compiling() else x

@torch._dynamo.disable
def disabled(net, x):
    return net.fc(x)

def disabled_by_compiler(net, x):
    return torch.compiler.disable(net.fc)(x)

def marked(net, x):
    torch._dynamo.mark_dynamic(x, 0)
    return net.fc(x)

def graph_break(net, x):
    torch._dynamo.graph_break()
    return net.fc(x)

fc = lambda: nn.Linear(8, 4, bias=False)
run = lambda net, x: net.fc(x)
makes = {
    "checkpoint": lambda: Net(lambda net, x: checkpoint.checkpoint(net.fc, x, use_reentrant=False), fc=fc()),
    "reentrant": lambda: Net(lambda net, x: checkpoint.checkpoint(net.fc, x, use_reentrant=True), fc=fc()),
    "in segments": lambda: Net(lambda net, x: checkpoint.checkpoint_sequential(net.fc, 2, x, use_reentrant=False),
                               fc=nn.Sequential(fc(), nn.ReLU())),
    "nested": lambda: Net(
        lambda net, x: checkpoint.checkpoint(
            lambda x: checkpoint.checkpoint(net.fc, x, use_reentrant=False), x, use_reentrant=False), fc=fc()),
    "compiled": lambda: Net(run, fc=torch.compile(fc())),
    "compiled root": lambda: torch.compile(Net(run, fc=fc())),
    "compiled in place": lambda: (lambda net: (net.fc.compile(), net)[1])(Net(run, fc=fc())),
    "compiled, checkpointed": lambda: Net(lambda net, x: checkpoint.checkpoint(net.fc, x, use_reentrant=False),
                                          fc=torch.compile(fc())),
    "compiled in the forward pass": lambda: Net(compiled_in_forward, fc=fc()),
    "is_compiling": lambda: Net(asks, fc=fc()),
    "compiler.is_compiling": lambda: Net(lambda net, x: net.fc(x) if not torch.compiler.is_compiling() else x, fc=fc()),
    "disabled": lambda: Net(disabled, fc=fc()),
    "disabled by the compiler": lambda: Net(disabled_by_compiler, fc=fc()),
    "marked": lambda: Net(marked, fc=fc()),
    "graph_break": lambda: Net(graph_break, fc=fc()),
}
for name, make in makes.items():
    with without_dynamo():
        subject = Generated.__new__(Generated)
        with torch.device("meta"):
            subject.network, subject.given = make().eval(), (torch.empty(3, 8),)
        print(name, macs(subject), macs_by_type(subject).get("Linear"), sep="|")
"""


@pytest.mark.slow
def test_forward_passes_that_touch_the_compiler_are_counted():
    done = subprocess.run(
        [sys.executable, "-c", COMPILED], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    rows = dict(line.split("|", 1) for line in done.stdout.splitlines())
    assert len(rows) == 15
    more = {"compiled in the forward pass": f"{LINEAR + 3 * 4 * 8}|{LINEAR}"}
    assert rows == {name: more.get(name, f"{LINEAR}|{LINEAR}") for name in rows}
