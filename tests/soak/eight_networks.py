"""Eight small networks on which counters disagree, as a course's models: what `printed.csv` was printed of.

Each has its input's shape beside it. What is right of them stands in the table.
"""

import torch
from torch import nn
from torch.nn import functional


class _Run(nn.Module):
    """Layers, parameters and buffers by name, and a forward pass over them."""

    def __init__(self, run, buffers=None, parameters=None, **layers):
        super().__init__()
        for name, layer in layers.items():
            setattr(self, name, layer)
        for name, value in (parameters or {}).items():
            setattr(self, name, nn.Parameter(value))
        for name, value in (buffers or {}).items():
            self.register_buffer(name, value)
        self._run = run

    def forward(self, x):
        return self._run(self, x)


def convs():
    features = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=2, dilation=2, groups=4, bias=False),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, stride=2, padding=1, groups=16),
    )
    pool, head = nn.AdaptiveAvgPool2d(1), nn.Linear(16, 10)
    return _Run(lambda m, x: m.head(m.pool(m.features(x)).flatten(1)), features=features, pool=pool, head=head)


def up():
    return _Run(
        lambda m, x: m.shuffle(m.mix(m.big(m.up(x)))),
        up=nn.ConvTranspose2d(8, 4, 4, stride=2, padding=1),
        big=nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False),
        mix=nn.Conv2d(4, 8, 1),
        shuffle=nn.PixelShuffle(2),
    )


def tokens():
    def run(m, x):
        x = m.into(x)
        return m.norm(x + m.attention(x, x, x, need_weights=False)[0])

    attention = nn.MultiheadAttention(16, 4, batch_first=True)
    return _Run(run, into=nn.Linear(12, 16), attention=attention, norm=nn.LayerNorm(16))


def words():
    layers = {"embed": nn.Embedding(50, 12), "lstm": nn.LSTM(12, 12, batch_first=True)}
    made = _Run(lambda m, x: m.out(m.lstm(m.embed(x))[0]), **layers, out=nn.Linear(12, 50, bias=False))
    made.out.weight = made.embed.weight
    return made


def functions():
    def run(m, x):
        x = functional.relu(functional.conv2d(x, m.kernel)).flatten(2).transpose(1, 2)
        x = functional.linear(x, m.weight) @ m.mixer
        return torch.einsum("btk,btl->bkl", x, x)

    own = {"kernel": torch.randn(6, 3, 3, 3), "weight": torch.randn(20, 6), "mixer": torch.randn(20, 5)}
    return _Run(run, parameters=own)


def shared():
    def run(m, x):
        x = m.frozen(x)
        for _ in range(3):
            x = torch.relu(m.norm(m.block(x)))
        return m.head(x.mean((2, 3))) * m.scale[:2]

    made = _Run(
        run,
        buffers={"scale": torch.ones(100)},
        frozen=nn.Conv2d(3, 6, 1),
        block=nn.Conv2d(6, 6, 3, padding=1, bias=False),
        norm=nn.BatchNorm2d(6),
        head=nn.Linear(6, 2),
    )
    made.frozen.requires_grad_(False)
    return made


def attend():
    def run(m, x):
        x = m.patch(x).flatten(2).transpose(1, 2) + m.place
        q, k, v = m.qkv(x).view(1, 16, 3, 4, 4).permute(2, 0, 3, 1, 4)
        return m.out(functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(1, 16, 16))

    layers = {"patch": nn.Conv2d(3, 16, 4, stride=4), "qkv": nn.Linear(16, 48, bias=False), "out": nn.Linear(16, 16)}
    return _Run(run, parameters={"place": torch.zeros(1, 16, 16)}, **layers)


def edge():
    def run(m, x):
        x = functional.hardswish(m.norm(m.stem(x)))
        gate = torch.sigmoid(m.excite(functional.silu(m.squeeze(functional.adaptive_avg_pool1d(x, 1)))))
        return m.head((x * gate).flatten(1))

    return _Run(
        run,
        stem=nn.Conv1d(4, 8, 7, stride=2, padding=3),
        norm=nn.GroupNorm(2, 8),
        squeeze=nn.Conv1d(8, 2, 1),
        excite=nn.Conv1d(2, 8, 1),
        head=nn.Linear(128, 3),
    )
