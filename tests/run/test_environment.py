"""What is set and loaded before a student's code begins: a server of its own for each environment."""

import pytest
from helpers import own_course

from labgrade.core.task import Environment
from labgrade.sandbox.host.servers import STUDENTS, in_environment
from labgrade.spec import course, load

TASK = """
id: NAME
title: A task
points: 3
statement: What is set?
subject: {config: {a: 1}}
ENVIRONMENT
answers:
  said: {type: text, from: [{call: 'hw.py:said', given: [config]}]}
  printed: {type: text, from: [{run: {command: python hw.py}, after: said}]}
  file: {type: file, from: [{file: hw.py}]}
checks:
  - {id: said, points: 1, answer: said, checker: equal, expected: RIGHT}
  - {id: printed, points: 1, answer: printed, checker: equal, expected: RIGHT}
  - {id: measured, points: 1, answer: file, measured: {quantity: seen}, checker: equal, expected: RIGHT}
"""
# As a compiler that is chosen at import would: what the variable says later is too late.
HAND_IN = """
import os
import sys

CHOSEN = os.environ.get("COMPILER_CHOICE", "none")


def said(config):
    return CHOSEN + ("-loaded" if "colorsys" in sys.modules else "-bare")


print("said: " + said({}))
"""
REFERENCE = """
import os
import sys


def seen(artifact) -> str:
    '''What is set where a file is measured.'''
    return os.environ.get("COMPILER_CHOICE", "none") + ("-loaded" if "colorsys" in sys.modules else "-bare")
"""
SET = "environment: {variables: {COMPILER_CHOICE: interpreter}, preload: [colorsys, no_such_module_here]}"


def task(name, environment, right):
    return TASK.replace("NAME", name).replace("ENVIRONMENT", environment).replace("RIGHT", right)


@pytest.fixture
def about(tmp_path):
    return own_course.write(
        tmp_path,
        {
            "specs/lab/with.yaml": task("with", SET, "interpreter-loaded"),
            "specs/lab/without.yaml": task("without", "", "none-bare"),
            "reference/own.py": REFERENCE,
            "submissions/ada/hw.py": HAND_IN,
        },
    )


@pytest.mark.slow
def test_functions_programs_and_quantities_begin_in_it(about):
    with own_course.grading(about) as grade:
        found = grade("ada")
    assert {name: each.reason for name, each in found.items() if each.outcome.name != "CORRECT"} == {}


def test_a_lab_gives_its_tasks_one_and_a_task_its_own(about):
    (about / "specs/lab/lab.yaml").write_text("title: A lab\nenvironment: {variables: {B: '2', A: '1'}}\n")
    found = course.find(about)
    common = load.read(about / "specs/lab/without.yaml", found).limits.environment
    assert common == Environment(variables=(("A", "1"), ("B", "2")))
    own = load.read(about / "specs/lab/with.yaml", found).limits.environment
    assert own.variables == (("COMPILER_CHOICE", "interpreter"),)


def test_each_environment_has_a_server_of_its_own():
    kinds = [Environment(), Environment(variables=(("A", "1"),)), Environment(preload=("a",))]
    assert len({in_environment(STUDENTS, each) for each in kinds}) == 3
    assert in_environment(STUDENTS, Environment()) == STUDENTS


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ("{variables: {PATH: /tmp}}", "a variable that labgrade does not set itself"),
        ("{variables: {LD_PRELOAD: a.so}}", "a variable that labgrade does not set itself"),
        ("{variables: {A: 1}}", "the text of a variable ('1')"),
        ("{preload: [a-b]}", "a module (executorch.runtime)"),
        ("{loads: [a]}", "loads"),
    ],
)
def test_what_can_not_be_set_is_told(about, environment, said):
    (about / "specs/lab/with.yaml").write_text(task("with", f"environment: {environment}", "x"))
    assert said in " ".join(own_course.findings(about))


KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def _scaled(x, out, size, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    tl.store(out + at, tl.load(x + at, mask=inside) * factor, mask=inside)


def doubled(x):
    out = torch.empty_like(x)
    _scaled[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), FACTOR, BLOCK=64)
    return out
"""
KERNEL_TASK = """
id: kernel
title: A kernel
points: 1
statement: Double the input in a kernel of Triton.
packages: [triton]
environment: {variables: {TRITON_INTERPRET: '1'}}
subject: {model: micro/tied, input: [1, 3, 10, 7]}
answers:
  out: {type: tensor, from: [{call: 'hw.py:doubled', given: [input]}]}
checks:
  - {id: out, points: 1, answer: out, checker: close, expected: {quantity: twice}}
"""
TWICE = '''
import torch


def twice(subject) -> torch.Tensor:
    """Twice the input."""
    return 2 * subject.with_weights()[1]
'''


@pytest.mark.slow
def test_a_kernel_of_triton_is_judged_in_its_interpreter(tmp_path):
    pytest.importorskip("triton", reason="triton is large, and only this test needs it: pip install triton")
    hands = {name: KERNEL.replace("FACTOR", factor) for name, factor in (("right", "2.0"), ("wrong", "3.0"))}
    about = own_course.write(
        tmp_path,
        {
            "specs/lab/kernel.yaml": KERNEL_TASK,
            "reference/own.py": TWICE,
            **{f"submissions/{name}/hw.py": source for name, source in hands.items()},
        },
    )
    with own_course.grading(about) as grade:
        found = {name: grade(name)["kernel.out"] for name in hands}
    assert {name: str(each.outcome) for name, each in found.items()} == {"right": "CORRECT", "wrong": "INCORRECT"}, (
        found
    )
