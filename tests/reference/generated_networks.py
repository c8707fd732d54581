"""Networks made at random of what hides products from a counter, with their inputs: each follows from its number."""

from __future__ import annotations

import copy
import random
import warnings

import torch
import torch.utils.checkpoint
from torch import nn
from torch.nn import functional
from torch.nn.utils import parametrizations, parametrize


def as_script(what, *example):
    """A module or function as TorchScript, traced where there is an example."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch, about what courses and libraries still use
        return torch.jit.trace(what, example) if example else torch.jit.script(what)


class Net(nn.Module):
    """Children by name, and a forward pass that is a function of it and its inputs."""

    def __init__(self, run, **children):
        super().__init__()
        self._run = run
        for name, child in children.items():
            setattr(self, name, child)

    def forward(self, *given):
        return self._run(self, *given)


class Generated:
    """A subject: the same network on the meta device and with weights."""

    def __init__(self, network, *given):
        self.network, self.given = network.eval(), given

    def on_meta(self):
        try:
            return copy.deepcopy(self.network).to("meta"), tuple(x.to("meta") for x in self.given)
        except AssertionError:  # of torch, for some traced modules
            return self.network, self.given

    def with_weights(self):
        return self.network, self.given


class _Widened(nn.Module):
    """A weight that is a product of two."""

    def __init__(self, rows, columns, rank):
        super().__init__()
        self.left, self.right = nn.Parameter(torch.randn(rows, rank)), nn.Parameter(torch.randn(rank, columns))

    def forward(self, weight):
        return weight + self.left @ self.right


class _Last(nn.Module):
    """The outputs of a recurrent layer without its state."""

    def __init__(self, of):
        super().__init__()
        self.of = of

    def forward(self, x):
        return self.of(x)[0]


class _Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight @ weight

    @staticmethod
    def backward(ctx, grad):
        raise NotImplementedError


def attention(draw):
    """Scaled dot products whose leading dimensions broadcast, with masks and grouped heads."""
    batch, heads, length, source, width, values = (draw.randint(1, 5) for _ in range(6))
    which = draw.choice(["queries", "keys", "values", "mask", "one head", "groups", "3d", "all"])
    q, k = ([batch, heads, length, width], [batch, heads, source, width])
    v, mask = [batch, heads, source, values], None
    groups = draw.choice([1, 2, 3]) if which == "groups" else 1
    match which:
        case "queries":
            q[0] = 1
        case "keys":
            k[0] = 1
        case "values":
            v[:2] = [1, 1]
        case "mask":
            mask = torch.zeros(draw.choice([batch, 1]), 1, length, source)
            q[0] = k[0] = 1
            v[0] = draw.choice([1, batch])
        case "one head":
            k[1] = v[1] = 1
        case "groups":
            q[1] *= groups
        case "3d":
            q = q[1:]
            k, v = k[1:], v[1:]
    query, last = nn.Parameter(torch.randn(q)), nn.Linear(values, draw.randint(1, 6), bias=draw.random() < 0.5)

    def run(net, key, value):
        out = functional.scaled_dot_product_attention(
            net.query, key, value, attn_mask=mask if mask is None else mask.to(key.device), enable_gqa=groups > 1
        )
        return net.last(out)

    return Generated(Net(run, query=query, last=last), torch.randn(k), torch.randn(v))


def multi_head(draw):
    """Attention modules in all their spellings."""
    heads = draw.randint(1, 3)
    width = heads * draw.randint(1, 4)
    first, length, source, batch = draw.random() < 0.5, draw.randint(1, 5), draw.randint(1, 5), draw.randint(1, 4)
    kdim, vdim = draw.choice([None, 3, 5]), draw.choice([None, 2, 7])
    of = nn.MultiheadAttention(
        width,
        heads,
        bias=draw.random() < 0.5,
        add_bias_kv=draw.random() < 0.3,
        add_zero_attn=draw.random() < 0.3,
        kdim=kdim,
        vdim=vdim,
        batch_first=first,
    )
    shapes = [(batch, length), (batch, source), (batch, source)] if first else [(length, batch), (source, batch)] * 2
    shapes = shapes if first else [shapes[0], shapes[1], shapes[1]]
    given = [
        torch.randn(*shape, size) for shape, size in zip(shapes, (width, kdim or width, vdim or width), strict=True)
    ]
    weights = draw.random() < 0.5
    return Generated(Net(lambda net, q, k, v: net.of(q, k, v, need_weights=weights), of=of), *given)


def encoder(draw):
    """Layers of a transformer."""
    heads = draw.randint(1, 3)
    width, first = heads * draw.randint(1, 4), draw.random() < 0.5
    kind = draw.choice([nn.TransformerEncoderLayer, nn.TransformerDecoderLayer])
    layer = kind(width, heads, draw.randint(2, 9), batch_first=first, norm_first=draw.random() < 0.5)
    x = torch.randn(draw.randint(1, 4), draw.randint(1, 4), width)
    if kind is nn.TransformerEncoderLayer:
        return Generated(layer, x)
    return Generated(layer, x, torch.randn(x.shape[0], draw.randint(1, 4), width) if first else torch.randn_like(x))


def recurrent(draw):
    """Recurrent layers and cells, with a head."""
    width, hidden = draw.randint(1, 5), draw.randint(2, 6)
    kind = draw.choice([nn.LSTM, nn.GRU, nn.RNN])
    proj = {"proj_size": 1} if kind is nn.LSTM and draw.random() < 0.4 else {}
    two = draw.random() < 0.5
    of = kind(
        width,
        hidden,
        draw.randint(1, 3),
        bias=draw.random() < 0.7,
        batch_first=draw.random() < 0.5,
        bidirectional=two,
        **proj,
    )
    head = nn.Linear((1 if proj else hidden) * (1 + two), 3)
    shape = (draw.randint(1, 5), draw.randint(1, 4), width)[draw.random() < 0.2 :]
    return Generated(Net(lambda net, x: net.head(net.of(x)[0]), of=of, head=head), torch.randn(shape))


def cells(draw):
    """A cell in a loop of the network's own."""
    width, hidden = draw.randint(1, 5), draw.randint(1, 5)
    cell = draw.choice([nn.GRUCell, nn.RNNCell])(width, hidden)

    def run(net, x):
        state = None
        for step in x:
            state = net.cell(step, state)
        return state

    return Generated(Net(run, cell=cell), torch.randn(draw.randint(1, 5), draw.randint(1, 4), width))


