"""Loading `torch._dynamo` takes longer than torch: it is loaded where it is needed, and found there."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
BEGIN = """
import sys
from labgrade.subjects import models
from labgrade.subjects.importing import without_dynamo, without_symbols
models.import_torchvision()
import torch
def loaded(): return sorted({"torch._dynamo", "sympy.core"} & set(sys.modules))
"""
# Each goes on in a fork of its own from where torch and torchvision are loaded.
FORKS = """
import json, os
said = {}
for name, code in CODES.items():
    out, end = os.pipe()
    child = os.fork()
    if not child:
        os.close(out)
        lines = []
        exec(code, {**globals(), "print": lambda *words: lines.append(" ".join(map(str, words)))})
        os.write(end, json.dumps(lines).encode())
        os._exit(0)
    os.close(end)
    with open(out) as reader:
        said[name] = json.loads(reader.read() or '["it failed"]')
    os.waitpid(child, 0)
print(json.dumps(said))
"""
CODES = {
    "found": """
print(loaded())
from torchvision.ops.roi_align import is_compile_supported
print(is_compile_supported("cpu"))
print(is_compile_supported is not torch._dynamo.utils.is_compile_supported, "torch._dynamo" in loaded())
""",
    "compiles": """
norm, x = torch.nn.BatchNorm2d(3).to("meta").eval(), torch.empty(1, 3, 4, 4, device="meta")
with without_dynamo():
    print(list(torch.cat([norm(x), norm(x)]).shape))
print("torch._dynamo" in loaded())
compiled = torch.compile(torch.nn.BatchNorm1d(2), backend="eager")
print(list(compiled(torch.ones(3, 2)).shape), torch._dynamo.config is not None)
with without_dynamo():
    print(list(norm(x).shape), torch._dynamo.utils is not None)
""",
    "plain sizes": """
x = torch.empty(2, 3, device="meta")
with without_dynamo(), without_symbols():
    y = x.clone().add_(x)
    grown = torch.nn.GRU(3, 4).to("meta")(torch.empty(2, 5, 3, device="meta"))[0]
    print(list(y.shape), list(grown.shape), "sympy.core" in sys.modules)
    made = [torch.stack([x, y]), torch.cat([x, y]), torch.nn.functional.layer_norm(x, [3]), x @ y.T]
    print([list(each.shape) for each in made])
    try:
        x.add_(torch.empty(5, device="meta"))
    except RuntimeError as error:
        print("must match" in str(error) or "broadcast" in str(error))
print("torch.fx.experimental.symbolic_shapes" in sys.modules)
""",
    "symbols": """
with without_symbols():
    from torch.fx.experimental.symbolic_shapes import ShapeEnv, guard_or_false
    print(ShapeEnv.__module__, guard_or_false(True), "sympy.core" in loaded())
    exported = torch.export.export(torch.nn.Linear(3, 2), (torch.ones(4, 3),),
                                   dynamic_shapes=({0: torch.export.Dim("batch", min=2)},))
    print([each.kind.name for each in exported.graph_signature.output_specs])
print(sys.modules["torch.fx.experimental.symbolic_shapes"].ShapeEnv is ShapeEnv)
""",
    "refused": """
try:
    with without_dynamo():
        import torch._dynamo.config
except ImportError as error:
    print(type(error).__name__)
import torch._dynamo.config
print(torch._dynamo.config.__name__)
""",
}


@pytest.fixture(scope="module")
def printed():
    code = f"{BEGIN}\nCODES = {CODES!r}\n{FORKS}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_torchvision_is_imported_without_it_and_the_one_function_that_needs_it_finds_it(printed):
    assert printed["found"] == ["[]", "True", "True True"]


def test_shapes_are_computed_without_it_and_the_compiler_works_afterwards(printed):
    assert printed["compiles"] == ["[2, 3, 4, 4]", "False", "[3, 2] True", "[1, 3, 4, 4] True"]


def test_what_needs_another_part_of_it_is_refused_and_nothing_stays_behind(printed):
    assert printed["refused"] == ["ModuleNotFoundError", "torch._dynamo.config"]


def test_sizes_that_are_numbers_load_no_sympy(printed):
    assert printed["plain sizes"] == [
        "[2, 3] [2, 5, 4] False",
        "[[2, 2, 3], [4, 3], [2, 3], [2, 2]]",
        "True",
        "False",
    ]


def test_what_asks_for_symbols_gets_the_real_ones(printed):
    assert printed["symbols"] == ["torch.fx.experimental.symbolic_shapes True True", "['USER_OUTPUT']", "True"]
