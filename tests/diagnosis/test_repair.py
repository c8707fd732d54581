"""One small change of a wrong function's source that makes it right is among those that are tried, and found."""

import ast
from dataclasses import replace
from fractions import Fraction
from itertools import takewhile
from types import SimpleNamespace

import pytest

from labgrade.core.results import Submission
from labgrade.core.task import Check, InputSpec, Limits, SubjectSpec
from labgrade.diagnosis import probe
from labgrade.diagnosis.networks.called import Called
from labgrade.diagnosis.networks.small_networks import SmallNetwork
from labgrade.diagnosis.probe import Source, Trial, Trials
from labgrade.diagnosis.repair import repairs
from labgrade.diagnosis.repair.edits import edits
from labgrade.diagnosis.repair.places import apart, statements
from labgrade.diagnosis.repair.repairs import Repair, Repairs
from labgrade.verdict import Outcome, correct, incorrect, without_value

COUNT = """
def count(model, input_size):
    total = 0
    for name, m in model.named_modules():
        if isinstance(m, nn.Conv2d):
            total += m.weight.numel()
    return total
"""
HOOKS = """
def outputs(model, x):
    kept = {}
    for name, m in model.named_modules():
        m.register_forward_hook(lambda m, i, o, name=name: kept.update({name: o.clone()}))
    model(x)
    return kept
"""
TYPES = """
def types(path):
    graph = onnx.load(path).graph
    rows = {}
    for node in graph.node:
        rows[node.op_type] = rows.get(node.op_type, 0) + 1
    return sum(size(each) for each in [*graph.input, *graph.value_info, *graph.output])

def size(each):
    return math.prod((d.dim_value or 1) for d in each.dims) * 4
"""
SIZE = """
def size(n, k, pads, s, model, ops, x):
    whole = sum(p.numel() for child in [model] for p in child.parameters())
    runs = {k: len(list(v)) for k, v in groupby(sorted(ops))}
    return (n + 2 * pads - k) // s + 1, whole, runs, x.exact()
"""
# What was right, what was made of it, and the function's name
MISTAKES = [
    (COUNT, "total += m", "total = m"),
    (COUNT, "named_modules()", "named_children()"),
    (COUNT, "named_modules()", "named_modules(remove_duplicate=False)"),
    (COUNT, "    return total", "        return total"),
    (COUNT, ".numel()", ".numel() * 2"),
    (COUNT, "m.weight.numel()", "np.int16(m.weight.numel())"),
    (COUNT, "nn.Conv2d)", "nn.Conv2d) and m.groups == 1"),
    (COUNT, "m.weight.numel()", "align(m.weight.numel())"),
    (COUNT, "+= m.weight", "+= 0 if m.bias is None else m.weight"),
    (HOOKS, ", name=name", ""),
    (HOOKS, "m, i, o, name=name", "m, o, i, name=name"),
    (HOOKS, ".clone()", ".clone().relu()"),
    (HOOKS, "o.clone()", "torch.round(o.clone(), decimals=2)"),
    (HOOKS, "    model(x)", "    x = x.round()\n    model(x)"),
    (HOOKS, "    model(x)", "    model.train()\n    model(x)"),
    (SIZE, "2 * pads", "pads"),
    (SIZE, "[model]", "model.children()"),
    (SIZE, "sorted(ops)", "ops"),
    (SIZE, "x.exact()", "torch.round(x.exact() * 100) / 100"),
    (TYPES, "(d.dim_value or 1)", "d.dim_value"),
    (TYPES, "[*graph.input, *graph.value_info, *graph.output]", "graph.value_info"),
    (TYPES, " * 4", " * 2"),
    (TYPES, "sum(size(each) for each in", "max(size(each) for each in"),
    (TYPES, "rows.get(node.op_type, 0) + 1", "rows.get(node.op_type, 1) + 1"),
]


class WithoutPass(ast.NodeTransformer):
    def visit_Pass(self, _):
        return None


