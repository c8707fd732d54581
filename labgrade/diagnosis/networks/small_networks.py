"""The small networks that a wrong function is called on: a plain one, one for each peculiarity, and rich ones.

The same for everybody, so that what is said of a function is the same every time.
"""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from labgrade.core.task import InputSpec, SubjectSpec
from labgrade.diagnosis.networks.random_layers import (
    Attention,
    Branches,
    Conv,
    Linear,
    Plain,
    PoolLayer,
    Recurrent,
    Scaled,
    Tied,
    Twice,
    Up,
    program,
)
from labgrade.subjects.networks import GENERATED, flat

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from labgrade.diagnosis.networks.random_layers import Shape, Wish


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallNetwork:
    """A network with the words for its peculiarity; a rich network has none.

    `rank`: how well it tells hypotheses apart. `rare`: 1 if it has what no network of images has, 2 if that is nested
    nodes.
    """

    subject: SubjectSpec
    words: str
    rank: int
    rare: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wished:
    """A network before its layers are fitted."""

    words: str
    wishes: Sequence[Wish]
    shape: Shape = (1, 3, 9, 9)
    options: dict[str, Any] = field(default_factory=dict)


AGAIN = "a layer that is called twice"
_MORE, _HALF = 10, 0.5
_CONV, _LINEAR = Conv(kernel=(3, 3), times=4), Linear(outputs=5, flatten=True)
_RELU, _NORM = Plain(kind="ReLU"), Plain(kind="BatchNorm2d")
_PLAIN = "plain convolutions and linear layers"
_BIASED = Conv(kernel=(3, 3), times=4, bias=True)


def _alone(words: str, wish: Wish, shape: Shape = (1, 3, 9, 9)) -> _Wished:
    return _Wished(words=words, wishes=(wish, _RELU, _LINEAR), shape=shape)


