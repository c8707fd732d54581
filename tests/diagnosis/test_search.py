"""The search itself: the same every time, remembered, in time, whatever a function does; and what is shown of it."""

import ast
import itertools
import json
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from helpers.direct import COURSE, NO_GROUPS, RIGHT, DirectOracle, Record, a_subject, search, task, trials
from hypothesis import given, settings

from labgrade.commands import counterexample as command
from labgrade.core import student_view
from labgrade.core.errors import FaultError
from labgrade.core.results import Graded, Report, SubmissionReport, TaskReport
from labgrade.core.subject import as_plain
from labgrade.core.task import CallForm, InputSpec, QuantityCall, SubjectSpec
from labgrade.diagnosis import as_code, counterexample
from labgrade.diagnosis import search as engine
from labgrade.diagnosis.counterexample import Remembered
from labgrade.diagnosis.networks import families
from labgrade.diagnosis.networks.random_layers import Linear, PoolLayer
from labgrade.diagnosis.networks.random_layers import program as fitted
from labgrade.diagnosis.probe import Trial
from labgrade.diagnosis.search import SearchPlan, SearchResult
from labgrade.diagnosis.search import search as look
from labgrade.files.cache import Cache
from labgrade.reports.summary import full_reason
from labgrade.subjects import models
from labgrade.subjects.networks import flat
from labgrade.values import Number
from labgrade.verdict import Outcome, correct, without_value

pytestmark = pytest.mark.slow

torch.set_num_threads(1)
LIKE_ONNX = SubjectSpec(model="torchvision/mobilenet_v2.onnx", input=InputSpec(shape=(1, 3, 8, 8)))


@pytest.mark.parametrize("family", ["cnn", "linear", "attention"])
def test_every_network_of_a_family_runs_and_can_be_counted_and_pasted(family):
    form = CallForm(file="hw.py", function="f", given=("model", "input_size"))
    seen = set()

    @settings(max_examples=120, deadline=None, derandomize=True, database=None)
    @given(families.strategy(family, None))
    def check(subject):
        model, x = a_subject(subject).with_weights()
        with torch.no_grad():
            model(x)
        names = {}
        text = "\n".join(line for line in as_code.lines(subject, form)[:-1] if "import f" not in line)
        exec(text, names)  # noqa: S102 - lines of ours
        call = as_code.lines(subject, form)[-1]
        pasted, shape = names["model"], ast.literal_eval(call.removeprefix("print(f(model, ").removesuffix("))"))
        assert shape == subject.input.shape
        assert str(pasted) == str(model)
        macs = COURSE.quantities.get("macs").load()
        assert macs(Pasted(pasted, shape)) == macs(a_subject(subject))
        steps = list(flat(subject.options["program"]))
        seen.update(step.get("layer") or step.get("join") or "twice" for step in steps)
        seen.update(key for step in steps for key in step.get("with", {}))

    check()
    expected = {
        "cnn": {"Conv2d", "MaxPool2d", "AvgPool2d", "BatchNorm2d", "Linear", "cat", "add", "twice"}
        | {"groups", "stride", "padding", "dilation", "ceil_mode"},
        "linear": {"Linear", "add", "twice"},
        "attention": {"Attention", "Products", "Linear", "LayerNorm"},
    }[family]
    assert expected <= seen


class Pasted:
    """A module as a subject of quantities."""

    def __init__(self, module, shape):
        self.module, self.shape = module, shape

    def on_meta(self):
        return self.module.to("meta"), torch.empty(self.shape, device="meta")


