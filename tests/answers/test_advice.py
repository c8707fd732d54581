"""A missing package is named, with what may be imported."""

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
