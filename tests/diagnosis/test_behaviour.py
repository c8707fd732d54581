"""A wrong function is called on small networks, and what it does is named: the slip, or the product of slips."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest
from helpers.direct import CONVS, NO_GROUPS, RIGHT, trials
from helpers.soak import sampled, soak
from helpers.wrong_students import KINDS

from labgrade.core.task import Limits, QuantityCall
from labgrade.diagnosis import behaviour
from labgrade.diagnosis.bases import Base, bases_of
from labgrade.diagnosis.behaviour import Behaviour, Hypothesis, _Search, contradicted, explore
from labgrade.diagnosis.counterexample import SearchVerdict
from labgrade.diagnosis.diagnose import Diagnoser
from labgrade.diagnosis.networks.called import Called, called_on
from labgrade.diagnosis.networks.small_networks import networks
from labgrade.diagnosis.probe import Trial
from labgrade.judging.items import items
from labgrade.values import Number
from labgrade.verdict import correct, incorrect

pytestmark = pytest.mark.slow

RIGHT_ONE = Number(value=Fraction(1_498_376_192))
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
        behaviour = explore(found, called_on(found))
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
        (
            "sum(p.numel() for n, p in model.named_parameters() if 'bias' not in n)",
            "1-parameters",
            "total",
            {"named_biases"},
        ),
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


PADDING = NO_GROUPS.replace("append(cost(m, o)", "append(cost(m, i[0], o)").replace(
    "def cost(m, o)", "def cost(m, x, o)"
)
PADDING = PADDING.replace(
    "    return o.numel() * m.in_channels * m.kernel_size[0] * m.kernel_size[1] ",
    "    ones = [torch.ones(1, 1, *size) for size in (x.shape[2:], m.kernel_size)]\n"
    "    taps = nn.functional.conv2d(*ones, None, m.stride, m.padding, m.dilation).sum().item()\n"
    "    return taps * o.shape[0] * o.shape[1] * m.in_channels // m.groups",
)
ROWS = """
import torch

def layer_table(model, input_size):
    rows, runs = {{}}, {{}}
    def hook(name, m, o):
        runs[name] = runs.get(name, 0) + 1
        named = name if runs[name] == 1 else f"{{name}}#{{runs[name]{less}}}"
        row = {{"layer": named, "parameters": sum(p.numel() for p in m.parameters()), "output_shape": list(o.shape)}}
        rows[{key}] = row
    for name, m in model.named_modules():
        if not any(m.children()):
            m.register_forward_hook(lambda m, i, o, name=name: hook(name, m, o))
    with torch.no_grad():
        model(torch.zeros(input_size))
    return list(rows.values())
"""
NODES = """
import onnx

def node_attributes(path):
    graph = onnx.shape_inference.infer_shapes(onnx.load(path)).graph
    given = [*graph.input, *graph.value_info, *graph.output]
    shapes = {{each.name: [d.dim_value or 1 for d in each.type.tensor_type.shape.dim] for each in given}}
    rows, row = [], {{}}
    for node in graph.node:
        {begin}
        row |= {{"node": node.name}}
        for each in node.attribute:
            if each.type not in (each.TENSOR, each.GRAPH):
                value = onnx.helper.get_attribute_value(each)
                row[each.name] = value.decode() if isinstance(value, bytes) else value
        if node.op_type in ("Conv", "MaxPool", "AveragePool", "GlobalAveragePool"):
            row |= dict(zip(("channel", "height", "width"), shapes[node.input[0]][1:]))
        {end}
        rows.append(dict(row))
    return rows
"""
ALONE = """
import torch
from torch import nn

def conv_output_shapes(model, input_size):
    n, _, *image = input_size
    convs = {name: m for name, m in model.named_modules() if isinstance(m, nn.Conv2d)}
    return {name: list(m(torch.zeros(n, m.in_channels, *image)).shape) for name, m in convs.items()}
"""
BY_NAME = """
import torch
from torch import nn

def macs_by_type(model, input_size):
    rows = {}
    for name, m in model.named_modules():
        if isinstance(m, (nn.Conv2d, nn.Linear)):
            def hook(m, i, o, key=name.split(".")[-1]):
                rows[key] = rows.get(key, 0) + o.numel() * m.weight[0].numel()
            m.register_forward_hook(hook)
    model(torch.zeros(input_size))
    return rows
