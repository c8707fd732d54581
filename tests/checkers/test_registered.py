"""What holds for every checker of the folder, whoever adds it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from labgrade.spec.registry import read

FOLDER = Path(__file__).parents[2] / "checkers"
REGISTRY = read("checker", (FOLDER,))
FILES = sorted(FOLDER.glob("*.py"))
ALLOWED = {"labgrade.verdict", "labgrade.values", "numpy"}


def test_the_folder_can_be_read():
    assert REGISTRY.findings == ()
    assert {"equal", "close", "between", "same_rows"} <= set(REGISTRY.entries)


@pytest.mark.parametrize("entry", REGISTRY.entries.values(), ids=lambda entry: entry.name)
def test_a_checker_takes_an_answer_and_what_is_expected(entry):
    assert entry.takes == ("answer", "expected")
    assert entry.returns == "Verdict"
    assert entry.description.endswith(".")
    assert callable(entry.load())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_checker_imports_little_and_has_no_effects(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert {alias.name for alias in node.names} <= ALLOWED | {"ast", "math", "operator", "re", "sys"}
        if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").startswith("labgrade"):
            assert node.module in ALLOWED
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"print", "open", "exec", "eval"}
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 40, f"{node.name} has more than 40 lines"
