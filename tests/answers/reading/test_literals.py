"""Tables that are printed as Python or JSON does."""

from __future__ import annotations

import json
from collections import Counter, OrderedDict

import pytest
from helpers.linear import takes_linear_time

from labgrade.answers.reading.tabular.tables import find_every
from labgrade.core.task import TableType

KIND = TableType(row="type", columns={"count": "count"})
LAYERS = TableType(row="layer", columns={"parameters": "count", "output_shape": "shape"})
COUNTS = {"Conv": 52, "Clip": 35, "Gemm": 1}
PAIRS = list(COUNTS.items())
ROWS = [{"type": name, "count": count} for name, count in PAIRS]


def read(text, kind=KIND):
    return [
        [(row.name, *(getattr(cell, "value", cell) for cell in row.cells.values())) for row in each.table.rows]
        for each in find_every(text, 0, len(text), kind)
    ]


@pytest.mark.parametrize(
    "text",
    [
        repr(COUNTS),
        repr(Counter(COUNTS)),
        repr(OrderedDict(COUNTS)),
        f"defaultdict(<class 'int'>, {COUNTS})",
        f"dict_items({PAIRS})",
        repr(Counter(COUNTS).most_common()),
        "\n".join(map(repr, PAIRS)),
        repr([list(pair) for pair in PAIRS]),
        repr([["type", "count"], *map(list, PAIRS)]),
        repr([(count, name) for name, count in PAIRS]),
        repr(ROWS),
        "\n".join(map(repr, ROWS)),
        "\n".join(map(json.dumps, ROWS)),
        json.dumps(COUNTS, indent=2),
        json.dumps({"nodes": 88, "by_type": COUNTS, "model": "mbv2"}, indent=2),
        repr({"type": list(COUNTS), "count": list(COUNTS.values())}),
        repr({"type": dict(enumerate(COUNTS)), "count": dict(enumerate(COUNTS.values()))}),
        f"{list(COUNTS)}\n{list(COUNTS.values())}",
        f"names: {list(COUNTS)}\ncounts: {list(COUNTS.values())}",
        "{Conv: 52, Clip: 35, Gemm: 1}",
        "{<class 'onnx.Conv'>: 52, <class 'onnx.Clip'>: 35, <class 'onnx.Gemm'>: np.int64(1)}",
        f"Operators: {COUNTS}",
        repr({**COUNTS, "total": 88}),
    ],
)
def test_counts_in_every_dress(text):
    assert sorted(PAIRS) in [sorted(found) for found in read(text)]


@pytest.mark.parametrize(
    "text",
    [
        f"counts = {COUNTS}",
        f"print({COUNTS})",
        f"return {COUNTS}",
        "f'{name}: {count}'",
        "{Conv, Clip}",
        "['Conv', 'Clip']\n[52, 35, 1]",
        "see [1] and (2)",
        "{'a': ",
    ],
)
def test_code_and_halves_are_no_tables(text):
    assert sorted(PAIRS) not in [sorted(found) for found in read(text)]


@pytest.mark.parametrize(
    "text",
    [
        "[('conv1', 9408, (1, 64, 112, 112)), ('fc', 1025000, (1, 1000))]",
        "('conv1', 9408, torch.Size([1, 64, 112, 112]))\n('fc', 1025000, torch.Size([1, 1000]))",
        "{'conv1': (9408, [1, 64, 112, 112]), 'fc': (1025000, [1, 1000])}",
        (
            '{"name": "conv1", "params": 9408, "output": [1, 64, 112, 112]}\n'
            '{"name": "fc", "params": 1025000, "output": [1, 1000]}'
        ),
    ],
)
def test_rows_of_several_columns(text):
    assert [("conv1", 9408, (1, 64, 112, 112)), ("fc", 1025000, (1, 1000))] in read(text, LAYERS)


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["[", "{'", "{'a': [", "(", "['a', ", "('a', 1)\n", "{'a': 1}\n"])
def test_brackets_take_linear_time(piece):
    assert takes_linear_time(lambda size: read(piece * (size // len(piece))), 2_000_000)
