"""Small networks of our own: the zoo's `micro/` ones, and `generated/network`, built from plain data.

Stands alone, since it is loaded into students' processes with the zoo; torch is imported when a network is built.

A generated network is a list of steps, one after the other. A step is `{"layer": "Conv2d", "with": {...}}`, a layer of
torch.nn or of `OWN`; `{"join": "cat", "paths": [[...], [...]]}` (or `add`), branches of one input; or `{"twice":
[...]}`, the same modules called a second time on what they gave.
"""

from __future__ import annotations

import linecache
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import torch

GENERATED = "generated/network"
OPTIONS = frozenset({"program"})
MICRO: Mapping[str, Mapping[str, Any]] = {
    "micro/attention": {"kernel_size": 8, "stride": 8},
    "micro/averaged": {"kernel_size": 3, "dilation": 2},
    "micro/dilated": {"kernel_size": 3, "dilation": 2},
    "micro/same_padding": {"kernel_size": (3, 5), "padding": "same"},
    "micro/scales": {"kernel_size": 3, "padding": 2, "dilation": 2},
    "micro/tied": {"kernel_size": 8, "stride": 8},
    "micro/uneven_kernel": {"kernel_size": (1, 7), "stride": (2, 1), "padding": (0, 3)},
    "micro/unordered": {"kernel_size": 3, "padding": 1, "padding_mode": "circular"},
    "micro/wide_dilated": {"kernel_size": 3, "dilation": 2, "stride": (1, 2)},
    "micro/wide_norm": {"kernel_size": 3, "padding": 1},
    "micro/wide_uneven": {"kernel_size": (1, 7), "stride": (4, 2), "padding": (0, 3)},
}
_ATTENTION, _TIED = "micro/attention", "micro/tied"
_SCALES, _UNORDERED = "micro/scales", "micro/unordered"
_AVERAGED = "micro/averaged"  # with layers that other counts take for work
_DERIVED = "micro/same_padding"  # of classes derived from torch's
_NORM = "micro/wide_norm"  # whose buffers are no weights
_WIDE = "micro/wide_"  # of which megabytes are left when they are printed with two decimals
LAYERS = frozenset(
    {"AdaptiveAvgPool2d", "AvgPool2d", "BatchNorm2d", "Conv2d", "Flatten", "GELU", "LayerNorm", "Linear", "MaxPool2d"}
    | {"ReLU"}
)
JOINS: Mapping[str, str] = {"cat": "Cat", "add": "Add"}
# Classes as text, so that what a student is shown is what was run.
OWN: Mapping[str, str] = {
    "Cat": """class Cat(nn.Module):
    def __init__(self, *paths):
        super().__init__()
        self.paths = nn.ModuleList(paths)

    def forward(self, x):
        return torch.cat([path(x) for path in self.paths], dim=1)
""",
    "Add": """class Add(nn.Module):
    def __init__(self, *paths):
        super().__init__()
        self.paths = nn.ModuleList(paths)

    def forward(self, x):
        return sum(path(x) for path in self.paths)
""",
    "Twice": """class Twice(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(self.layer(x))
""",
    "Attention": """class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0]
""",
    "Recurrent": """class Recurrent(nn.Module):
    def __init__(self, kind, width, layers):
        super().__init__()
        self.rnn = getattr(nn, kind)(width, width, layers, batch_first=True, bidirectional=True)

    def forward(self, x):
        return self.rnn(x)[0]
""",
    "Up": """class Up(nn.Module):
    def __init__(self, channels, features):
        super().__init__()
        self.up = nn.ConvTranspose2d(channels, features, 3, stride=2, padding=1)

    def forward(self, x):
        return self.up(x)
""",
    "Tied": """class Tied(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.classes = nn.Linear(width, classes)
        self.scale = nn.Parameter(torch.ones(width))
        self.one = nn.Linear(width, width)
        self.other = nn.Linear(width, width, bias=False)
        self.other.weight = self.one.weight

    def forward(self, x):
        x = self.one(x * self.scale).relu()
        return self.classes(self.other(self.other(x)).mean(1))
""",
    "OwnConv2d": """class OwnConv2d(nn.Conv2d):
    pass
""",
    "OwnLinear": """class OwnLinear(nn.Linear):
    pass
""",
    "Scales": """class Scales(nn.Module):
    def __init__(self, features, options):
        super().__init__()
        self.conv = nn.Conv2d(3, features, **options)
        self.same = self.conv
        self.head = nn.Linear(2 * features, 10)

    def forward(self, x):
        small = nn.functional.max_pool2d(x, 2)
        return self.head(torch.cat([self.conv(x).mean((2, 3)), self.same(small).mean((2, 3))], dim=1))
""",
    "Unordered": """class Unordered(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.last = nn.Conv2d(6, 4, (2, 4), padding="same")
        self.larger = nn.ConvTranspose2d(8, 6, 2, stride=2)
        self.narrower = nn.Linear(40, 24)
        self.first = nn.Conv2d(3, 8, **options)

    def forward(self, x):
        return self.last(self.larger(self.narrower(self.first(x))))
""",
    "Scaled": """class Scaled(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * self.gain
""",
    "Products": """class Products(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        return (q @ k.transpose(1, 2)).softmax(dim=-1) @ v
""",
}
_HEAD = "import torch\nfrom torch import nn\n"
_MODULE = "labgrade_network"


