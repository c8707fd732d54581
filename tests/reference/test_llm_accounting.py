"""The accounting of large models beside what does it: modules on the meta device, an optimiser, a ring, bytes."""

import numpy as np
import pytest
import torch
from helpers.direct import task
from helpers.samples import ROOT
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from labgrade.spec import course
from labgrade.subjects.models import Subject
from tests.reference.subjects import Given

FOUND = course.find(ROOT)
CONFIGS = [
    {"layers": 3, "width": 96, "heads": 5, "kv_heads": 1, "head_dim": 24, "ff": 250, "vocab": 1001},
    {"layers": 2, "width": 64, "heads": 4, "kv_heads": 2, "head_dim": 20, "ff": 130, "vocab": 77, "tied": True},
    {"layers": 1, "width": 48, "heads": 3, "kv_heads": 3, "head_dim": 16, "ff": 90, "vocab": 50, "ff_matrices": 2},
]


def quantity(name):
    return FOUND.quantities.get(name).load()


class Layer(nn.Module):
    """Attention with shared heads, written by hand, and a feed-forward part."""

    def __init__(self, config):
        super().__init__()
        self.heads, self.groups, self.size = config["heads"], config["kv_heads"], config["head_dim"]
        width, ff = config["width"], config["ff"]
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(2))
        self.q = nn.Linear(width, self.heads * self.size, bias=False)
        self.k = nn.Linear(width, self.groups * self.size, bias=False)
        self.v = nn.Linear(width, self.groups * self.size, bias=False)
        self.o = nn.Linear(self.heads * self.size, width, bias=False)
        self.gate = nn.Linear(width, ff, bias=False) if config.get("ff_matrices", 3) == 3 else None
        self.up = nn.Linear(width, ff, bias=False)
        self.down = nn.Linear(ff, width, bias=False)

    def forward(self, x):
        batch, tokens, _ = x.shape
        y = self.norms[0](x)
        q = self.q(y).view(batch, tokens, self.heads, self.size).transpose(1, 2)
        self.cached = [each(y) for each in (self.k, self.v)]
        k, v = (each.view(batch, tokens, self.groups, self.size).transpose(1, 2) for each in self.cached)
        k, v = (each.repeat_interleave(self.heads // self.groups, dim=1) for each in (k, v))
        x = x + self.o((torch.softmax(q @ k.transpose(2, 3), -1) @ v).transpose(1, 2).reshape(batch, tokens, -1))
        y = self.norms[1](x)
        up = self.up(y)
        return x + self.down(up if self.gate is None else up * nn.functional.silu(self.gate(y)))


class Decoder(nn.Module):
    """A decoder as the tasks describe it."""

    def __init__(self, config):
        super().__init__()
        self.embedding = nn.Embedding(config["vocab"], config["width"])
        self.layers = nn.ModuleList(Layer(config) for _ in range(config["layers"]))
        self.norm = nn.RMSNorm(config["width"])
        self.head = nn.Linear(config["width"], config["vocab"], bias=False)
        if config.get("tied"):
            self.head.weight = self.embedding.weight

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def decoder(config, device="meta"):
    with torch.device(device):
        return Decoder(config)


@pytest.mark.parametrize("config", CONFIGS)
def test_parameters_are_those_of_a_module(config):
    assert quantity("decoder_parameters")(config) == sum(each.numel() for each in decoder(config).parameters())


@pytest.mark.parametrize("config", CONFIGS)
def test_flops_and_the_cache_are_those_of_a_forward_pass(config):
    config = {**config, "tokens": 7, "batch": 2, "bytes": 4}
    module = decoder(config)
    with FlopCounterMode(display=False) as counter:
        module(torch.zeros(2, 7, dtype=torch.int64, device="meta"))
    assert quantity("decoder_flops")(config) == counter.get_total_flops()
    cached = sum(each.numel() * each.element_size() for layer in module.layers for each in layer.cached)
    assert quantity("kv_cache_bytes")(config) == cached


def test_training_memory_is_what_adamw_holds():
    config = {**CONFIGS[0], "weight_bytes": 4, "gradient_bytes": 4, "moment_bytes": 4}
    module = decoder(config, "cpu")
    optimiser = torch.optim.AdamW(module.parameters())
    module(torch.zeros(1, 3, dtype=torch.int64)).sum().backward()
    optimiser.step()
    held = [*module.parameters(), *(each.grad for each in module.parameters())]
    held += [state[name] for state in optimiser.state.values() for name in ("exp_avg", "exp_avg_sq")]
    assert quantity("adamw_bytes")(config) == sum(each.numel() * each.element_size() for each in held)
    copied = sum(4 * each.numel() for each in module.parameters())
    mixed = {**config, "weight_bytes": 2, "gradient_bytes": 2, "copy_bytes": 4}
    assert quantity("adamw_bytes")(mixed) == quantity("adamw_bytes")(config) - copied + copied


@pytest.mark.parametrize("targets", [["q", "v"], ["down"], ["q", "k", "v", "o", "gate", "up", "down"]])
def test_lora_trains_two_factors_beside_each_matrix(targets):
    config = {**CONFIGS[0], "rank": 3, "targets": targets}
    layers = [getattr(layer, name) for layer in decoder(config).layers for name in targets]
    factors = [
        (nn.Linear(each.in_features, 3, bias=False), nn.Linear(3, each.out_features, bias=False)) for each in layers
    ]
    trained = sum(each.weight.numel() for pair in factors for each in pair)
    assert quantity("lora_parameters")(config) == trained


@pytest.mark.parametrize(("columns", "bits", "group"), [(256, 4, 128), (101, 4, 33), (37, 3, 8), (5, 2, 8)])
def test_weights_in_groups_take_as_many_bytes_as_they_are_packed_into(columns, bits, group):
    def packed(numbers):
        every_bit = "".join(f"{number:0{bits}b}" for number in numbers)
        return len(bytes(int(every_bit[at : at + 8].ljust(8, "0"), 2) for at in range(0, len(every_bit), 8)))

    draw, size = np.random.default_rng(0), 0
    for _ in range(3):
        row = draw.normal(size=columns)
        groups = [row[at : at + group] for at in range(0, columns, group)]
        scales = np.array([np.ptp(each) for each in groups], np.float16)
        size += (
            packed(draw.integers(0, 2**bits, columns)) + packed(draw.integers(0, 2**bits, len(groups))) + scales.nbytes
        )
    config = {"rows": 3, "columns": columns, "bits": bits, "group": group}
    assert quantity("grouped_weight_bytes")(config) == size


@pytest.mark.parametrize(("workers", "elements"), [(2, 10), (3, 10), (5, 5), (7, 1000), (8, 3)])
def test_a_ring_adds_up_with_as_many_bytes(workers, elements):
    chunk = -(-elements // workers)
    draw = np.random.default_rng(1)
    held = [draw.integers(0, 9, (workers, chunk)).astype(np.float32) for _ in range(workers)]
    total, sent = sum(held), [0] * workers
    for step in range(2 * (workers - 1)):
        places = [
            (who - step) % workers if step < workers - 1 else (who + 1 - step + workers - 1) % workers
            for who in range(workers)
        ]
        passed = [held[who][place].copy() for who, place in enumerate(places)]
        for who, (place, piece) in enumerate(zip(places, passed, strict=True)):
            sent[who] += piece.nbytes
            other = held[(who + 1) % workers]
            other[place] = other[place] + piece if step < workers - 1 else piece
    assert all((each == total).all() for each in held)
    assert set(sent) == {quantity("ring_all_reduce_bytes")({"workers": workers, "elements": elements, "bytes": 4})}


@pytest.mark.slow
@pytest.mark.parametrize("model", ["torchvision/squeezenet1_1", "torchvision/mobilenet_v2", "micro/dilated"])
def test_the_intensity_is_that_of_what_torch_counts_and_holds(model):
    subject = Subject(model=model, shape=(1, 3, 64, 64))
    module, given = subject.on_meta()
    held = []
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            layer.register_forward_hook(lambda own, x, y: held.extend([x[0], y, *own.state_dict().values()]))
    with FlopCounterMode(display=False) as counter:
        module(given)
    flops, moved = counter.get_total_flops(), sum(each.numel() * each.element_size() for each in held)
    assert quantity("arithmetic_intensity")(subject) == pytest.approx(flops / moved, rel=1e-12)
    roof = {"peak": 1e9, "bandwidth": 1e9 * moved / flops}
    assert quantity("attainable_flops")(subject, **roof) == pytest.approx(1e9)
    assert quantity("attainable_flops")(subject, peak=1e12, bandwidth=1e3) == pytest.approx(1e3 * flops / moved)


ASKED = {**CONFIGS[0], "tokens": 7, "batch": 2, "bytes": 4, "rank": 3, "targets": ["q", "v"]}
ASKED |= {"weight_bytes": 2, "gradient_bytes": 2, "moment_bytes": 4, "copy_bytes": 4}
ASKED |= {"rows": 3, "columns": 101, "bits": 4, "group": 33, "workers": 7, "elements": 1000}
SLIPS = [
    entry
    for entry in FOUND.quantities.entries.values()
    if entry.file.name in ("decoders.py", "machines.py") and entry.slip is not None and entry.takes == ("config",)
]


@pytest.mark.parametrize("entry", SLIPS, ids=lambda entry: entry.name)
def test_a_slip_gives_another_value_where_there_is_an_occasion(entry):
    config = {**ASKED, "tied": True} if entry.name == "decoder_parameters_of_two_embeddings" else ASKED
    assert entry.load()(config) != quantity(entry.slip.of[0])(config)


@pytest.mark.parametrize(
    ("name", "quantity", "slip", "mistake"),
    [
        ("llm-forward-flops", "decoder_flops", "decoder_macs", {"batch": 1}),
        ("llm-lora", "lora_parameters", "lora_parameters_of_one_factor", {"targets": ["q"]}),
        ("llm-ring", "ring_all_reduce_bytes", "ring_all_reduce_bytes_together", {"bytes": 32}),
    ],
)
def test_a_batch_of_one_queries_alone_and_bits_are_not_what_a_hint_speaks_of(name, quantity, slip, mistake):
    own = dict(task(name, "llm-accounting").subject.options)
    right, known = (FOUND.quantities.get(each).load() for each in (quantity, slip))
    assert right({**own, **mistake}) != known(own)


def test_the_mean_of_the_layers_intensities_is_a_slip_of_that_of_the_network():
    subject = Given(lambda: nn.Sequential(nn.Linear(8, 4, bias=False), nn.Linear(4, 2, bias=False)), (3, 8))
    first, second = 2 * 3 * 32 / (4 * (24 + 32 + 12)), 2 * 3 * 8 / (4 * (12 + 8 + 6))
    assert quantity("arithmetic_intensity_averaged")(subject) == pytest.approx((first + second) / 2)
