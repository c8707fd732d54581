# ruff: noqa: E501, ISC004 - programs of one line
"""Libraries that run once something of them is used: the same modules, before and after."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BEGIN = """
import sys
import reference._onnx
def waits(name): return type(sys.modules[name]).__name__ == "_Waiting"
"""
CODES = {
    "numpy waits": ("import numpy as np; print(waits('numpy')); np.prod; print(waits('numpy'))", "True False"),
    "a submodule runs the package first": ("import numpy.linalg; print(waits('numpy'), numpy.linalg.norm([3, 4]))", "False 5.0"),
    "a name is imported from it": ("from numpy import ones; print(ones(2).sum(), waits('numpy'))", "2.0 False"),
    "onnx's parts wait": ("import onnx; print(waits('onnx.helper'), onnx.helper.make_opsetid('', 17).version)", "True 17"),
    "a part is one module": ("from onnx import helper; import onnx; print(helper is onnx.helper is sys.modules['onnx.helper'])", "True"),
    "the version is that of the package": (
        "import onnx, importlib.metadata; print(onnx.__version__ == importlib.metadata.version('onnx'))", "True"),
    "metadata is the real one": ("import importlib.metadata as m; print(m.version('numpy').count('.') > 0)", "True"),
    "the reference evaluator runs": (
        "from onnx.reference import ReferenceEvaluator; import onnx.parser as p, numpy as np; "
        "m = p.parse_model('<ir_version: 8, opset_import: [\"\": 17]> g (float[2] x) => (float[2] y) {y = Add(x, x)}'); "
        "print(ReferenceEvaluator(m).run(None, {'x': np.ones(2, np.float32)})[0].tolist())", "[2.0, 2.0]"),
    "a checker's error is caught": (
        "import onnx\ntry: onnx.checker.check_model(onnx.ModelProto())\nexcept onnx.checker.ValidationError: print('caught')", "caught"),
    "onnxruntime loads beside it": ("import onnxruntime; print(waits('numpy'), len(onnxruntime.get_available_providers()) > 0)", "False True"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", CODES)
def test_a_module_that_waits_is_the_module(name):
    code, printed = CODES[name]
    done = subprocess.run([sys.executable, "-c", BEGIN + code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.split() == printed.split(), done.stderr


@pytest.mark.slow
def test_what_is_loaded_already_stays_as_it_is():
    code = "import numpy, onnx, sys; kept = numpy.ones; import reference._onnx; print(numpy.ones is kept, type(sys.modules['numpy']).__name__)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["True", "module"], done.stderr