def tree(source):
    try:
        return ast.dump(WithoutPass().visit(ast.parse(source)))
    except SyntaxError:
        return ""


@pytest.mark.parametrize(("right", "was", "becomes"), MISTAKES, ids=[each[2].strip() for each in MISTAKES])
def test_what_takes_a_mistake_back_is_tried(right, was, becomes):
    wrong = right.replace(was, becomes)
    assert wrong != right
    name = right.partition("def ")[2].partition("(")[0]
    assert tree(right) in [tree(each.applied(wrong)) for each in edits(wrong, name)]


def test_of_what_is_no_python_nothing_is_tried():
    assert edits("def count(:", "count") == []
    assert edits("def other(): return 1", "count") == []


def test_a_source_in_parts_is_the_same_source():
    text = '# first\nimport a; import b\n\n@once\n@cached\ndef f(): return 1\nX = """\ny\n"""; Z = [\n1]; W = 2\nV = 3'
    parts = statements(text)
    assert "".join(parts) == text
    assert [each.partition("\n")[0] for each in parts] == ["# first", "import a; import b", "@once", 'X = """', "V = 3"]
    assert "".join(statements("")) == ""


def test_what_stands_in_other_parts_of_a_source_is_there():
    text = (
        "from __future__ import annotations\nMORE = [1]\n\ndef g(n: Missing):\n    MORE.append(n)\n    return sum(MORE)"
    )
    says = told(f"{text}\n\ndef f(n: Missing):\n    return 3 * g(n) + 1")
    assert says.startswith("With `n` in place of `g(n)` in line 9")


def test_a_change_is_said_with_its_line():
    wrong = COUNT.replace("named_modules", "named_children")
    said = [each.says() for each in edits(wrong, "count")]
    assert "with `model.named_modules` in place of `model.named_children` in line 4" in said
    loop = [each.says() for each in edits(COUNT.replace("    return", "        return"), "count")]
    assert "with `return total` behind it, `return total` within the loop" not in loop


def test_of_two_long_texts_that_part_is_shown_in_which_they_differ():
    text = 'sum(v[t].nbytes for n in g.node if n.op_type != "Constant" for t in n.output if t)'
    assert apart(text, text.replace("if t)", "if t in w)")) == ("... in n.output if t)", "... in n.output if t in w)")
    assert apart(text, text.replace("sum", "max"))[1].startswith("max(v[t].nbytes for n in g.node")
    assert apart("a  + b", "a - b") == ("a + b", "a - b")


class FakeTrials:
    """Calls a function on numbers in the test's own process: right is three times the number, and one."""

    task = SimpleNamespace(subject=None)

    check = SimpleNamespace(expected=None, also_right=())
    quantities = kind = value_of = None
    others = ()

    def __init__(self, text):
        self.text = text

    def beside(self, *_):
        return []

    def source(self):
        return Source(function="f", file="f.py", text=self.text)

    def rewritten(self, _, source):
        return FakeTrials(source.text)

    def again(self, subject, count):
        there = {"__name__": "f", "__file__": "f.py"}
        exec(self.text, there)  # noqa: S102 - what the student's process does
        return [called(there["f"], subject) for _ in range(count)]

    def ahead(self, subjects):
        return list(takewhile(bool, (self.again(each, 1)[0] for each in subjects)))


def called(function, subject):
    try:
        value = function(subject.input.shape[0])
    except ArithmeticError:
        return None
    if value is None:
        return None
    right = value == 3 * subject.input.shape[0] + 1
    return Trial(verdict=correct() if right else incorrect("wrong"), value=value)


def told(text, rare=lambda _: 0, **how):
    found = FakeTrials(text)
    subjects = [SubjectSpec(model="a", input=InputSpec(shape=(each,))) for each in range(2, 9)]
    networks = [
        SmallNetwork(subject=each, words=str(each.input.shape[0]), rank=0, rare=rare(each)) for each in subjects
    ]
    failed = Trial(verdict=incorrect("failed"))
    some = [Called(network=each, trial=found.again(each.subject, 1)[0] or failed) for each in networks]
    return Repairs(found, some, **how).of_all()