"""
IMAGES = (
    KINDS["activations"]
    .program(())
    .replace("sizes = {name: value.size *", "sizes = {name: value.size * (value.ndim == 4) *")
)


SHOWN = [
    (PADDING, "2-1-4-macs", {"padding_free"}),
    (
        held("sum({n.rpartition('.')[2]: p.nbytes for n, p in model.named_parameters()}.values())"),
        "2-1-2-weight-bytes",
        {"last_of_name"},
    ),
    (ROWS.format(key="named", less=" - 1"), "2-1-3-layer-table", {"runs_from_one"}),
    (ROWS.format(key="type(m)", less=""), "2-1-3-layer-table", {"last_of_type"}),
    (NODES.format(begin="pass", end="pass"), "2-2-1-attributes", {"inherited"}),
    (
        NODES.format(begin="row = {}", end="if node.op_type == 'Conv': row['group'] = row['channel']"),
        "2-2-1-attributes",
        {"group_channels"},
    ),
    (IMAGES, "2-2-3-activation-memory", {"images_alone"}),
    (
        CONVS.replace("m.in_channels *", "(1 if m.groups > 1 else m.in_channels) *").replace("{groups}", ""),
        "2-1-4-macs",
        {"depthwise"},
    ),
    (
        RIGHT.replace("nn.Linear)):", "nn.Linear, nn.MaxPool2d)):")
        .replace(
            "    if isinstance(m, nn.Linear):\n        return o.numel() * m.in_features",
            "    if isinstance(m, nn.MaxPool2d):\n        return o.numel() * m.kernel_size**2\n"
            "    if isinstance(m, nn.Linear):\n        return o.numel() * (m.in_features + 1)",
        )
        .replace("// m.groups", "// m.groups + o.numel()"),
        "2-1-4-macs",
        {"bias_always", "max_pool_windows"},
    ),
    (
        ROWS.format(key="len(rows)", less="").replace("name if runs[name] == 1 else", "name if runs else"),
        "2-1-3-layer-table",
        {"runs_alike"},
    ),
    (ALONE, "2-1-5-conv-activations", {"alone"}),
    (BY_NAME, "2-1-4-macs by-type", {"names_for_types"}),
    (
        RIGHT.replace("    total = []\n", "    total = []\n    cost.image = input_size[-1] * input_size[-2]\n").replace(
            "return o.numel() * m.in_channels *", "return o.shape[0] * o.shape[1] * cost.image * m.in_channels *"
        ),
        "2-1-4-macs",
        {"image_size"},
    ),
    (
        ROWS.format(key="named", less="").replace("torch.zeros(input_size)", "torch.zeros(*input_size[:2], 224, 224)"),
        "2-1-3-layer-table",
        {"fixed_size_224"},
    ),
]


@pytest.mark.parametrize("shown", sampled(SHOWN, 3))
def test_slips_that_hand_ins_showed_are_named(tmp_path, shown):
    source, asked, slips = shown
    task, _, check = asked.partition(" ")
    file = "hw2_2.py" if task.startswith("2-2") else "hw2_1.py"
    checks = {"2-1-3-layer-table": "layers", "2-1-5-conv-activations": "shapes", "2-2-1-attributes": "other-models"}
    check = check or checks.get(task, "total")
    found = trials(tmp_path, source, task, check, file)
    try:
        behaviour = explore(found, called_on(found))
    finally:
        found._grader.stop()
    assert set(behaviour.holds.slips) == slips


@soak
def test_two_slips_with_an_exception_are_surer_than_a_third_one(tmp_path):
    """Nodes inside of others are not looked into, which by chance is what comes of shapes that are unknown."""
    about = KINDS["activations"]
    source = about.program(("float16",)).replace('!= "Constant"', 'in ("Conv", "Gemm", "MatMul")')
    found = trials(tmp_path, source, about.task, about.check, about.file)
    try:
        behaviour = explore(found, called_on(found))
    finally:
        found._grader.stop()
    assert set(behaviour.holds.slips) == {"float16", "layers_alone"}
    assert "a Loop" in behaviour.but


def test_a_layer_that_is_called_again_has_one_row_in_a_mapping(tmp_path):
    """The task asks for a mapping of names, which has no room for a second run."""
    source = """
import torch
from torch import nn

def conv_output_shapes(model, input_size):
    shapes = {}
    for name, m in model.named_modules():
        if isinstance(m, nn.Conv2d):
            m.register_forward_hook(lambda m, i, o, name=name: shapes.update({name: CHANGED(o.shape)}))
    model(torch.zeros(input_size))
    return shapes
