import ast
import subprocess
import sys
from pathlib import Path

import pytest

from labgrade.files import python_sources
from labgrade.spec import registry

ROOT = Path(__file__).parents[2]

SOURCE = '''
"""A file."""
from __future__ import annotations
from typing import Literal, TypeAlias
from ._private import Cost

Which: TypeAlias = Literal["all", "some"]

def area(subject, *, which: Which = "all", layers: list[str] | None = None, cost: Cost, ratio: float = 0.5) -> int:
    """Area in square metres.

    More words.
    """
    return len(subject)

def _hidden(subject): ...
'''


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.py").write_text(SOURCE)
    (tmp_path / "_private.py").write_text('from typing import Literal\nCost = Literal["none", "one"]\n')
    return tmp_path


def test_an_entry_is_read_without_importing(folder):
    (folder / "a.py").write_text(SOURCE + "\nraise RuntimeError\n")
    entry = registry.read("quantity", (folder,)).get("area")
    assert entry.description == "Area in square metres."
    assert entry.takes == ("subject",)
    assert entry.parameters["which"].schema == {"enum": ["all", "some"]}
    assert entry.parameters["layers"].schema == {
        "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]
    }
    assert entry.parameters["cost"].schema == {"enum": ["none", "one"]}
    assert entry.parameters["cost"].required
    assert not entry.parameters["ratio"].required
    assert entry.parameters["ratio"].default == "0.5"


def test_an_annotation_may_bound_its_parameter(folder):
    bounded = """
def other(
    answer,
    *,
    share: Annotated[float, {"minimum": 0, "maximum": 1}],
    names: list[Annotated[str, {"format": "column"}]],
    least: Annotated[int, {"minimum": 1}] | None = None,
): ...
"""
    (folder / "b.py").write_text(bounded)
    found = registry.read("checker", (folder,)).get("other").parameters
    assert found["share"].schema == {"type": "number", "minimum": 0, "maximum": 1}
    assert found["names"].schema == {"type": "array", "items": {"type": "string", "format": "column"}}
    assert found["least"].schema == {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}
    assert [each.annotation for each in found.values()] == ["float", "list[str]", "int | None"]


@pytest.mark.parametrize(
    "kind", ['Annotated[int, {"least": 1}]', 'Annotated[dict, {"minimum": 1}]', "Annotated[int, 1]"]
)
def test_a_bound_that_nobody_reads_is_named(folder, kind):
    (folder / "b.py").write_text(f"def other(subject, *, x: {kind}): ...\n")
    (finding,) = registry.read("quantity", (folder,)).findings
    assert "the parameter 'x' of 'other' needs a simple annotation" in finding.message


def test_private_functions_and_files_are_no_entries(folder):
    (folder / "_more.py").write_text("def other(subject): ...\n")
    assert list(registry.read("quantity", (folder,)).entries) == ["area"]


def test_two_of_one_name_are_an_error_that_names_both_places(folder):
    (folder / "b.py").write_text("def area(subject): ...\n")
    (finding,) = registry.read("quantity", (folder,)).findings
    assert str(finding) == f"{folder}/b.py:1:1: the quantity 'area' is already defined at {folder}/a.py:9"


def test_a_file_that_is_not_python_is_named_and_the_others_stay(folder):
    (folder / "b.py").write_text("def broken(:\n")
    found = registry.read("quantity", (folder,))
    assert "area" in found.entries
    assert str(found.findings[0]).startswith(f"{folder}/b.py:1:")


def test_a_parameter_without_a_simple_type_is_named(folder):
    (folder / "b.py").write_text("def other(subject, *, x: dict): ...\n")
    (finding,) = registry.read("quantity", (folder,)).findings
    assert "the parameter 'x' of 'other' needs a simple annotation" in finding.message


def test_a_loaded_function_works_and_relative_imports_do_too(folder):
    (folder / "a.py").write_text("from ._private import TWO\n\ndef twice(subject):\n    return TWO * subject\n")
    (folder / "_private.py").write_text("TWO = 2\n")
    assert registry.read("quantity", (folder,)).get("twice").load()(21) == 42