def test_a_change_is_told_only_if_it_makes_the_function_right_everywhere():
    assert told("def f(n):\n    return 3 * n + 1") == ""
    assert told("def f(n):\n    return 3 * abs(n + 1) + 1") == (
        "`1` is added, and does not belong there. With `n` in place of `n + 1` in line 2 your function is right on all "
        "7 small networks on which it was called."
    )
    assert told("def f(n):\n    return n ** n") == ""


def test_two_changes_are_found_together():
    says = told("def f(n):\n    n = round(n / 10)\n    return 3 * n * 9 + 1")
    assert says.startswith("Without `n = round(n / 10)` in line 2, and with `3 * n` in place of `3 * n * 9` in line 3")


def test_what_is_right_without_something_is_told_before_what_is_right_by_chance():
    """With the other name the factor is 1 for each of these numbers, whatever stands around it."""
    text = "def f(n, stride=1, dilation=0):\n    return (3 * n + 1) * max(stride * n, 1)"
    assert "dilation" not in told(text)


def test_a_copy_is_no_mistake():
    """Without it the two names are one table, in which everything is found."""
    text = "    known = {2: 0}\n    all = dict(known)\n    all[n] = 3 * n + 1\n    return all[n] * (n in known)"
    assert "dict" not in told(f"def f(n):\n{text}")


def test_two_changes_that_a_student_reads_of_the_same_text_are_not_told_together():
    assert "and with" not in told("def f(n):\n    return (3 * n + 1 + 15) // 16 * 16")


def test_what_is_right_everywhere_is_told_before_what_is_not():
    body = "    height = n in (stride, 8)\n    return 3 * n + {True: 0}.get(height, 1)"
    text = f"def f(n, stride=2, dilation=0, width=0):\n{body}"
    assert told(text, rare=lambda each: each.input.shape[0] == 8) == (
        "With `width` in place of `height` in line 3 your function is right on all 7 small networks on which it was "
        "called."
    )


def test_what_makes_it_right_by_chance_is_not_told_of_the_tasks_own_subject():
    text = "def f(n):\n    return 3 * n + 1 + (n > 3) - (n > 90)"
    own, wrong = (SubjectSpec(model=model, input=InputSpec(shape=(91,))) for model in ("own", "micro/x"))
    found = FakeTrials(text)
    subjects = [SubjectSpec(model="a", input=InputSpec(shape=(each,))) for each in range(2, 9)]
    networks = [SmallNetwork(subject=each, words=str(each.input.shape[0]), rank=0) for each in subjects]
    known = Repairs(found, [Called(network=each, trial=found.again(each.subject, 1)[0]) for each in networks])
    assert "n > 3" in known.of_all()
    assert known.says(own, found.again(own, 1)[0]) == known.says(wrong, found.again(wrong, 1)[0]) == ""
    for each in subjects[-1:]:
        assert known.says(each, found.again(each, 1)[0]) == known.of_all()


def test_a_rarer_network_on_which_it_still_fails_is_another_matter():
    """What fails leaves nothing of what is called behind it, so that rarer networks are called last."""
    text = "def f(n):\n    zero = 0 // (n - 2)\n    return 3 * n + 1 + zero + 5 * 1"
    assert "; what it does with 2 is another matter" in told(text, rare=lambda each: each.input.shape[0] == 2)


def test_of_many_kinds_of_networks_three_are_named():
    says = Repair(edits=edits(COUNT, "count")[:1], tried=9, but=("a", "b", "c", "d", "e")).says()
    assert "what it does with a, b, c and 2 more is another matter" in says