"""
    for at, (changed, slips) in enumerate({"tuple": None, "(lambda s: (1, *s[1:]))": {"batch_one"}}.items()):
        (tmp_path / str(at)).mkdir()
        found, _ = named(tmp_path / str(at), source.replace("CHANGED", changed), "2-1-5-conv-activations", "shapes")
        assert found == slips


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
        called = explore(found, called_on(found)).called
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


def test_of_one_number_everywhere_no_slips_are_looked_for(tmp_path, monkeypatch):
    """Each such number would be looked for among thousands of products, in vain."""
    number = "def total_macs(model, input_size):\n    return 22261347\n"
    found = trials(tmp_path, number, check="total")
    diagnoser = Diagnoser(found._grader, found.task, found._submission)
    item = next(each for each in items(found.task) if each.check.id == "total")
    explored = []
    monkeypatch.setattr("labgrade.diagnosis.diagnose.explore", lambda *given: explored.append(given) or explore(*given))
    try:
        own = found(found.task.subject)
        said = diagnoser.explained(own.verdict, own.value, item).diagnosis
        smallest = networks()[0].subject
        search = SearchVerdict(incorrect("wrong"), smallest=(smallest, found(smallest)))
        beside = Diagnoser(found._grader, found.task, found._submission).searched(search, found.check)
        for_sure = len(explored)
        Diagnoser(found._grader, found.task, found._submission).explained(own.verdict, RIGHT_ONE, item)
    finally:
        found._grader.stop()
    assert (said.causes, "22,261,347" in said.says[0], beside.diagnosis, for_sure) == (("constant",), True, None, 0)
    assert len(explored) == 1, "another number for the task's own subject may follow a slip"


def test_each_case_says_the_sentence_of_its_own_check_and_calls_the_function_once(tmp_path):
    """While a class is graded, each case has signs of its own in place of the sentences of the spec."""
    found = trials(tmp_path, NO_GROUPS, check="any-network")
    diagnoser = Diagnoser(found._grader, found.task, found._submission)

    def signed(sign):
        fields = ("also_right", "misconceptions")
        says = {name: tuple(replace(each, says=sign) for each in getattr(found.check, name)) for name in fields}
        return replace(found.check, **says)

    try:
        one = diagnoser.searched(SearchVerdict(incorrect("wrong")), signed("one")).diagnosis
        calls = found._grader.runner.calls
        other = diagnoser.searched(SearchVerdict(incorrect("wrong")), signed("other")).diagnosis
        again = found._grader.runner.calls - calls
    finally:
        found._grader.stop()
    assert (one.says, other.says, again) == (("one",), ("other",), 0)


def test_a_product_says_more_than_a_misconception_whatever_stands_for_its_sentence(tmp_path):
    """While a class is graded, a sign stands for it."""
    found = trials(tmp_path, NO_GROUPS.replace("sum(total)", "2 * sum(total)"), check="total")
    (meant,) = [each.source for each in found.check.misconceptions if each.source.quantity == "macs_ignoring_groups"]
    base = bases_of(found.check, found.quantities)[0]
    some = [each for each in networks() if each.words in ("groups", "a stride")]
    try:
        called = [Called(network=each, trial=found(each.subject)) for each in some]
        search = _Search(found, Behaviour(called=called), called)
        known = Hypothesis(base=Base(call=meant), slips=(meant.quantity,), says=("a sign",))
        says = [
            search._says_more(Hypothesis(base=base, slips=slips), known)
            for slips in (("groups", "twice"), ("kernel", "twice"), ("groups",))
        ]
    finally:
        found._grader.stop()
    assert says == [True, False, False]


def test_a_function_that_is_right_on_all_networks_makes_no_slip(monkeypatch):
    """What its value of one subject happens to equal, such as one less a last tensor, says nothing then."""
    right, wrong = (Called(network=networks()[0], trial=Trial(verdict=each)) for each in (correct(), incorrect("less")))
    about = SimpleNamespace(limits=Limits()), SimpleNamespace(name="someone")
    said = []
    for called in ([right, right], [right, wrong], []):
        monkeypatch.setattr(Diagnoser, "_behaviour", lambda *_, called=called: Behaviour(called=called))
        said.append(Diagnoser(None, *about).right_elsewhere(SimpleNamespace(check=None)))
    assert said == [True, False, False]


@pytest.mark.parametrize(
    ("expected_takes", "other_takes", "tested"),
    [
        (1, 1, [("", 1)]),  # upon the other one it would take as many, and be less simple
        (2, 2, [("", 1), ("the other", 1), ("", 2)]),
        (2, 1, [("", 1), ("the other", 1)]),
        (9, 9, [("", 1), ("the other", 1), ("", 2), ("the other", 2), ("", 3), ("the other", 3)]),
    ],
)
def test_no_other_convention_is_tried_where_the_expected_one_explains(monkeypatch, expected_takes, other_takes, tested):
    bases = [Base(call=QuantityCall(quantity="macs"), says=says) for says in ("", "the other")]
    takes, seen = dict(zip(("", "the other"), (expected_takes, other_takes), strict=True)), []

    def left(_, base, most):
        seen.append((base.says, most))
        return [Hypothesis(base=base, slips=("slip",) * most)] if most == takes[base.says] else []

    called = [Called(network=networks()[0], trial=Trial(verdict=incorrect("wrong"), value=Number(value=Fraction(1))))]
    monkeypatch.setattr(behaviour, "_bases", lambda _: bases)
    monkeypatch.setattr(_Search, "_tested", left)
    _Search(SimpleNamespace(), Behaviour(called=called), called)._standing()
    assert seen == tested