def micro(name: str) -> torch.nn.Module:
    """A network small enough to count by hand, whose first convolution is out of the ordinary.

    `micro/attention` cuts 32x40 pixels into patches, 16 channels of which attend to one another. In `micro/tied` two
    linear layers share a weight and run on sequences, one of them twice, and two parameters belong to no layer. In
    `micro/same_padding` layers are of classes derived from torch's. The dilated convolution of `micro/scales`
    has two names and runs on two sizes; in `micro/unordered` layers run in
    another order than they are defined in, a linear one on images and a transposed convolution among them.
    `micro/averaged` has an average pool, a group norm and a GELU.
    """
    import torch
    from torch import nn

    if name == _TIED:
        network = nn.Sequential(nn.Conv2d(3, 16, **MICRO[name]), nn.Flatten(2), _own("Tied")(20, 10))
        network.register_parameter("scale", nn.Parameter(torch.ones(5)))  # that no module inside of it holds
        return network
    if name == _ATTENTION:
        patches, attention = nn.Conv2d(3, 16, **MICRO[name]), _own("Attention")(20, 2)
        return nn.Sequential(patches, nn.Flatten(2), attention, nn.Flatten(), nn.Linear(320, 10))
    if name in (_SCALES, _UNORDERED):
        own: nn.Module = _own("Scales")(8, MICRO[name]) if name == _SCALES else _own("Unordered")(MICRO[name])
        return own
    wide = name.startswith(_WIDE)
    first, second = (256, 384) if wide else (8, 12)
    conv, linear = (_own("OwnConv2d"), _own("OwnLinear")) if name == _DERIVED else (nn.Conv2d, nn.Linear)
    head, body = nn.Conv2d(3, first, **MICRO[name]), conv(first, second, 3, groups=4)
    between: list[nn.Module] = [nn.BatchNorm2d(first)] if name == _NORM else []
    if name == _AVERAGED:
        between = [nn.AvgPool2d(2), nn.GroupNorm(2, first), nn.GELU()]
    tail = nn.AdaptiveAvgPool2d(4), nn.Flatten(), linear(16 * second, 10)
    return nn.Sequential(head, *between, nn.ReLU(inplace=True), body, *tail)


def generated(program: object) -> torch.nn.Module:
    """The network that a list of steps describes, an `nn.Sequential`.

    Raises:
        ValueError: it is no such list.
    """
    from torch import nn

    try:
        return nn.Sequential(*map(_step, _as_list(program)))
    except (TypeError, KeyError, AttributeError, RuntimeError) as error:
        message = f"no network can be built from this program: {error}"
        raise ValueError(message) from error


def flat(program: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield all steps, also those within branches and repetitions, outer before inner."""
    for step in program:
        yield step
        for inner in (*step.get("paths", ()), step.get("twice", ())):
            yield from flat(inner)


def _step(step: Any) -> torch.nn.Module:
    from torch import nn

    if "join" in step:
        module: nn.Module = _own(JOINS[step["join"]])(*(_path(path) for path in _as_list(step["paths"])))
    elif "twice" in step:
        module = _own("Twice")(_path(step["twice"]))
    else:
        name, values = step["layer"], {key: _tupled(value) for key, value in step.get("with", {}).items()}
        module = getattr(nn, name)(**values) if name in LAYERS else _own(name)(**values)
    return module


def _path(steps: object) -> torch.nn.Module:
    from torch import nn

    modules = [_step(step) for step in _as_list(steps)]
    return modules[0] if len(modules) == 1 else nn.Sequential(*modules) if modules else nn.Identity()


def _as_list(value: object) -> list[Any]:
    if not isinstance(value, list):
        message = f"expected a list, got {value!r}"
        raise TypeError(message)
    return value


def _tupled(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _own(name: str) -> Any:
    """A class of `OWN`. Its source can be found (inspect, torch.jit.script), and its objects can be pickled."""
    text = _HEAD + "\n\n" + "\n\n".join(OWN.values())
    if _MODULE not in sys.modules:
        module = types.ModuleType(_MODULE)
        module.__file__ = f"<{_MODULE}>"
        linecache.cache[module.__file__] = (len(text), None, text.splitlines(keepends=True), module.__file__)
        exec(compile(text, module.__file__, "exec"), vars(module))  # noqa: S102 - the text above
        sys.modules[_MODULE] = module
    if name not in OWN:
        message = f"there is no layer '{name}'"
        raise KeyError(message)
    return vars(sys.modules[_MODULE])[name]