def test_what_several_subjects_are_wrong_on_is_not_told_of_one_of_them():
    """With `3` in place of `2` it is right for 1, and for no other number."""
    found = FakeTrials("def f(n):\n    return n + 2")
    subjects = [SubjectSpec(model="micro/a", input=InputSpec(shape=(each,))) for each in range(1, 9)]
    some = [
        Called(network=SmallNetwork(subject=each, words="", rank=0), trial=found.again(each, 1)[0]) for each in subjects
    ]
    assert Repairs(found, some[1:]).says(subjects[0], some[0].trial) == ""


def test_what_makes_wrong_what_another_check_looks_at_is_not_told(monkeypatch):
    text = "def f(n):\n    return 3 * n + 1 + (n > 3)"
    assert "n > 3" in told(text)
    small = SimpleNamespace(judged=lambda value, _: Trial(verdict=correct() if value > 0 else incorrect("less")))
    monkeypatch.setattr(FakeTrials, "others", [small])
    assert "n > 3" in told(text)
    odd = SimpleNamespace(judged=lambda value, _: Trial(verdict=correct() if value % 2 else incorrect("even")))
    monkeypatch.setattr(FakeTrials, "others", [odd])
    assert told(text) == ""


def test_a_change_is_judged_with_all_that_was_handed_in(tmp_path, monkeypatch):
    """Of a task on a model of one's own, what is expected is that model's."""
    (tmp_path / "f.py").write_text("f = 1")
    whole = Submission(name="someone", folder=tmp_path, files=("f.py", "own.onnx"))
    asked = []
    grader = SimpleNamespace(judging_of=lambda *about: (asked.append(about[-1]), None))
    monkeypatch.setattr(probe, "judge", lambda *_: correct())
    task = SimpleNamespace(limits=Limits(), checks=(), subject=None)
    check = Check(id="a", points=Fraction(1), answer="b")
    (tmp_path / "new").mkdir()
    changed = Trials(grader, task, check, whole).rewritten(tmp_path / "new", Source(function="f", file="f.py", text=""))
    changed.judged(1, None)
    assert asked == [whole]


def test_a_set_that_has_to_be_a_list_is_changed_with_what_fills_it():
    text = "    found = set()\n    for each in [0] * (3 * n) + [1]:\n        found.add(each)\n    return len(found)"
    says = told(f"def f(n):\n{text}")
    assert says.startswith("A set keeps what is equal once: the second of two equal ones is lost. With `list` in place")
    assert "in place of `set` in line 2, and with `found.append`" in says


def test_of_a_call_that_nothing_is_made_of_no_part_is_left():
    said = [each.says() for each in edits("def f(x):\n    x.sub_(A).div_(B)\n    return x", "f")]
    assert "without `x.sub_(A).div_(B)` in line 2" in said
    assert not [each for each in said if each.startswith(("with `A`", "with `B`"))]


def test_what_is_wrong_on_rarer_networks_besides_is_another_matter():
    text = "def f(n):\n    return (4 if n > 7 else 3) * n + 1 + 5 * 1"
    assert "what it does with 8 is another matter" in told(text, rare=lambda each: each.input.shape[0] > 7)


def test_a_slip_that_the_change_makes_itself_is_none(monkeypatch):
    """Without what it adds for even numbers the function gives nothing, which a slip says, too."""
    monkeypatch.setattr(repairs, "bases_of", lambda *_: ["base"])
    monkeypatch.setattr(
        repairs, "slipped", lambda *_: {"values": [["nothing", 0]], "says": {"nothing": "Nothing counts."}}
    )
    monkeypatch.setattr(repairs, "Hypothesis", lambda **_: "nothing counts")
    monkeypatch.setattr(repairs, "fits", lambda _, trial, plain: trial.value == plain)
    monkeypatch.setattr(repairs, "gives", lambda *each, where_absent: each[2].value == 0)
    powers = "n ** 5 * (n % 2 == 0), n ** 6 * (n % 2 == 0)"
    assert told(f"def f(n):\n    return max((3 * n + 1) * (n % 2), {powers})") == ""