def mapped(draw):
    """vmap: over a layer, over weights, nested, of a product, of a convolution."""
    many, rows, width = draw.randint(2, 6), draw.randint(1, 5), draw.randint(1, 6)
    which = draw.choice(["layer", "weights", "nested", "product", "convolution", "attention", "scripted"])
    x = torch.randn(many, rows, width)
    if which == "weights":
        weights = nn.Parameter(torch.randn(many, 3, width))
        return Generated(Net(lambda net, x: torch.vmap(functional.linear)(x, net.weights), weights=weights), x)
    if which == "nested":
        layer = nn.Linear(width, 4, bias=draw.random() < 0.5)
        return Generated(
            Net(lambda net, x: torch.vmap(torch.vmap(net.layer))(x), layer=layer), torch.randn(many, 3, rows, width)
        )
    if which == "product":
        return Generated(Net(lambda _, x: torch.vmap(lambda one: one @ one.mT)(x)), x)
    if which == "convolution":
        layer = nn.Conv1d(rows, 4, 1)
        return Generated(Net(lambda net, x: torch.vmap(net.layer)(x), layer=layer), torch.randn(many, 2, rows, width))
    if which == "attention":

        def attend(one):
            return functional.scaled_dot_product_attention(one, one, one)

        return Generated(Net(lambda _, x: torch.vmap(attend)(x)), torch.randn(many, 2, rows, width))
    if which == "scripted":
        return Generated(Net(lambda _, x: torch.vmap(as_script(_gram))(x)), x)
    layer, along = nn.Linear(width, 4, bias=draw.random() < 0.5), draw.choice([0, 1])
    return Generated(Net(lambda net, x: torch.vmap(net.layer, in_dims=along)(x), layer=layer), x)


