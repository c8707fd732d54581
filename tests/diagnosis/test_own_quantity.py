"""A course's own quantity that says its value layer by layer: wrong functions are told their slip, for nothing more."""

import pytest
from helpers import own_course

from labgrade.diagnosis.bases import bases_of
from labgrade.spec import course, load
from tests.helpers.direct import COURSE

pytestmark = pytest.mark.slow

QUANTITY = """
from torch import nn


def outputs(subject) -> int:
    return sum(row["outputs"] for row in outputs_by_layer(subject))


def outputs_by_layer(subject) -> list[dict]:
    module, x = subject.on_meta()
    rows = []
    for name, layer in module.named_modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            layer.register_forward_hook(
                lambda layer, _, y, name=name: rows.append(
                    {"layer": name, "type": type(layer).__name__, "outputs": y.numel()}
                )
            )
    module(x)
    return rows
"""
SPEC = """
id: outputs
title: Outputs of convolutions and linear layers
points: 2
statement: How many numbers do all convolutions and linear layers put out?
subject: {model: micro/dilated, input: [2, 3, 32, 40]}
answers:
  total: {type: count, call: 'hw.py:outputs(model, input_size)'}
checks:
  - {id: total, points: 2, answer: total, checker: equal, expected: {quantity: outputs}}
"""
STUDENT = """
import torch
from torch import nn


def outputs(model, input_size):
    found = []
    for layer in model.modules():
        if isinstance(layer, KINDS):
            layer.register_forward_hook(lambda layer, _, y: found.append(y.numel()))
    with torch.no_grad():
        model(torch.zeros(input_size))
    return TOTAL
"""


def test_its_slips_are_named_alone_and_together_and_nothing_is_said_of_what_is_none(tmp_path):
    students = {
        "types": ("(nn.Conv2d,)", "sum(found)", {"without Linear"}),
        "both": ("(nn.Conv2d,)", "sum(found) // input_size[0]", {"without Linear", "batch"}),
        "layers": ("(nn.Conv2d, nn.Linear)", "len(found)", {"layers"}),
        "odd": ("(nn.Conv2d, nn.Linear)", "sum(found) + 7", None),
        "right": ("(nn.Conv2d, nn.Linear)", "sum(found)", None),
    }
    files = {
        f"submissions/{name}/hw.py": STUDENT.replace("KINDS", kinds).replace("TOTAL", total)
        for name, (kinds, total, _) in students.items()
    }
    own_course.write(tmp_path, {"reference/outputs.py": QUANTITY, "specs/lab/outputs.yaml": SPEC, **files})
    with own_course.grading(tmp_path) as grade:
        seen = {name: grade(name)["outputs.total"] for name in students}
    causes = {name: set(verdict.diagnosis.causes) if verdict.diagnosis else set() for name, verdict in seen.items()}
    assert causes == {name: said or set() for name, (_, _, said) in students.items()}
    assert seen["types"].diagnosis.says == ("Linear layers are left out. They count, too.",)
    assert seen["right"].credit == 1


def test_one_without_rows_has_none(tmp_path):
    files = {"reference/outputs.py": QUANTITY.partition("def outputs_by_layer")[0], "specs/lab/outputs.yaml": SPEC}
    own_course.write(tmp_path, files)
    own = course.find(tmp_path)
    (check,) = load.read(tmp_path / "specs/lab/outputs.yaml", own).checks
    assert bases_of(check, own.quantities) == []
    assert "by_layer_slips" in COURSE.quantities.entries
