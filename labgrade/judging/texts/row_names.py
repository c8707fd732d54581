"""The names that rows go by: what people call a layer or a type of layers, and a table whose names nobody expected."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.judging.texts.unread import left_to_person
from labgrade.values import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from labgrade.judging.texts.choose_number import Choice
    from labgrade.values import Value
    from labgrade.verdict import Verdict

_PREFIXES = ("model.", "module.", "net.", "self.", "nn.", "torch.nn.")
_LAYERS = re.compile(r"(?<=\w)[-_ ]?(?:layers?|schicht(?:en)?|ebenen?|lagen?|層|层)$")
_BLANKS = re.compile(r"[\s_]+")
_DIMENSIONS = re.compile(r"(?<=[a-z])[123]d$")
_SYNONYMS = {  # what people call a type of layers, by its class without its dimensions
    "Conv": "conv convs convolution convolutions convolutional faltung faltungen 卷積 卷積層 卷积 卷积层",
    "Linear": """linears linear fc dense connected fully-connected classifier 線性層 線性 线性层 线性 全連接層 全連接
        全连接层 全连接""",
    "BatchNorm": "batchnorm batchnorms bn batch-norm batch-normalization batch-normalisation 批次正規化 批归一化",
    "MaxPool": "maxpool maxpooling max-pool max-pooling 最大池化",
    "AdaptiveAvgPool": """adaptiveavgpool avgpool avgpooling avg-pool avg-pooling average-pool average-pooling
        global-average-pool global-average-pooling globalaveragepool 平均池化""",
}
_LABEL = re.compile(r"(?:layers?|modules?|nodes?|schicht|couche|capa|層|层)[\s_#.:]{0,3}(?=\S)")


def is_of_others(table: Table, expected: Table) -> bool:
    """Whether a table bears one expected name of several, beside names that nobody asked for: `conv1`, `fc`."""
    names = names_of(expected)
    required = {row.name for row in expected.rows if not row.optional}
    found = [names.get(plain_name(row.name)) for row in table.rows]
    return len(required) > 1 and None in found and len(set(found) - {None}) == 1


def names_of(expected: Table) -> Mapping[str, str]:
    """Each name that an expected row goes by, in plain form."""
    found: dict[str, str] = {}
    for own in (True, False):
        for row in expected.rows:
            for name in (row.name,) if own else row.also_named:
                found.setdefault(plain_name(name), row.name)
    bare = {name.rpartition("::")[2]: own for name, own in found.items() if "::" in name}
    marked = {name.lstrip("_"): own for name, own in bare.items()}  # `_conv` may lose its mark in Markdown
    return {**_called(expected), **marked, **bare, **found}


def _called(expected: Table) -> Mapping[str, str]:
    """What people call the types of layers that are rows; nothing that several of them may be called."""
    of_class = ((row.name, _DIMENSIONS.sub("", row.name)) for row in expected.rows)
    names = [(each, name) for name, base in of_class for each in {base.lower(), *_SYNONYMS.get(base, "").split()}]
    shared = Counter(each for each, _ in names)
    return {each: name for each, name in names if shared[each] == 1}


def with_types_named(answer: Value, expected: Value | None) -> Value:
    """A table that was written down, with its rows named as expected where people call a type of layers by less.

    `Conv` is Conv2d where no other row can be, neither of those that are expected nor of those that were handed in.
    """
    if not isinstance(answer, Table) or not isinstance(expected, Table):
        return answer
    answer = _without_labels(answer, expected)
    called = _called(expected)
    own = {plain_name(name) for row in expected.rows for name in (row.name, *row.also_named)}
    plain = [_BLANKS.sub("-", plain_name(row.name)) for row in answer.rows]
    meant = [called.get(name, "") if name not in own else "" for name in plain]
    taken = Counter([*plain, *(name.lower() for name in meant)])
    rows = (
        replace(row, name=name) if name and taken[name.lower()] == 1 else row
        for row, name in zip(answer.rows, meant, strict=True)
    )
    return replace(answer, rows=tuple(rows))


def _without_labels(answer: Table, expected: Table) -> Table:
    """A table with `layer 0` as the row `0`, where all rows are called so and no row is expected by that."""
    own = {plain_name(name) for row in expected.rows for name in (row.name, *row.also_named)}
    bare = [_LABEL.sub("", plain_name(row.name), count=1) for row in answer.rows]
    told = all(name in own and plain_name(row.name) not in own for name, row in zip(bare, answer.rows, strict=True))
    if not bare or not told:
        return answer
    return replace(answer, rows=tuple(replace(row, name=name) for row, name in zip(answer.rows, bare, strict=True)))


def plain_name(name: str) -> str:
    """A name in lower case, without what it is a member of and what says that it is a layer: `Conv2d-Schichten`."""
    plain = _LAYERS.sub("", name.strip().lower())
    for prefix in _PREFIXES:
        plain = plain.removeprefix(prefix)
    return plain


_UNNAMED = "none of the rows bears a name that is asked for; in their order most are right"
_MOSTLY = Fraction(1, 2)


def by_order(table: Table, expected: Table, judged: Callable[[Value], Verdict], as_it_is: Choice) -> Choice | None:
    """MANUAL for a table of rows that bear no expected name where most are right in their order; else None."""
    known = names_of(expected)
    required = [row.name for row in expected.rows if not row.optional]
    if len(table.rows) != len(required) or any(plain_name(row.name) in known for row in table.rows):
        return None
    named = (replace(row, name=name) for row, name in zip(table.rows, required, strict=True))
    verdict = judged(Table(rows=tuple(named)))
    if as_it_is.verdict.credit or verdict.credit < _MOSTLY:
        return None
    return left_to_person(replace(as_it_is, verdict=verdict), _UNNAMED, "rows in their order")
