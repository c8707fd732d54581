"""A wrong function is called on small networks, and what it does is named: the slip, or the product of slips."""

from dataclasses import replace

import pytest
from helpers.direct import CONVS, NO_GROUPS, RIGHT, trials

from labgrade.diagnosis.behaviour import contradicted, explore
from labgrade.diagnosis.counterexample import SearchVerdict
from labgrade.diagnosis.diagnose import Diagnoser
from labgrade.diagnosis.small_networks import networks
from labgrade.verdict import incorrect

pytestmark = pytest.mark.slow

HELD = """
from torch import nn

def total_parameters(model):
    return {0}

def trainable_parameters(model):
    return {0}

def weight_bytes(model):
    return {0}
"""


def held(expression):
    return HELD.format(expression)


def named(folder, source, name="2-1-4-macs", check="total"):
    """The slips that a function is said to follow, and on how many networks it was called."""
    found = trials(folder, source, name, check)
    try:
        behaviour = explore(found)
    finally:
        found._grader.stop()
    return (set(behaviour.holds.slips) if behaviour.holds else None), behaviour


@pytest.mark.parametrize(
    ("source", "slips"),
    [
        (RIGHT, None),
        (NO_GROUPS, {"macs_ignoring_groups"}),  # one that the spec names, with its own sentence
        (NO_GROUPS.replace("sum(total)", "2 * sum(total)"), {"groups", "twice"}),
        (
            NO_GROUPS.replace("sum(total)", "sum(total) // input_size[0]").replace("kernel_size[1]", "kernel_size[0]"),
            {"groups", "kernel_height", "batch"},
        ),
    ],
    ids=["right", "one", "two", "three"],
)
def test_products_of_slips_in_macs_are_named(tmp_path, source, slips):
    assert named(tmp_path, source)[0] == slips


@pytest.mark.parametrize(
    ("expression", "task", "check", "slips"),
    [
        ("sum(p.numel() for n, p in model.named_parameters() if 'bias' not in n)", "1-parameters", "total", {"biases"}),
        ("sum(p.numel() for p in model.parameters())", "1-parameters", "trainable", {"all"}),
        ("sum(p.nbytes for p in model.parameters()) / 2**20", "2-weight-bytes", "total", {"in_mebi"}),
        (
            "sum(v.numel() for v in model.state_dict().values()) * 4",
            "2-weight-bytes",
            "total",
            {"buffers", "four", "shared"},
        ),
    ],
)
def test_slips_in_what_a_model_holds_are_named(tmp_path, expression, task, check, slips):
    assert named(tmp_path, held(expression), f"2-1-{task}", check)[0] == slips


def test_what_goes_wrong_otherwise_on_rare_networks_alone_is_named_without_them(tmp_path):
    weights = held("sum(p.numel() for name, p in model.named_parameters() if name.endswith('weight'))")
    found, behaviour = named(tmp_path, weights, "2-1-1-parameters")
    assert found == {"biases"}
    assert "layers that share a weight" in behaviour.but  # and a scale that no name of a weight has
    assert "attention modules" not in behaviour.but  # where nothing else is wrong
    assert not any(each.network.rare for each in behaviour.called)


def test_what_no_slip_explains_is_not_named(tmp_path):
    odd = CONVS.replace("{groups}", "// m.groups + m.padding[0] * 3")
    found, behaviour = named(tmp_path, odd)
    assert found is None
    assert {each.network.words for each in behaviour.called if not each.right} >= {"padding"}
    assert {each.network.words for each in behaviour.called if each.right} >= {"groups", "dilation"}


@pytest.mark.parametrize(("left_out", "follows"), [("rows", True), ("rows[-1:]", False)], ids=["all", "the last"])
def test_a_sentence_of_the_spec_is_said_only_of_what_it_says_on_every_network(tmp_path, left_out, follows):
    """Of a network with one linear layer both give what its convolutions multiply."""
    source = RIGHT.replace("cost(m, o))", "(m, o))").replace(
        "return sum(total)",
        f"rows = [o.numel() * m.in_features for m, o in total if isinstance(m, nn.Linear)]\n"
        f"    return sum(cost(m, o) for m, o in total) - sum({left_out})",
    )
    found = trials(tmp_path, source, check="total")
    try:
        called = explore(found).called
    finally:
        found._grader.stop()
    known = [each for each in found.check.misconceptions if "linear layers are missing" in each.says]
    own = next(each.trial for each in called if not each.right and each.network.words == "groups")
    assert contradicted(own, called, known) is not follows


def test_beside_a_smallest_network_stands_no_cause_that_it_does_not_show(tmp_path):
    found = trials(tmp_path, NO_GROUPS.replace("sum(total)", "2 * sum(total)"), check="any-network")
    diagnoser = Diagnoser(found._grader, found.task, found._submission)
    subject = networks()[0].subject
    try:
        shown = found(subject)
        other = replace(shown, value=replace(shown.value, value=shown.value.value + 1))
        said = [
            diagnoser.searched(SearchVerdict(incorrect("wrong"), smallest=(subject, each)), found.check).diagnosis
            for each in (shown, other)
        ]
    finally:
        found._grader.stop()
    assert set(said[0].causes) == {"groups", "twice"}
    assert said[1] is None
