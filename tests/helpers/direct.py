"""Grades without processes: a function of a file is called, and quantities are computed, in the test's own process."""

import importlib.util
from dataclasses import replace
from pathlib import Path

from helpers.handed_in import read

from labgrade.answers.reader.reader import Reader
from labgrade.core.errors import FaultError
from labgrade.core.results import Execution
from labgrade.core.subject import as_plain
from labgrade.core.task import Counterexample
from labgrade.diagnosis.counterexample import judged, plan_of
from labgrade.diagnosis.probe import Trials
from labgrade.run.grader import Grader
from labgrade.spec import course, load
from labgrade.subjects import models, onnx_export
from labgrade.truth.parameters import parameters_of

ROOT = Path(__file__).parents[2]
COURSE = course.find(ROOT)
CONVS = """
import torch
from torch import nn

def total_macs(model, input_size):
    total = []
    for m in model.modules():
        if isinstance(m, (nn.Conv2d, nn.Linear)):
            m.register_forward_hook(lambda m, i, o: total.append(cost(m, o)))
    with torch.no_grad():
        model(torch.zeros(input_size))
    return sum(total)

def cost(m, o):
    if isinstance(m, nn.Linear):
        return o.numel() * m.in_features
    return o.numel() * m.in_channels * m.kernel_size[0] * m.kernel_size[1] {groups}
"""
RIGHT, NO_GROUPS = CONVS.replace("{groups}", "// m.groups"), CONVS.replace("{groups}", "")


class DirectOracle:
    """Ground truth in this process."""

    def __init__(self, folder):
        self.folder = folder
        self.asked = 0

    def value(self, call, subject):
        entry = COURSE.quantities.get(call.quantity)
        self.asked += 1
        of = (
            dict(subject.options)
            if subject.is_config
            else self.file(subject)
            if subject.is_onnx
            else a_subject(subject)
        )
        try:
            return entry.load()(of, **parameters_of(call, entry, subject))
        except ValueError as error:
            raise FaultError(str(error)) from error

    def value_if_any(self, call, subject):
        return self.value(call, subject)

    def file(self, subject):
        path = self.folder / f"{abs(hash(repr(subject)))}.onnx"
        if not path.is_file():
            onnx_export.make(path, as_plain(subject))
        return path

    def close(self):
        pass


class DirectRunner:
    """Calls of a student's function in this process, on a file that is loaded anew each time."""

    def __init__(self):
        self.calls = 0

    @staticmethod
    def fork(*_):
        """No process has torch loaded for others."""

    def run(self, request, module=None):
        self.calls += 1
        module = module or self._loaded(request)
        given = {"input_size": request.subject.input.shape, "model_path": str(next(iter(request.model.values()), ""))}
        given["config"] = dict(request.subject.options)
        if {"model", "input"} & set(request.given):
            try:
                given["model"], given["input"] = a_subject(request.subject).with_weights()
            except ValueError as error:
                return Execution(status="fault", reason=str(error))
        try:
            value = getattr(module, request.function)(*[given[name] for name in request.given])
        except Exception as error:  # noqa: BLE001 - a student's
            return Execution(status="crashed", reason=f"{request.function} raised {type(error).__name__}: {error}")
        return Execution(status="returned", value=value)

    def run_each(self, request, subjects):
        said, module = [], self._loaded(request)
        for subject, model in subjects:
            done = self.run(replace(request, subject=subject, model=model), module)
            if done.status != "returned":
                break
            said.append(done.value)
        return said

    def _loaded(self, request):
        spec_ = importlib.util.spec_from_file_location("student", request.folder / request.file)
        module = importlib.util.module_from_spec(spec_)
        spec_.loader.exec_module(module)
        return module

    def close(self):
        pass


def a_subject(subject):
    plain = as_plain(subject)
    return models.Subject(**{**plain, "shape": tuple(plain["shape"])})


def task(name, lab="acal-lab2"):
    return load.read(ROOT / "specs" / lab / f"{name}.yaml", COURSE)


def trials(folder, source, name="2-1-4-macs", check="any-network", file="hw2_1.py"):
    """The trials of a function whose file is `source`."""
    (folder / "work").mkdir()
    (folder / "work" / file).write_text(source, encoding="utf-8")
    grader = Grader(COURSE, runner=DirectRunner(), reader=Reader(None), oracle=DirectOracle(folder))
    about = task(name)
    (meant,) = [each for each in about.checks if each.id == check]
    return Trials(grader, about, meant, read(folder / "work", "someone"))


class Record:
    """In place of what is remembered on disk."""

    def __init__(self, subjects=()):
        self.subjects = list(subjects)

    def read(self):
        return self.subjects

    def write(self, subjects):
        self.subjects = list(subjects)


def search(found, record=None, **changes):
    """The verdict, and the smallest subject that is wrong, if there is one."""
    record = record or Record()
    plan = replace(plan_of(found.task, found.check.counterexample or Counterexample(among="cnn")), seconds=600)
    try:
        verdict = judged(found, replace(plan, **changes), [record]).verdict
    finally:
        found._grader.stop()
    return verdict, next(iter(record.subjects), None)
