"""Trees as torchinfo prints them, in each of its settings, name the same layers."""

import pytest

from labgrade.answers.reading.tabular.tables import find_tables
from labgrade.core.task import TableType

KIND = TableType(row="layer", columns={"parameters": "count", "output_shape": "shape"})
torchinfo = pytest.importorskip("torchinfo")
SETTINGS = [("depth",), ("var_names",), ("depth", "var_names"), ("ascii_only",), ("ascii_only", "var_names"), ()]


@pytest.fixture(scope="module")
def network():
    from torch import nn

    block = nn.Sequential()
    block.add_module("conv", nn.Conv2d(3, 4, 3))
    block.add_module("act", nn.ReLU())
    whole = nn.Sequential()
    whole.add_module("first", block)
    whole.add_module("pool", nn.MaxPool2d(2))
    whole.add_module("last", nn.Conv2d(4, 5, 3))
    return whole


@pytest.mark.parametrize("verbose", [0, 2])
@pytest.mark.parametrize("setting", SETTINGS)
def test_every_setting(network, setting, verbose, capsys):
    names = ("output_size", "num_params")
    shown = torchinfo.summary(
        network, (1, 3, 12, 12), depth=5, row_settings=setting, col_names=names, verbose=verbose, device="cpu"
    )
    text = capsys.readouterr().out or str(shown)
    (found,) = find_tables(text, 0, len(text), KIND)
    rows = {row.name.partition(" (")[0] + row.name.partition(")")[2]: row for row in found.table.rows[1:]}
    numbered = ["Sequential: 1-1", "Conv2d: 2-1", "ReLU: 2-2", "MaxPool2d: 1-2", "Conv2d: 1-3"]
    path = ["first", "first.conv", "first.act", "pool", "last"]
    assert list(rows) == (path if "var_names" in setting and "depth" not in setting else numbered)
    assert [row.cells["output_shape"] for row in rows.values()][-1] == (1, 5, 3, 3)
