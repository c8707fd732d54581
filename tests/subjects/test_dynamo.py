"""Loading `torch._dynamo` takes longer than torch: it is loaded where it is needed, and found there."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
BEGIN = """
import sys
from labgrade.subjects import models
from labgrade.subjects.models import without_dynamo
models.import_torchvision()
import torch
def loaded(): return sorted({"torch._dynamo", "sympy"} & set(sys.modules))
"""


def printed(code):
    command = [sys.executable, "-c", BEGIN + code]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")[:-1]


def test_torchvision_is_imported_without_it_and_the_one_function_that_needs_it_finds_it():
    assert printed("""
print(loaded())
from torchvision.ops.roi_align import is_compile_supported
print(is_compile_supported("cpu"))
print(is_compile_supported is not torch._dynamo.utils.is_compile_supported, "torch._dynamo" in loaded())
""") == ["[]", "True", "True True"]


def test_shapes_are_computed_without_it_and_the_compiler_works_afterwards():
    assert printed("""
norm, x = torch.nn.BatchNorm2d(3).to("meta").eval(), torch.empty(1, 3, 4, 4, device="meta")
with without_dynamo():
    print(list(torch.cat([norm(x), norm(x)]).shape))
print("torch._dynamo" in loaded())
compiled = torch.compile(torch.nn.BatchNorm1d(2), backend="eager")
print(list(compiled(torch.ones(3, 2)).shape), torch._dynamo.config is not None)
with without_dynamo():
    print(list(norm(x).shape), torch._dynamo.utils is not None)
""") == ["[2, 3, 4, 4]", "False", "[3, 2] True", "[1, 3, 4, 4] True"]


def test_what_needs_another_part_of_it_is_refused_and_nothing_stays_behind():
    assert printed("""
try:
    with without_dynamo():
        import torch._dynamo.config
except ImportError as error:
    print(type(error).__name__)
import torch._dynamo.config
print(torch._dynamo.config.__name__)
""") == ["ModuleNotFoundError", "torch._dynamo.config"]
