"""A missing package is named, with what may be imported."""

import sys

import pytest

from labgrade.answers import advice
from labgrade.core.results import Execution


def hint(reason):
    return advice.hint(Execution(status="crashed", reason=reason))


def test_a_missing_package_is_named_with_what_there_is():
    said = hint("lab.py:1: `import kaggle.api` raised ModuleNotFoundError: No module named 'kaggle.api'")
    assert said.startswith("'kaggle' is not installed where your work is graded")
    assert "of packages, Python's own, numpy, onnx, onnxruntime, torch" in said
    assert "may be imported. Import others only inside of the function" in said


def test_other_errors_get_no_advice():
    assert hint("lab.py:1: ImportError: cannot import name 'x' from 'y'") == ""


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python takes what is newer than 3.11")
@pytest.mark.parametrize(
    "line",
    [
        'print(f"{x["a"]}")',
        "type A = int",
        "type A[T] = list[T]",
        "def f[T](x: T) -> T:",
        "class A[T]:",
        'f"{x:\\n}" f"{"\\n".join(x)}"',
    ],
)
def test_what_newer_python_takes_is_said_to_be_newer(line):
    with pytest.raises(SyntaxError) as caught:
        compile(f"{line}\n    pass\n" if line.endswith(":") else line, "lab.py", "exec")
    assert "Python 3.11" in hint(f"lab.py:1: `{line}` raised SyntaxError: {caught.value.msg}; so none of the file's")


@pytest.mark.parametrize("line", ["def f(:", "x = [1", "type(A = 3", "return 3 +"])
def test_other_syntax_errors_get_no_advice(line):
    with pytest.raises(SyntaxError) as caught:
        compile(line, "lab.py", "exec")
    assert hint(f"lab.py:1: `{line}` raised SyntaxError: {caught.value.msg}") == ""