def mixed(draw):
    """Parts under autocast: layers, products, norms, softmax, attention, and an exception from it."""
    width = draw.randint(1, 4) * 2
    bfloat = draw.choice([torch.bfloat16, torch.float16])
    parts = {
        "linear": nn.Linear(width, width, bias=draw.random() < 0.5),
        "norm": nn.LayerNorm(width),
        "soft": nn.Softmax(-1),
        "relu": nn.ReLU(),
        "attend": nn.MultiheadAttention(width, 2, batch_first=True),
        "gelu": nn.GELU(),
        "other": nn.Linear(width, width),
        "batch": nn.BatchNorm1d(3),
        "tanh": nn.Tanh(),
    }
    order = draw.sample(sorted(parts), draw.randint(2, len(parts)))
    leave = draw.random() < 0.3

    def run(net, x):
        with torch.autocast("cpu", dtype=bfloat):
            for name in order:
                part = getattr(net, name)
                x = part(x, x, x)[0] if name == "attend" else part(x)
            x = x @ x.mT
            if leave:
                with torch.autocast("cpu", enabled=False):
                    x = x.float() @ x.float()
        return x + torch.softmax(x, -1)

    return Generated(Net(run, **{name: parts[name] for name in order}), torch.randn(2, 3, width))


def checkpointed(draw):
    """Activation checkpointing, of either kind."""
    width = draw.randint(1, 6)
    of = nn.Sequential(nn.Linear(width, 5), nn.ReLU(), nn.Linear(5, draw.randint(1, 4)))
    again = draw.random() < 0.5
    net = Net(lambda net, x: torch.utils.checkpoint.checkpoint(net.of, x, use_reentrant=again), of=of)
    return Generated(net, torch.randn(draw.randint(1, 4), width))


def hooked(draw):
    """Hooks that multiply: of the root and of a child, before and behind."""
    width = draw.randint(2, 5)
    net = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width))
    for module in (net, net[0], net[2]):
        if draw.random() < 0.5:
            module.register_forward_hook(lambda _, __, out: out @ out.mT @ out)
        if draw.random() < 0.4:
            module.register_forward_pre_hook(lambda _, given: (given[0] @ given[0].mT @ given[0],))
        if draw.random() < 0.3:
            module.register_forward_hook(lambda _, __, out: torch.cat([out, out]))
    return Generated(net, torch.randn(draw.randint(1, 4), width))


def parametrised(draw):
    """Weights that are computed when they are read."""
    width, out = draw.randint(2, 6), draw.randint(2, 6)
    layer = nn.Linear(width, out)
    if draw.random() < 0.5:
        parametrize.register_parametrization(layer, "weight", _Widened(out, width, draw.randint(1, 3)))
    else:
        layer = parametrizations.weight_norm(layer)
    cached = draw.random() < 0.3

    def run(net, x):
        if cached:
            with parametrize.cached():
                return net.layer(x) + net.layer(x)
        return net.layer(x)

    return Generated(Net(run, layer=layer), torch.randn(draw.randint(1, 4), width))


def scripted(draw):
    """Parts that TorchScript runs: a layer, several, a function, a traced part, a recurrent one."""
    width, rows = draw.randint(1, 6), draw.randint(1, 5)
    x = torch.randn(rows, width)
    which = draw.choice(["layer", "several", "function", "traced", "convolution", "recurrent", "loop", "attention"])
    first = nn.Linear(width, width)
    match which:
        case "layer":
            part = as_script(nn.Linear(width, 3, bias=draw.random() < 0.5))
        case "several":
            part = as_script(nn.Sequential(nn.Linear(width, 4), nn.ReLU(), nn.LayerNorm(4), nn.Linear(4, 2)))
        case "function":
            part = as_script(_gram)
        case "loop":
            part = as_script(_powers)
        case "traced":
            made = nn.Sequential(nn.Linear(width, 4), nn.Tanh(), nn.Linear(4, 2))
            part = as_script(made.eval(), x)
        case "convolution":
            part, first = as_script(nn.Sequential(nn.Conv1d(width, 3, 1), nn.BatchNorm1d(3)).eval()), nn.Identity()
            x = torch.randn(rows, width, 4)
        case "recurrent":
            part = as_script(_Last(nn.GRU(width, 3)))
        case "attention":
            part, x = as_script(_attended), torch.randn(2, rows, width)
    if which in ("function", "loop", "attention"):
        return Generated(Net(lambda net, x: part(net.first(x)), first=first), x)
    return Generated(Net(lambda net, x: net.part(net.first(x)), first=first, part=part), x)