def test_a_change_in_several_places_is_made_in_all_of_them():
    text = "def f(n):\n    halves = np.int16(n * 10**5), np.int16(n * 2 * 10**5)\n    return sum(halves) // 10**5 + 1"
    says = told(f"class np:\n    int64, int16 = int, eval('lambda x: x % 2**16')\n{text}")
    assert says.count("with `np.int64` in place of `np.int16`") + says.count("With `np.int64`") == 2


def test_of_two_changes_each_takes_something_away_where_it_can():
    """With `dilation` the factor is 1, as it is without it."""
    body = "    first = (3 * n + 1) * max(stride * n, 1)\n    return first + 5"
    says = told(f"def f(n, stride=1, dilation=0):\n{body}")
    assert "in line 2, and with `first` in place of `first + 5` in line 3" in says
    assert "dilation" not in says


def test_where_a_slip_is_known_two_changes_are_not_looked_for():
    text = "def f(n):\n    n = round(n / 10)\n    return 3 * n * 9 + 1"
    assert told(text)
    assert told(text, known=True) == ""


def test_of_a_function_that_fails_somewhere_what_is_wrong_elsewhere_is_not_told():
    """It divides by zero for 5, and gives 1 too many for what is less."""
    text = "def f(n):\n    return 3 * n + 1 + (n < 5) + 0 // (n - 5)"
    assert "0 // (n - 5)" in told(text, failing=True)
    assert "n < 5" in told(text.replace(" + 0 // (n - 5)", ""))
    assert told(text.replace(" + 0 // (n - 5)", ""), failing=True) == ""


def test_what_waits_for_a_person_is_not_made_right(monkeypatch):
    """The answer of a changed function may be of a kind that is not known to be wrong."""
    odd = without_value(Outcome.MANUAL, "nobody knows")
    found = FakeTrials("def f(n):\n    return 3 * n + 2")
    subject = SubjectSpec(model="micro/a", input=InputSpec(shape=(5,)))
    own = found.again(subject, 1)[0]
    assert "With `1`" in Repairs(found, []).says(subject, own)
    monkeypatch.setattr(FakeTrials, "again", lambda *_: [replace(own, verdict=odd)] * 60)
    monkeypatch.setattr(FakeTrials, "ahead", lambda *_: [replace(own, verdict=odd)])
    assert Repairs(found, []).says(subject, own) == ""


def test_what_it_does_elsewhere_is_not_told_where_it_makes_nothing_right():
    text = "def f(n):\n    return (4 if n > 7 else 3) * n + 1 + 5 * 1"
    found = FakeTrials(text)
    subjects = [SubjectSpec(model="micro/a", input=InputSpec(shape=(each,))) for each in range(2, 9)]
    networks = [SmallNetwork(subject=each, words="x", rank=0, rare=each.input.shape[0] > 7) for each in subjects]
    known = Repairs(found, [Called(network=each, trial=found.again(each.subject, 1)[0]) for each in networks])
    assert "is another matter" in known.of_all()
    for subject in subjects:
        assert bool(known.says(subject, found.again(subject, 1)[0])) == (subject.input.shape[0] < 8)


def test_what_grows_beyond_all_that_is_asked_is_given_up(tmp_path):
    """Who multiplies by a list in place of its length gets millions of entries, which take seconds to look through."""
    whole = "def count(names, times):\n    return len(names) * times\n"
    at = whole.index("len(names)")
    parts, edit = [whole], (0, at, at + len("len(names)"), "names")
    code = repairs.TRIER.format(parts=parts, edits=[[edit]] * 2, flags=0, function="count", seconds=60)
    made = {"__name__": "student", "__file__": "student.py"}
    exec(code, made)  # noqa: S102 - as it stands in for a student's module
    assert made["count"](["q", "v"], 30) == ["q", "v"] * 30
    assert made["count"](["q", "v"], 3_000_000) is None
