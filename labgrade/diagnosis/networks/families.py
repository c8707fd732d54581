"""Families of random subjects, as Hypothesis strategies: what they are made of shrinks towards one tiny layer."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labgrade.core.task import InputSpec, SubjectSpec
from labgrade.diagnosis.networks.random_layers import (
    Attention,
    Branches,
    Conv,
    Linear,
    Plain,
    PoolLayer,
    Residual,
    Twice,
    program,
)
from labgrade.subjects.networks import GENERATED, flat

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from labgrade.diagnosis.networks.random_layers import Shape, Wish

_MOST_STEPS = 5
_MOST_TOKENS = 6
_MLP = "linear/mlp.onnx"


def strategy(among: str, like: SubjectSpec | None) -> SearchStrategy[SubjectSpec]:
    """Return the strategy for random subjects of a family. `like` is the task's own subject, perhaps a file."""
    from hypothesis import strategies as st

    if among == "sizes":
        return _sizes(like)
    body, shape = {"cnn": _cnn, "linear": _linear, "attention": _attention}[among]()
    suffix = ".onnx" if like is not None and like.is_onnx else ""
    kept = {key: like.options[key] for key in ("opset",) if like is not None and suffix and key in like.options}

    def subject(parts: tuple[Shape, list[Wish], Wish]) -> SubjectSpec:
        shape, body, last = parts
        steps: Any = program([*body, last], shape, as_file=bool(suffix))
        options: dict[str, Any] = {**kept, "program": _for_a_file(steps) if suffix else steps}
        return SubjectSpec(model=GENERATED + suffix, input=InputSpec(shape=shape), options=options, passing=True)

    wishes, last = body
    return st.tuples(shape, st.lists(wishes, max_size=_MOST_STEPS), last).map(subject)


def _for_a_file(steps: Any) -> Any:
    """Return the steps without dilation where padding='same': onnxruntime runs no such file."""
    for step in flat(steps):
        if step.get("with", {}).get("padding") == "same":
            step["with"].pop("dilation", None)
    return steps


def _sizes(like: SubjectSpec | None) -> SearchStrategy[SubjectSpec]:
    """Return the strategy for the task's linear layer in other sizes, or for files of one or two linear layers."""
    from hypothesis import strategies as st

    size = st.integers(1, 200)

    def subject(m: int, k: int, widths: list[int], others: dict[str, Any]) -> SubjectSpec:
        shape = (m, k)
        if like is None or like.model != "linear/layer.onnx":
            options = {**others, "widths": widths}
            return SubjectSpec(model=_MLP, input=InputSpec(shape=shape), options=options, passing=True)
        options = {**like.options, "widths": widths}
        return replace(like, input=replace(like.input, shape=shape), options=options, passing=True)

    if like is not None and like.model == "linear/layer.onnx":
        return st.builds(subject, size, size, size.map(lambda n: [n]), st.just({}))
    spelled = st.booleans().map(lambda bias: {"bias": not bias, "spelled": "matmul" if bias else "gemm"})  # as exported
    return st.builds(subject, st.integers(1, 4), size, st.lists(size, min_size=1, max_size=2), spelled)


@functools.cache
def _cnn() -> Any:
    from hypothesis import strategies as st

    conv, linear = _conv(), _over_features()
    flags = st.booleans()
    pool = st.builds(
        PoolLayer,
        kind=st.sampled_from(["MaxPool2d", "AvgPool2d"]),
        kernel=st.integers(2, 3),
        stride=st.sampled_from([2, 1, 3]),
        padding=flags,
        ceil_mode=flags,
    )
    plain = st.builds(Plain, kind=st.sampled_from(["ReLU", "BatchNorm2d", "AdaptiveAvgPool2d"]))
    branches = st.builds(Branches, join=st.sampled_from(["add", "cat"]), one=conv, other=st.one_of(st.none(), conv))
    twice = st.builds(Twice, conv=conv)
    images = st.tuples(st.integers(1, 3), st.integers(1, 6), st.integers(1, 12), st.integers(1, 12))
    return (st.one_of(conv, pool, plain, branches, twice, pool), st.one_of(conv, linear)), images


@functools.cache
def _linear() -> Any:
    from hypothesis import strategies as st

    linear, flags = _over_features(), st.booleans()
    plain = st.builds(Plain, kind=st.sampled_from(["ReLU", "LayerNorm"]))
    body = st.one_of(linear, plain, st.builds(Residual, bias=flags), st.builds(Twice, bias=flags))
    sizes = st.lists(st.integers(1, 6), min_size=2, max_size=4).map(tuple)
    return (body, linear), sizes


@functools.cache
def _attention() -> Any:
    from hypothesis import strategies as st

    linear, flags = _over_features(), st.booleans()
    attention = st.builds(Attention, heads=st.integers(1, 4), by_hand=flags)
    plain = st.builds(Plain, kind=st.sampled_from(["GELU", "LayerNorm"]))
    body = st.one_of(linear.map(lambda each: replace(each, flatten=False)), plain, attention, attention)
    body = st.one_of(body, st.builds(Residual, bias=flags), st.builds(Twice, bias=flags))
    tokens = st.tuples(st.integers(1, 3), st.integers(1, _MOST_TOKENS), st.integers(1, 8))
    return (body, st.one_of(linear, attention)), tokens


def _conv() -> Any:
    from hypothesis import strategies as st

    def pair(low: int, high: int) -> Any:
        return st.tuples(st.integers(low, high), st.integers(low, high))

    return st.builds(
        Conv,
        kernel=pair(1, 4),
        groups=st.integers(1, 4),
        times=st.integers(1, 3),
        stride=st.one_of(st.just((1, 1)), pair(1, 3)),
        padding=st.one_of(st.just((0, 0)), pair(0, 2), st.just("same")),
        dilation=st.one_of(st.just((1, 1)), pair(1, 3)),
        bias=st.booleans(),
    )


def _over_features() -> Any:
    from hypothesis import strategies as st

    return st.builds(Linear, outputs=st.integers(1, 6), flatten=st.booleans(), bias=st.booleans())