_IMAGES = (
    _Wished(words=_PLAIN, wishes=(_CONV, _RELU, Conv(kernel=(1, 1), times=6))),
    _Wished(words=_PLAIN, wishes=(_CONV, _RELU, Conv(kernel=(2, 2), times=5)), shape=(1, 3, 12, 10)),
    _Wished(words="a batch of several", wishes=(_CONV, _RELU, Conv(kernel=(2, 2), times=2)), shape=(2, 3, 8, 8)),
    _Wished(words="an adaptive pool", wishes=(_CONV, Plain(kind="AdaptiveAvgPool2d"), _LINEAR)),
    _Wished(words=_PLAIN, wishes=(_CONV, _RELU, _LINEAR)),
    _Wished(words=_PLAIN, wishes=(_CONV, _RELU, Conv(kernel=(1, 1), times=6), _LINEAR), shape=(1, 2, 7, 7)),
    _Wished(words="an image that is not square", wishes=(_CONV, _RELU, _LINEAR), shape=(1, 3, 8, 11)),
    _Wished(words="a batch of several", wishes=(_CONV, _RELU, _LINEAR), shape=(3, 3, 9, 9)),
    _alone("biases", _BIASED),
    _alone("groups", Conv(kernel=(3, 3), groups=2, times=3), (1, 4, 9, 9)),
    _alone("depthwise convolutions", Conv(kernel=(3, 3), groups=4, times=1), (1, 4, 9, 9)),
    _alone("a stride", Conv(kernel=(3, 3), times=4, stride=(2, 2))),
    _alone("padding", Conv(kernel=(3, 3), times=4, padding=(1, 1))),
    _alone("padding='same'", Conv(kernel=(3, 3), times=4, padding="same")),
    _alone("dilation", Conv(kernel=(3, 3), times=4, dilation=(2, 2))),
    _alone("a kernel that is not square", Conv(kernel=(2, 4), times=4)),
    _Wished(words="batch norm", wishes=(_CONV, _NORM, _RELU, _LINEAR)),
    _Wished(words="pools", wishes=(_CONV, PoolLayer(kernel=2, stride=2), Conv(kernel=(2, 2), times=3), _LINEAR)),
    _Wished(
        words="pools with ceil_mode",
        wishes=(_CONV, PoolLayer(kernel=3, stride=2, ceil_mode=True), Conv(kernel=(2, 2), times=3), _LINEAR),
        shape=(1, 3, 10, 10),
    ),
    _Wished(words=AGAIN, wishes=(_CONV, Twice(conv=Conv(kernel=(3, 3))), _LINEAR)),
    _Wished(
        words="branches",
        wishes=(
            _CONV,
            Branches(join="cat", one=Conv(kernel=(1, 1), times=2), other=Conv(kernel=(3, 3), times=3)),
            _LINEAR,
        ),
    ),
    _Wished(
        words="",
        shape=(2, 4, 13, 16),
        wishes=(
            Conv(kernel=(3, 2), groups=2, times=3, stride=(2, 1), padding=(1, 2), dilation=(1, 2), bias=True),
            _NORM,
            _RELU,
            PoolLayer(kernel=3, stride=2, ceil_mode=True, padding=True),
            Conv(kernel=(1, 1), times=4),
            Conv(kernel=(1, 3), times=5, padding="same"),
            PoolLayer(kind="AvgPool2d", kernel=2, stride=1),
            Linear(outputs=7, flatten=True, bias=True),
            _RELU,
            Linear(outputs=3, bias=True),
        ),
    ),
    _Wished(
        words="",
        shape=(3, 3, 17, 12),
        wishes=(
            Conv(kernel=(2, 3), times=6, stride=(1, 2), padding=(2, 1), bias=True),
            PoolLayer(kernel=2, stride=2, ceil_mode=True),
            _NORM,
            Twice(conv=Conv(kernel=(3, 1), groups=3)),
            Conv(kernel=(2, 2), groups=3, times=4, dilation=(2, 1)),
            _NORM,
            _RELU,
            Plain(kind="AdaptiveAvgPool2d"),
            Linear(outputs=5, flatten=True, bias=True),
        ),
    ),
    _Wished(
        words="",
        shape=(2, 6, 11, 14),
        wishes=(
            Conv(kernel=(4, 2), times=5, groups=3, stride=(3, 2), padding=(1, 0)),
            _NORM,
            Branches(join="add", one=Conv(kernel=(3, 3), groups=5), other=None),
            Conv(kernel=(1, 1), times=8, bias=True),
            PoolLayer(kernel=2, stride=1),
            Linear(outputs=11, flatten=True),
        ),
    ),
)
_TOKENS = (
    _Wished(
        words="linear layers on sequences",
        wishes=(Linear(outputs=5), Plain(kind="GELU"), Linear(outputs=3, bias=True)),
        shape=(2, 5, 4),
    ),
    _Wished(
        words="linear layers on sequences",
        wishes=(Linear(outputs=3), _RELU, Linear(outputs=4, bias=True)),
        shape=(3, 4, 6),
    ),
)
_ATTENTION = (
    _Wished(words="recurrent layers", wishes=(Recurrent(layers=2), Linear(outputs=3, bias=True)), shape=(2, 5, 4)),
    _Wished(words="recurrent layers", wishes=(Recurrent(kind="LSTM"), Linear(outputs=4)), shape=(3, 4, 6)),
    _Wished(words="transposed convolutions", wishes=(Conv(kernel=(3, 3)), Up(), Linear(outputs=3)), shape=(2, 3, 5, 6)),
    _Wished(words="attention modules", wishes=(Attention(heads=2), Linear(outputs=3)), shape=(2, 5, 4)),
    _Wished(
        words="attention written with products", wishes=(Attention(by_hand=True), Linear(outputs=3)), shape=(2, 5, 4)
    ),
    _Wished(
        words="",
        shape=(3, 6, 8),
        wishes=(
            Linear(outputs=6, bias=True),
            Attention(heads=3),
            Plain(kind="LayerNorm"),
            Attention(by_hand=True),
            Linear(outputs=7),
        ),
    ),
)
_DERIVED = (
    _Wished(
        words="layers of classes derived from torch's",
        wishes=(Conv(kernel=(3, 3), times=4, own=True), _RELU, Conv(kernel=(2, 2), times=5), _LINEAR),
    ),
    _Wished(
        words="layers of classes derived from torch's",
        wishes=(_CONV, _RELU, Linear(outputs=6, flatten=True, own=True), Linear(outputs=3)),
        shape=(2, 2, 7, 6),
    ),
)
_TIED = (
    _Wished(words="layers that share a weight", wishes=(Tied(outputs=3),), shape=(2, 5, 4)),
    _Wished(words="layers that share a weight", wishes=(Linear(outputs=6), Tied(outputs=2)), shape=(3, 3, 4)),
    _Wished(words="a layer written by oneself", wishes=(Linear(outputs=6), Scaled(), _RELU), shape=(3, 3, 4)),
)