def test_the_digest_follows_what_the_file_imports_and_nothing_else(folder):
    def digest():
        return registry.read("quantity", (folder,)).get("area").source_digest()

    before = digest()
    (folder / "unrelated.py").write_text("x = 1\n")
    assert digest() == before
    (folder / "_private.py").write_text('from typing import Literal\nCost = Literal["none", "two"]\n')
    changed = digest()
    assert changed != before
    (folder / "_private.py").write_text('from typing import Literal\nfrom ._deep.x import y\nCost = Literal["none"]\n')
    (folder / "_deep").mkdir()
    (folder / "_deep" / "x.py").write_text("y = 1\n")
    with_package = digest()
    (folder / "_deep" / "x.py").write_text("y = 2\n")
    assert digest() != with_package


@pytest.mark.parametrize(
    ("source", "reads"),
    [
        ("open('reference/table.csv')", True),
        ("Path(__file__).with_suffix('.csv')", True),
        ("importlib.resources.files(__spec__.parent)", True),
        ("from ._private import Cost", False),
        ("from ._reader import rows", True),
        ("open(artifact)", False),
    ],
)
def test_the_digest_follows_data_that_the_file_may_read(folder, source, reads):
    def digest():
        return registry.read("quantity", (folder,)).get("area").source_digest()

    (folder / "a.py").write_text((folder / "a.py").read_text() + f"\n{source}\n")
    (folder / "_reader.py").write_text("HERE = __file__\n")
    (folder / "data").mkdir()
    for name in ("table.csv", "data/more.npz"):
        before = digest()
        (folder / name).write_text("1")
        assert (digest() != before) == reads
        after = digest()
        (folder / name).write_text("2")
        assert (digest() != after) == reads
    before = digest()
    (folder / ".table.csv.swp").write_text("1")  # an editor's
    assert digest() == before


def test_reading_the_real_registries_imports_no_torch():
    code = (
        "import sys; from labgrade.spec import course; c = course.find(); "
        "assert c.quantities.entries and c.checkers.entries; "
        "sys.exit('torch' in sys.modules or 'onnx' in sys.modules)"
    )
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0


FORMS = """
from ._a import x
from . import _b, _c as c
from . import (_d,  # a (note)
    _e)
from ._f.deep \\
    import y
from . import _g, \\
    _h
import os; from ._i import z
if os: from .._j.k import *
from ._größe import zahl
from.import _l
def lazy():
    from ._m import(late)
"""


def test_what_a_file_imports_is_found_as_python_finds_it():
    texts = [FORMS.encode(), *(file.read_bytes() for file in (ROOT / "reference").rglob("*.py"))]
    for text in texts:
        found = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.level:
                names = [node.module] if node.module else [alias.name for alias in node.names]
                found |= {(node.level, name) for name in names}
        read = set(python_sources._relative_imports(text))
        assert read >= found
        assert text is texts[0] or read == found


def test_a_file_is_read_once_for_all_functions_that_depend_on_it(tmp_path, monkeypatch):
    (tmp_path / "_shared.py").write_text("TWO = 2\n")
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.py").write_text(
            f'from ._shared import TWO\n\n\ndef {name}(subject) -> int:\n    """{name}."""\n    return TWO\n'
        )
    found = registry.read("quantity", (tmp_path,))
    looked_at, imported = [], python_sources._imported
    with monkeypatch.context() as counting:
        counting.setattr(python_sources, "_imported", lambda path: looked_at.append(path) or imported(path))
        read = {}
        before = {name: entry.source_digest(read) for name, entry in found.entries.items()}
    assert len(looked_at) == 4
    (tmp_path / "_shared.py").write_text("from ._more import TWO\n")
    (tmp_path / "_more.py").write_text("TWO = 3\n")
    assert {path.name for path in found.get("a").sources()} == {"a.py", "_shared.py", "_more.py"}
    assert all(entry.source_digest() != before[name] for name, entry in found.entries.items())