def test_what_is_tried_depends_on_nothing_that_lies_around(tmp_path, monkeypatch):
    """Hypothesis likes numbers of modules that are loaded, and keeps them in the folder that is a student's."""
    program = """
import pathlib, sys
sys.path.insert(0, ".")
if "extra" in sys.argv:
    import extra
from labgrade.diagnosis.search import SearchPlan, search
from labgrade.core.task import InputSpec, SubjectSpec
like = SubjectSpec(model="linear/layer.onnx", input=InputSpec(shape=(8, 8)))
tried = []
search(SearchPlan(among="sizes", like=like, tries=60), lambda subject: tried.append(subject.input.shape), lambda _: "")
print(tried, sorted(path.name for path in pathlib.Path.cwd().iterdir()))
"""
    (tmp_path / "extra.py").write_text(f"NUMBERS = {list(range(101, 200))}\n")
    (tmp_path / "program.py").write_text(program)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))

    def said(*more):
        return subprocess.run(
            [sys.executable, "-B", "program.py", *more], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout

    alone = said()
    assert alone == said("extra")
    assert ".hypothesis" not in alone


def test_files_run_where_students_run_them():
    import onnxruntime

    count = itertools.count()

    @settings(max_examples=12, deadline=None, derandomize=True, database=None)
    @given(families.strategy("cnn", LIKE_ONNX))
    def check(subject):
        path = DirectOracle(folder).file(subject)
        session = onnxruntime.InferenceSession(path)
        session.run(None, {"input": torch.zeros(subject.input.shape).numpy()})
        next(count)

    import tempfile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        check()
    assert next(count) >= 10


def test_no_pool_of_a_file_has_a_window_that_begins_in_the_padding(tmp_path):
    """There torch and the shape inference of ONNX differ, and onnxruntime refuses a right file."""
    import onnxruntime

    both = [(3, 1), (1, 1), (5, 2), (4, 4)]
    for kernel, stride, kind in itertools.product((2, 3), (1, 2, 3), ("MaxPool2d", "AvgPool2d")):
        for height, width in both:
            wishes = [PoolLayer(kind=kind, kernel=kernel, stride=stride, padding=True, ceil_mode=True), Linear()]
            shape = (1, 1, height, width)
            steps = fitted(wishes, shape, as_file=True)
            options = {"program": steps, "opset": 10}
            subject = SubjectSpec(model="generated/network.onnx", input=InputSpec(shape=shape), options=options)
            session = onnxruntime.InferenceSession(DirectOracle(tmp_path).file(subject))
            session.run(None, {"input": torch.zeros(shape).numpy()})
    assert "ceil_mode" in str(fitted([PoolLayer(kernel=2, stride=2, ceil_mode=True)], (1, 1, 5, 5), as_file=True))


def test_the_same_is_found_every_time_and_a_fresh_seed_tries_others(tmp_path):
    def tried(seed):
        asked = []
        look(SearchPlan(among="cnn", tries=20, seed=seed), lambda s: asked.append(s.options), lambda _: "")
        return json.dumps(asked)

    assert tried(0) == tried(0) != tried(1)


def test_what_is_tried_is_drawn_once_for_a_class_and_is_the_same(monkeypatch):
    """Each student has a function of their own, and all are tried on the same networks."""
    plan = SearchPlan(among="cnn", tries=20)
    alone = look(plan, lambda subject: subject, lambda _: "")
    assert engine.subjects(plan) == [subject for subject, _, _ in alone.tried]
    drawn = []
    monkeypatch.setattr(engine, "_hypothesis", lambda *_: drawn.append(1))
    ahead = look(plan, lambda subject: subject, lambda _: "", (), list)
    assert (ahead.tried, ahead.complete, ahead.smallest) == (alone.tried, True, None)
    assert not drawn


def padded(subject):
    """A value that is wrong, and so not 0, for the networks with padding."""
    return json.dumps(subject.options).count('"padding": [1')


@pytest.mark.parametrize(
    ("foreseen", "alone", "calls"),
    [
        (padded, padded, "together"),
        (lambda subject: 2 * padded(subject), padded, "each"),  # another mistake
        (lambda subject: 1 - bool(padded(subject)), padded, "each"),
        (padded, lambda subject: padded(subject) + 1, "each"),  # one that does something else in a process of its own
    ],
)
def test_a_search_whose_end_is_foreseen_comes_to_the_same(foreseen, alone, calls):
    plan = SearchPlan(among="cnn", tries=20)
    attempts, together = [], []

    def attempt(subject):
        attempts.append(subject)
        return alone(subject)

    def wrong(value):
        return "wrong" if value else ""

    def ahead(subjects):
        together.append(list(subjects))
        return [padded(each) for each in subjects]

    usual = look(plan, attempt, wrong, (), ahead)
    assert usual.smallest is not None
    counted, attempts[:], together[:] = len(attempts), [], []
    found = look(plan, attempt, wrong, (), ahead, foresight=engine.Foresight(foreseen, lambda one, other: one == other))
    assert (found.tried, found.smallest, found.complete) == (usual.tried, usual.smallest, True)
    if calls == "together":
        assert attempts == [found.smallest[0]]
        assert together == [[subject for subject, _, _ in found.tried]]
    else:
        assert len(attempts) in (counted, counted + 1)


@pytest.mark.parametrize("error", [FaultError("no value"), None])
def test_what_can_not_be_foreseen_is_searched_as_ever(error):
    def coming(_):
        if error is not None:
            raise error
        return 0

    plan = SearchPlan(among="cnn", tries=20)
    usual = look(plan, padded, lambda value: "wrong" if value else "")
    led = engine.Foresight(coming, lambda one, other: one == other)
    found = look(
        plan, padded, lambda value: "wrong" if value else "", (), lambda some: map(padded, some), foresight=led
    )
    assert (found.tried, found.smallest) == (usual.tried, usual.smallest)


@pytest.mark.parametrize("at_once", [False, True])
def test_a_function_that_is_probably_right_is_tried_on_all_networks_at_once(at_once):
    plan, asked = SearchPlan(among="cnn", tries=20), []
    engine.know(plan, engine.asked(plan))
    found = engine.search(
        plan, lambda subject: subject, lambda _: "", (), lambda some: asked.append(len(some)) or some, at_once=at_once
    )
    count = len(engine.subjects(plan))
    assert (asked, found.complete, found.smallest) == ([count] if at_once else [18, count - 18], True, None)


@pytest.mark.parametrize(("among", "like"), [("cnn", None), ("cnn", LIKE_ONNX), ("linear", None), ("attention", None)])
def test_what_one_run_drew_the_next_takes_in_and_tries_the_same(tmp_path, monkeypatch, among, like):
    monkeypatch.setattr(engine, "_drawn", {})
    plan, kept = SearchPlan(among=among, like=like, tries=20), Cache(tmp_path)
    counterexample.know_subjects(plan, kept)
    assert not engine.is_drawn(plan)
    counterexample.know_subjects(plan, kept, draw=True)
    drawn = engine.subjects(plan)
    engine._drawn.clear()
    monkeypatch.setattr(engine, "_hypothesis", None)
    counterexample.know_subjects(plan, kept)
    assert engine.subjects(plan) == drawn
    assert list(map(as_plain, engine.subjects(plan))) == list(map(as_plain, drawn))
    assert all(each.passing for each in engine.subjects(plan))


@pytest.mark.parametrize("bound", [0, 1, 4])
def test_what_is_asked_where_everything_is_wrong_is_asked_at_once(monkeypatch, bound):
    """The same networks in the same order as Hypothesis asks about, which goes on behind the first that is right."""

    def tried():
        found = look(plan, lambda subject: subject, lambda subject: "wrong" if subject.input.shape[1] >= bound else "")
        return found.tried, found.smallest

    plan = SearchPlan(among="cnn", tries=20)
    monkeypatch.setattr(engine, "_drawn", {})
    alone = tried()
    engine.know(plan, engine.asked(plan))
    searched, search_ = [], engine._hypothesis
    monkeypatch.setattr(engine, "_hypothesis", lambda *given: searched.append(given) or search_(*given))
    assert tried() == alone
    assert bool(searched) == (bound > 1)


_DAMAGED = [{"model": "a.onnx", "shape": [1], "options": {}}]


@pytest.mark.parametrize("damaged", [[], [{}], "no list", [[{}], [{}]], [_DAMAGED, _DAMAGED], [[], []], [1, 2], None])
def test_what_no_run_drew_is_not_taken_in(tmp_path, monkeypatch, damaged):
    monkeypatch.setattr(engine, "_drawn", {})
    plan, kept = SearchPlan(among="linear", tries=5), Cache(tmp_path)
    counterexample.know_subjects(plan, kept, draw=True)
    (key,) = (path.stem for path in tmp_path.glob("*/*.json"))
    kept.write(key, damaged)
    engine._drawn.clear()
    counterexample.know_subjects(plan, kept)
    assert not engine.is_drawn(plan)


def test_what_is_found_is_remembered_and_tried_first(tmp_path):
    record, again = Record(), Record()
    found, smallest = search(trials(tmp_path, NO_GROUPS), record)
    assert record.subjects[0] == smallest
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    replayed = trials(tmp_path / "a", NO_GROUPS)
    verdict_again, _ = search(replayed, Record(record.subjects))
    assert (verdict_again.reason, verdict_again.hint) == (found.reason, found.hint)
    assert found.hint.startswith("Groups are ignored.")
    assert replayed._grader.runner.calls < 40
    right, _ = search(trials(tmp_path / "b", RIGHT), again := Record(record.subjects))
    assert right.outcome is Outcome.CORRECT
    assert again.subjects == record.subjects


def test_records_on_disk_are_read_back_and_what_is_damaged_is_left(tmp_path):
    subject = SubjectSpec(model="generated/network", input=InputSpec(shape=(1, 2)), options={"program": []})
    record = Remembered(tmp_path, ["lab", "check"])
    assert record.read() == []
    record.write([subject])
    assert Remembered(tmp_path, ["lab", "check"]).read() == [subject]
    assert Remembered(tmp_path, ["lab", "other"]).read() == []
    (path,) = (tmp_path / "counterexamples").glob("*/*.json")
    for damaged in ("", "[", "3", "[]"):
        path.write_text(damaged)
        assert record.read() == []
    for forged in (3, {}, [3], [{"model": "x"}], [{"model": "torchvision/vgg11", "shape": [1], "options": {}}],
                   [{"model": "generated/network", "shape": [1e9], "options": {}}]):  # fmt: skip
        record._cache.write(record._key, forged)
        assert record.read() == []


def test_a_forged_record_changes_nothing(tmp_path):
    forged = SubjectSpec(
        model="generated/network", input=InputSpec(shape=(1, 2)), options={"program": [{"layer": "x"}]}
    )
    found, _ = search(trials(tmp_path, RIGHT), Record([forged]), tries=10)
    assert found.outcome is Outcome.CORRECT


def test_a_fault_of_ours_stops_the_search():
    calls = []

    def attempt(subject):
        calls.append(subject)
        if len(calls) == 5:
            message = "ours"
            raise FaultError(message)

    with pytest.raises(FaultError, match="ours"):
        look(SearchPlan(among="cnn"), attempt, lambda _: "")
    assert len(calls) == 5


def passes(monkeypatch, found, seconds):
    """A clock by which each call takes so long, and nothing else takes any time."""
    runner = found._grader.runner
    monkeypatch.setattr(engine, "time", SimpleNamespace(monotonic=lambda: seconds * runner.calls))


def test_time_is_kept_and_said(tmp_path, monkeypatch):
    found = trials(tmp_path, RIGHT)
    passes(monkeypatch, found, 0.2)
    plan = SearchPlan(
        among="cnn", tries=30, seconds=2.0
    )  # two networks are tried ahead, then sixteen: over three seconds
    judged, *_ = counterexample.judged(found, plan)
    found._grader.stop()
    assert judged.outcome is Outcome.CORRECT
    assert judged.reason == "right on 18 random networks, as many as 2 s allowed"


def test_a_function_that_sleeps_until_time_is_up_is_not_right(tmp_path, monkeypatch):
    found = trials(tmp_path, NO_GROUPS)
    passes(monkeypatch, found, 0.6)
    judged, *_ = counterexample.judged(found, SearchPlan(among="cnn", tries=100, seconds=1.0))
    found._grader.stop()
    assert judged.outcome is Outcome.MANUAL
    assert judged.reason == "right on 2 random networks, but 100 were to be tried, and 1 s allowed no more"


def test_one_value_that_a_person_has_to_look_at_is_not_made_right_by_others(tmp_path):
    """A function that is read as a decimal comma wherever it would be wrong."""
    waits = without_value(Outcome.MANUAL, "a person")
    found = SearchResult(tried=[(None, Trial(verdict=each), "") for each in (correct(), waits, correct())])
    assert counterexample._none_wrong(found, SearchPlan(among="cnn"), "").verdict == waits


def expected(value):
    number = Number(value=Fraction(value))
    return (None, Trial(verdict=correct(), value=number, expected=number), "")


def test_a_function_is_not_right_where_the_right_value_never_changes():
    """Zero keys and values on networks without attention."""
    same = SearchResult(tried=[expected(0), expected(0), expected(0)])
    judged, _, tells_nothing, _ = counterexample._none_wrong(same, SearchPlan(among="cnn"), "")
    assert (judged.outcome, tells_nothing) == (Outcome.MANUAL, True)
    assert judged.reason.startswith("the right value is the same on each of 3 random networks (0), ")
    changing = SearchResult(tried=[expected(0), expected(0), expected(3)])
    right, _, tells_nothing, _ = counterexample._none_wrong(changing, SearchPlan(among="cnn"), "")
    assert (right.reason, tells_nothing) == ("right on 3 random networks", False)


@pytest.mark.parametrize(
    ("named", "own", "families"), [(False, False, ["cnn", "attention"]), (True, False, ["cnn"]), (False, True, ["cnn"])]
)
def test_where_one_family_tells_nothing_the_command_tries_the_next(named, own, families, monkeypatch, capsys):
    tried = []

    def nothing(_, plan, __):
        tried.append(plan.among)
        return counterexample._none_wrong(SearchResult(tried=[expected(0), expected(0)]), plan, "")

    monkeypatch.setattr(command, "judged", nothing)
    some = SimpleNamespace(check=SimpleNamespace(counterexample=own))
    assert command._search(some, SearchPlan(among="cnn"), [], named=named).outcome is Outcome.MANUAL
    assert tried == families
    assert ("attention" in capsys.readouterr().err) is (len(families) == 2)


def test_an_answer_that_changes_from_call_to_call_is_told(tmp_path):
    source = RIGHT.replace(
        "return sum(total)", "import random; return sum(total) + random.SystemRandom().randrange(10**9)"
    )
    found, smallest = search(trials(tmp_path, source))
    assert found.outcome is Outcome.INCORRECT
    assert found.reason.startswith("on the same network, called twice: first ")
    assert smallest.input.shape == (1, 1, 1, 1)


def test_a_crash_is_told_with_the_smallest_network(tmp_path):
    source = RIGHT.replace("// m.groups", "// (0 if m.groups == 3 else m.groups)")
    found, smallest = search(trials(tmp_path, source))
    assert found.outcome is Outcome.CRASHED
    assert "ZeroDivisionError" in full_reason(found)
    (step,) = smallest.options["program"]
    assert (step["with"]["groups"], step["with"]["in_channels"], smallest.input.shape) == (3, 3, (1, 3, 1, 1))


def test_a_missing_function_is_missing_without_a_call(tmp_path):
    found = trials(tmp_path, "x = 3")
    judged, _ = search(found)
    assert judged.outcome is Outcome.MISSING
    assert found._grader.runner.calls == 0


def test_without_hypothesis_it_waits_for_a_person(tmp_path, monkeypatch):
    monkeypatch.setattr(counterexample, "available", lambda: False)
    judged, _ = search(trials(tmp_path, NO_GROUPS))
    assert judged.outcome is Outcome.MANUAL
    assert judged.hint == "pip install 'labgrade[counterexample]'"


def test_both_values_of_each_layer_are_shown(tmp_path):
    by_layer = (
        NO_GROUPS
        + """
def macs_by_layer(model, input_size):
    rows = {}
    for name, m in model.named_modules():
        if isinstance(m, (nn.Conv2d, nn.Linear)):
            m.register_forward_hook(lambda m, i, o, name=name: rows.__setitem__(name, cost(m, o)))
    model(torch.zeros(input_size))
    return rows
"""
    )
    found = trials(tmp_path, by_layer)
    conv = {"layer": "Conv2d", "with": {"in_channels": 4, "out_channels": 2, "kernel_size": 1, "groups": 2}}
    linear = {"layer": "Linear", "with": {"in_features": 3, "out_features": 5}}
    subject = SubjectSpec(
        model="generated/network", input=InputSpec(shape=(1, 4, 2, 3)), options={"program": [conv, linear]}
    )
    assert as_code.layer_lines(found, subject) == [
        "# layer  right  yours",
        "# 0         24     48",
        "# 1         60     60",
    ]
    found._grader.stop()
    (tmp_path / "x").mkdir()
    without = trials(tmp_path / "x", NO_GROUPS)
    assert as_code.layer_lines(without, subject) == ["# layer  right", "# 0         24", "# 1         60"]
    without._grader.stop()


def test_a_by_layer_quantity_may_call_its_number_anything_and_one_that_fails_costs_no_verdict(tmp_path, monkeypatch):
    value = DirectOracle.value
    conv = {"layer": "Conv2d", "with": {"in_channels": 4, "out_channels": 2, "kernel_size": 1, "groups": 2}}
    subject = SubjectSpec(
        model="generated/network", input=InputSpec(shape=(1, 4, 2, 3)), options={"program": [conv, conv | {"with": {}}]}
    )

    def named_otherwise(oracle, call, of):
        if call.quantity == "macs_by_layer":
            return [{"layer": "a", "type": "Conv2d", "bytes": 3}, {"layer": "b", "type": "Conv2d", "bytes": 4}]
        return value(oracle, call, of)

    monkeypatch.setattr(DirectOracle, "value", named_otherwise)
    found = trials(tmp_path, NO_GROUPS)
    assert as_code.layer_lines(found, subject) == ["# layer  right", "# a          3", "# b          4"]

    def failing(oracle, call, of):
        if call.quantity == "macs_by_layer":
            message = "broken"
            raise FaultError(message)
        return value(oracle, call, of)

    monkeypatch.setattr(DirectOracle, "value", failing)
    judged, _ = search(found)
    assert judged.outcome is Outcome.INCORRECT
    assert "groups=2" in full_reason(judged)


def test_attention_that_is_missed_is_shown_as_one_attention(tmp_path):
    found = trials(tmp_path, RIGHT, check="attention")
    about = replace(found.check, cases=(), expected=QuantityCall(quantity="macs"))
    found.check = about
    judged, smallest = search(found, among="attention")
    (step,) = smallest.options["program"]
    assert step["layer"] in ("Products", "Attention")
    assert smallest.input.shape == (1, 1, 1)
    assert judged.outcome is Outcome.PARTIAL
    assert judged.hint.startswith("Only what convolution and linear layers do")
    assert "attention" in judged.hint


def test_of_a_hidden_check_nothing_is_shown(tmp_path):
    found, _ = search(trials(tmp_path, NO_GROUPS))
    hidden = Graded(id="any-network", points=0, earned=0, verdict=found, hidden=True)
    shown = TaskReport(lab="lab", id="t", title="", points=0, checks=(hidden, replace(hidden, id="x", hidden=False)))
    report = student_view.for_student(Report(submissions=(SubmissionReport(name="s", tasks=(shown,)),)))
    assert [check.id for check in report.submissions[0].tasks[0].checks] == ["x"]


def test_the_zoo_builds_no_layer_that_is_not_named():
    for program in (
        3,
        [3],
        [{"layer": "Module"}],
        [{"join": "x", "paths": []}],
        [{"layer": "Conv2d", "with": {"x": 1}}],
    ):
        with pytest.raises(ValueError, match="no network can be built"):
            models.Subject(model="generated/network", shape=(1, 2), options={"program": program}).with_weights()


def test_the_task_of_the_course_asks_for_it():
    (check,) = [each for each in task("2-1-4-macs").checks if each.counterexample]
    assert (check.counterexample.among, check.counterexample.tries, check.hidden) == ("cnn", 100, False)