def functions(draw):
    """Functions whose kernels multiply, and one that brings a forward pass of its own."""
    width, rows = draw.randint(1, 6), draw.randint(2, 6)
    x, w = torch.randn(2, rows, width), nn.Parameter(torch.randn(width, 3))
    run = draw.choice(
        [
            lambda net, x: torch.einsum("brw,wo->bro", x, net.w),
            lambda net, x: torch.tensordot(x, net.w, dims=1),
            lambda net, x: torch.addmm(net.w.new_zeros(3), x.flatten(0, 1), net.w),
            lambda net, x: torch.baddbmm(net.w.new_zeros(1), x, x.mT),
            lambda net, x: torch.linalg.multi_dot([x[0], net.w, net.w.mT]),
            lambda net, x: _Twice.apply(x @ net.w, net.w.mT @ net.w),
            lambda net, x: torch.matmul(x, net.w, out=x.new_empty(0)),
            lambda _, x: torch.linalg.matrix_power(x[0] @ x[0].mT, 3),
            lambda net, x: torch.func.functional_call(
                nn.Linear(3, 3, bias=False, device=x.device), {"weight": net.w[:1].expand(3, 3)}, (x @ net.w,)
            ),
            lambda net, x: torch.utils.checkpoint.checkpoint(
                torch.vmap(lambda one: one @ net.w), x, use_reentrant=False
            ),
            lambda net, x: torch.inner(x, net.w.mT),
            lambda net, x: functional.conv1d(x.mT, net.w.mT[..., None]),
            lambda net, x: functional.conv_transpose1d(x.mT, net.w[..., None], stride=2),
        ]
    )
    return Generated(Net(run, w=w), x)


def differentiated(draw):
    """Gradients inside of a forward pass, as in energies: what they multiply runs, too."""
    width, rows = draw.randint(1, 5), draw.randint(1, 4)
    weights = {"first": nn.Parameter(torch.randn(width, 4)), "second": nn.Parameter(torch.randn(4, 1))}

    def energy(net, x):
        return (torch.tanh(x @ net.first) @ net.second).sum()

    def by_function(net, x):
        return torch.func.grad(lambda one: energy(net, one))(x)

    def each_by_function(net, x):
        return torch.vmap(torch.func.grad(lambda one: energy(net, one)))(x)

    def forward_mode(net, x):
        return torch.func.jvp(lambda one: energy(net, one), (x,), (torch.ones_like(x),))[1]

    def by_engine(net, x):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            return torch.autograd.grad(energy(net, x), x)[0]

    run = draw.choice([by_function, each_by_function, forward_mode, by_engine])
    return Generated(Net(run, **weights), torch.randn(rows, width))


def decided_by_values(draw):
    """Forward passes that look at values."""
    width = draw.randint(1, 5)
    layer = nn.Linear(width, width)

    def run(net, x):
        while float(x.abs().sum()) > 1:
            x = net.layer(x) * 0 + x * 0.5
        return x[x > 0].sum().expand(1, width) @ net.layer.weight

    return Generated(Net(run, layer=layer), torch.randn(draw.randint(1, 4), width))


def _gram(x: torch.Tensor) -> torch.Tensor:
    return x @ x.t()


def _powers(x: torch.Tensor) -> torch.Tensor:
    y = x
    for _ in range(3):
        y = torch.mm(y @ x.t(), x)
    return y


def _attended(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(torch.bmm(x, x.transpose(1, 2)), dim=-1) @ x


KINDS = (
    attention,
    multi_head,
    encoder,
    recurrent,
    cells,
    mapped,
    mixed,
    checkpointed,
    hooked,
    parametrised,
    scripted,
    functions,
    differentiated,
    decided_by_values,
)


def generated(kind, number):
    """The network of a kind and a number."""
    torch.manual_seed(number)
    return kind(random.Random(f"{kind.__name__} {number}"))  # noqa: S311 - nothing secret
