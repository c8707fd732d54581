"""The tools are run, not remembered: on networks drawn at random each prints what labgrade says that it prints.

Those that come with torch, and torchinfo, run always; others where they are installed in the version whose rules are
known, such as in an environment of their own (`LABGRADE_TOOLS`, see tests/README.md). A soak tries more networks.
"""

import os
from functools import cache, partial

import pytest
from soak.random_networks import Drawn
from soak.real_tools import TOOLS, installed, printed
from soak.table import HERE, graded

from labgrade.verdict import Outcome
from reference._counting.engine import analyse
from reference._tools import table

pytestmark = pytest.mark.slow

NETWORKS = int(os.environ.get("LABGRADE_SOAK", "4"))
FIRST = int(os.environ.get("LABGRADE_SEED", "0"))


@cache
def drawn(seed):
    """A network, its trace, and what tools are given of it."""
    subject = Drawn(seed)
    return subject, analyse(subject), *subject.with_weights()


def regenerated(name, unit, seed):
    """What labgrade says that a tool prints, in each of its ways; nothing where it says nothing."""
    subject, trace, *_ = drawn(seed)
    tools = [each for each in table.TOOLS if (each.name, each.unit.lower()) == (name, unit)]
    found = [table.counted(each, trace, partial(analyse, subject, batch=1)) for each in tools]
    return {each.total for each in found if each is not None}


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_prints_what_is_said_of_it(tool):
    package, _ = TOOLS[tool]
    if not installed(package):
        pytest.skip(f"{package} is not installed in the version whose rules are known")
    compared = 0
    for seed in range(FIRST, FIRST + NETWORKS):
        network, x = drawn(seed)[2:]
        try:
            found = printed(tool, network, x)
        except Exception:  # noqa: BLE001, S112 - it fails on this network, and prints nothing
            continue
        for unit in {"macs", "flops"} & found.keys():
            said = regenerated(tool.removesuffix(" with gradients"), unit, seed)
            same = int(found[unit]) in said or found[unit] in {float(each) for each in said}
            assert not said or same, f"seed {seed}: {tool} prints {found[unit]} {unit}"
            compared += bool(said)
    assert compared >= NETWORKS // 4


@pytest.fixture(scope="module")
def rows():
    return graded(HERE / "printed.csv")


def test_right_numbers_are_right_and_wrong_ones_are_named_by_tool(rows):
    right = [row for row in rows if row.verdict is not None and row.printed == row.right]
    wrong = [row for row in rows if row.verdict is None or row.printed != row.right]
    assert [row for row in right if row.verdict.outcome is not Outcome.CORRECT] == []
    assert sum(row.named for row in wrong) >= 0.9 * len(wrong)


@pytest.mark.parametrize(
    ("network", "word"),
    [
        ("up", "batch norm"),
        ("up", "linear"),
        ("tokens", "batch norm"),
        ("tokens", "convolution "),
        ("words", "attention"),
        ("functional", "batch norm"),
        ("edge", "LSTM"),
        ("convs", "attention"),
    ],
)
def test_no_hint_names_a_layer_that_the_network_has_not(rows, network, word):
    said = {row.verdict.hint for row in rows if row.network == network and row.verdict is not None}
    assert [hint for hint in said if word in hint.replace("each convolution and linear layer", "")] == []


def test_what_is_nothing_or_next_to_nothing_earns_nothing(rows):
    small = [row for row in rows if row.quantity == "macs" and row.verdict is not None and 20 * row.printed < row.right]
    assert len(small) >= 8
    assert [row for row in small if row.verdict.credit] == []