_FILES: tuple[tuple[str, str, Shape], ...] = (
    ("dynamic_batch", "an input without a size for the batch", (1, 3, 16, 16)),
    ("lenet", "an input without a size for the batch", (1, 1, 28, 28)),
    ("batch_skip", "a tensor that is read again later", (3, 4, 8, 6)),
    ("narrow_skip", "a tensor that is read again later", (2, 3, 5, 7)),
    ("two_branches", "a tensor that waits for another branch", (2, 4, 6, 5)),
    ("shape_chain", "shapes that nodes compute", (1, 3, 12, 12)),
    ("shape_chain_wide", "shapes that nodes compute", (1, 2, 8, 10)),
    ("int8_float16", "tensors of int8 and float16", (1, 3, 10, 10)),
    ("int4", "weights of four bits", (2, 5)),
    ("int4_wide", "weights of four bits", (2, 7)),
    ("typed_data", "weights in fields of their type (float_data)", (2, 6)),
    ("typed_data_wide", "weights in fields of their type (float_data)", (2, 10)),
    ("split_in_two", "nodes of several outputs and a tensor of float16", (2, 8)),
    ("split_in_three", "nodes of several outputs and a tensor of float16", (2, 9)),
)
_NESTED: tuple[tuple[str, str, Shape], ...] = (
    ("chosen_first", "an If with graphs inside", (2, 4)),
    ("chosen_second", "an If with graphs inside", (2, 6)),
    ("branch_and_loop", "a Loop", (1, 6)),
    ("ends_early", "a Loop", (4, 6)),
    ("scanned", "a Scan", (5, 4)),
    ("if_in_loop", "an If inside of a Loop", (2, 4)),
    ("if_in_loop", "an If inside of a Loop", (3, 4)),
    ("called_once", "functions of the file's own", (2, 5)),
    ("called_often", "functions of the file's own", (2, 3)),
)


def _files() -> Iterator[SmallNetwork]:
    for rare, files in ((1, _FILES), (2, _NESTED)):
        for name, words, shape in files:
            subject = SubjectSpec(model=f"micro/{name}.onnx", input=InputSpec(shape=shape), passing=True)
            yield SmallNetwork(subject=subject, words=words, rank=0, rare=rare)


@functools.cache
def networks(
    *, as_files: bool = False, of_all: bool = False, attention: bool = False, derived: bool = False
) -> tuple[SmallNetwork, ...]:
    """Return the networks; for a question about ONNX files as such, with files of what no network of images has.

    `of_all`: for quantities that are not about some types of layers alone, with networks whose first layer is frozen.
    `attention`: with those that attend, and with layers that share a weight. `derived`: with layers of classes derived
    from torch's.
    """
    wished = (*_IMAGES, *(_TOKENS[1:] if as_files else _TOKENS))
    found = [_network(each, as_files=as_files) for each in wished]
    if as_files:
        found += _files()
    if attention and not as_files:
        found += [replace(_network(each, as_files=False), rare=1) for each in (*_ATTENTION, *_TIED)]
    if derived and not as_files:
        found += [replace(_network(each, as_files=False), rare=1) for each in _DERIVED]
    if of_all and not as_files:
        found += [_network(each, as_files=False, frozen=True) for each in (_IMAGES[4], *_IMAGES[-3:])]
    return tuple(found)


def more(*, as_files: bool, seed: int = 0) -> Iterator[SmallNetwork]:
    """Yield random networks, the same each time, one of which may tell hypotheses apart."""
    chance = random.Random(seed)  # noqa: S311 - the same words every time are what is wanted
    for _ in range(_MORE):
        pairs = [(chance.randint(1, 3), chance.randint(1, 3)) for _ in range(4)]
        conv = Conv(
            kernel=pairs[0],
            groups=chance.randint(1, 3),
            times=chance.randint(1, 3),
            stride=pairs[1],
            padding=pairs[2],
            dilation=pairs[3],
            bias=chance.random() < _HALF,
        )
        others: tuple[Wish, ...] = (
            _NORM,
            _RELU,
            PoolLayer(kernel=2, stride=2, ceil_mode=True),
            Twice(conv=Conv(kernel=(3, 3)), shrinking=True),
        )
        body: list[Wish] = chance.sample([conv, Conv(kernel=pairs[3], times=2), *others], 4)
        shape = (chance.randint(2, 4), *(chance.randint(low, low + 6) for low in (2, 11, 13)))
        last = Linear(outputs=chance.randint(2, 7), flatten=chance.random() < _HALF, bias=chance.random() < _HALF)
        yield _network(_Wished(words="", wishes=(*body, last), shape=shape), as_files=as_files)


def _network(wished: _Wished, *, as_files: bool, frozen: bool = False) -> SmallNetwork:
    steps: Any = program(list(wished.wishes), wished.shape, as_file=as_files)
    if as_files:
        for step in flat(steps):
            if step.get("with", {}).get("padding") == "same":
                step["with"].pop("dilation", None)
    options: dict[str, Any] = {"program": steps, **({"frozen": ["0"]} if frozen else {})}
    model = f"{GENERATED}.onnx" if as_files else GENERATED
    subject = SubjectSpec(model=model, input=InputSpec(shape=wished.shape), options=options, passing=True)
    words = "frozen layers" if frozen and wished.words else wished.words
    return SmallNetwork(subject=subject, words=words, rank=len(str(steps)))
