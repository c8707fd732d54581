"""Layer tables of GoogLeNet as tools and students make them, judged by the task itself."""

from pathlib import Path

import pytest
from torch import nn

from labgrade.answers import text
from labgrade.answers.reading.typed_values import as_value
from labgrade.core.results import Submission
from labgrade.core.task import TextForm
from labgrade.judging.judge import judge
from labgrade.run.grader import Grader
from labgrade.spec import course, load
from labgrade.subjects import models
from labgrade.verdict import Outcome

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
COURSE = course.find(ROOT)
TASK = load.read(ROOT / "specs/acal-lab2/2-1-3-layer-table.yaml", COURSE)
KIND = TASK.answers["layers"].type


@pytest.fixture(scope="module")
def calls():
    """Name, module, parameters and shape of each call on GoogLeNet, in the order in which calls end."""
    module, x = models.Subject(**SUBJECT).on_meta()
    found = []

    def hook(name, child, output):
        found.append((name, child, sum(each.numel() for each in child.parameters()), list(output.shape)))

    for name, child in module.named_modules():
        child.register_forward_hook(lambda own, _, output, name=name: hook(name, own, output))
    module(x)
    return found


SUBJECT = {
    "model": TASK.subject.model,
    "shape": list(TASK.subject.input.shape),
    "fill": "zeros",
    "input_seed": 0,
    "options": {},
    "weight_seed": 0,
}


@pytest.fixture(scope="module")
def judged():
    with Grader(COURSE) as grader:
        judging, expect = grader.judging_of(TASK, TASK.checks[0], TASK.subject)
        yield lambda value: judge(TASK.checks[0], value, judging, expect)


def torchsummary(calls, batch):
    """The table of torchsummary 1.5: it counts `weight` and `bias` of a module itself, and so none of a container."""
    lines = ["-" * 64, f"{'Layer (type)':>20} {'Output Shape':>25} {'Param #':>15}", "=" * 64]
    number = 0
    for name, module, _, shape in calls:
        if name and not isinstance(module, nn.Sequential | nn.ModuleList):
            number += 1
            own = [getattr(module, each, None) for each in ("weight", "bias")]
            count = sum(each.numel() for each in own if each is not None)
            lines.append(f"{f'{type(module).__name__}-{number}':>20} {[batch, *shape[1:]]!s:>25} {count:>15,}")
    return "\n".join([*lines, "=" * 64, "Total params: 6,624,904"])


def read(tmp_path, printed):
    (tmp_path / "out.txt").write_text(printed, encoding="utf-8")
    who = Submission(name="who", folder=tmp_path, files=("out.txt",))
    return text.obtain(KIND, TextForm(file="out.txt"), who).value


def test_a_table_of_torchsummary_with_a_batch_of_one_is_right(calls, judged, tmp_path):
    table = read(tmp_path, torchsummary(calls, 1))
    assert len(table.rows) == 196
    assert judged(table).outcome is Outcome.CORRECT


def test_the_batch_that_torchsummary_prints_unasked_is_right(calls, judged, tmp_path):
    assert judged(read(tmp_path, torchsummary(calls, -1))).outcome is Outcome.CORRECT


def rows(calls, shaped=lambda shape: shape):
    return [[name, count, shaped(shape)] for name, module, count, shape in calls if not any(module.children())]


def test_every_module_that_named_modules_names_may_be_listed(calls, judged):
    everything = [[name, count, shape] for name, _, count, shape in calls]
    assert everything[-1][0] == ""
    assert judged(as_value(everything, KIND)).outcome is Outcome.CORRECT
    wrong_root = [*everything[:-1], ["", 5, [1, 1000]]]
    assert judged(as_value(wrong_root, KIND)).outcome is Outcome.PARTIAL


def test_shapes_without_the_batch_are_known(calls, judged):
    verdict = judged(as_value(rows(calls, lambda shape: shape[1:]), KIND))
    assert (float(verdict.credit), verdict.hint.partition(",")[0]) == (0.8, "The shapes leave out the batch")


def test_an_unknown_batch_may_be_none_too(calls, judged):
    assert judged(as_value(rows(calls, lambda shape: [None, *shape[1:]]), KIND)).outcome is Outcome.CORRECT


@pytest.mark.parametrize(("kept", "outcome"), [(65, Outcome.CORRECT), (5, Outcome.CORRECT), (4, Outcome.PARTIAL)])
def test_an_abridged_table_needs_as_many_layers_as_the_task_says(calls, judged, tmp_path, kept, outcome):
    lines = [f"| {name} | {count} | {shape} |" for name, count, shape in rows(calls)]
    assert len(lines) == 130
    head = "| Layer | Params | Output shape |\n|---|---|---|\n"
    verdict = judged(read(tmp_path, head + "\n".join(lines[:kept]) + "\n| ... | ... | ... |\n"))
    assert verdict.outcome is outcome
    assert outcome is Outcome.CORRECT or verdict.credit * 130 == kept
