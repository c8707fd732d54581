"""One mistake at a time: every kind of mutant is made, each is Python, and only what a function leads to is changed."""

import ast
from pathlib import Path

import pytest

from labgrade.authoring import samples
from labgrade.authoring.mutants import mutants

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SOURCE = '''"""A text with 1 + 1."""
import math

KINDS = (int, str)
UNUSED = 3


def asked(x):
    """Adds 1."""
    return helper(x) + len(KINDS)


def helper(x):
    return x * 2


def other(x):
    return x - 1
'''


def made(source, *names):
    return {(mutant.line, mutant.was, mutant.becomes) for mutant in mutants(source, set(names))}


def changes(expression):
    """What the only line of a function becomes."""
    return {becomes.removeprefix("return ") for _, _, becomes in made(f"def f(a, b):\n    return {expression}\n", "f")}


def test_what_a_function_leads_to_is_changed_and_nothing_else():
    lines = {line for line, _, _ in made(SOURCE, "asked")}
    assert lines == {4, 10, 14}
    assert {line for line, _, _ in made(SOURCE, "helper")} == {14}
    assert {line for line, _, _ in made(f'{SOURCE}\n\nif __name__ == "__main__":\n    other(5)\n', "asked")} == {
        4,
        10,
        14,
    }


def test_a_variable_is_no_function_of_the_same_name():
    source = "def share(x):\n    return x + 1\n\n\ndef asked(share):\n    whole = share * 2\n    return whole\n"
    assert {line for line, _, _ in made(source, "asked")} == {6}
    assert 2 in {line for line, _, _ in made(f"{source}\n\ndef more(x):\n    return share(x)\n", "more")}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a + b", {"a - b", "a", "b"}),
        ("a - b", {"a + b", "a", "b"}),
        ("a * (b + a)", {"a + (b + a)", "a", "(b + a)", "a * (b - a)", "a * (b)", "a * (a)"}),
        ("(a) // (b)", {"(a) * (b)", "(a)", "(b)"}),
        ("a.x / b.y", {"a.x * b.y", "a.x", "b.y"}),
        ("a % b", {"a * b", "a", "b"}),
        ("a == b", {"a != b"}),
        ("a < b", {"a <= b"}),
        ("a >= b", {"a > b"}),
        ("a not  in b", {"a in b"}),
        ("a is not b", {"a is b"}),
        ("a in b", {"a not in b"}),
        ("a and b", {"a or b", "(a)", "(b)"}),
        ("not a", {"a"}),
        ("-a", {"a"}),
        ("1", {"2", "0"}),
        ("7", {"8"}),
        ("True", {"False"}),
        ("0.5", {"1.0"}),
        ("'x'", {"'xx'"}),
        ("a if b else 9", {"a if not (b) else 9", "a if b else 10"}),
        ("[c for c in a if b]", {"[c for c in a if not (b)]", "[c for c in a if True]"}),
        ("(a, b)", {"(a,)", "(b,)"}),
        ("[a, b]", {"[a]", "[b]"}),
        ("{'k': a, 'l': b}", {"{'k': a}", "{'l': b}", "{'kx': a, 'l': b}", "{'k': a, 'lx': b}"}),
        ("a(b, k=b)", {"a(b)"}),
        ("a[1:]", {"a[2:]", "a[0:]"}),
        ("a", set()),
        ("'é' + a * b", {"'éx' + a * b", "'é' - a * b", "'é'", "a * b", "'é' + a + b", "'é' + a", "'é' + b"}),
        ("f'{a}1' + b", {"f'{a}1' - b", "f'{a}1'", "b"}),
    ],
)
def test_each_kind_of_expression_has_its_mistakes(expression, expected):
    assert changes(expression) == expected


def test_statements_are_dropped_and_conditions_turned_round():
    source = (
        "def f(a):\n    for b in a:\n        if b:\n            continue\n        a += b\n    print(a)\n    return a\n"
    )
    assert made(source, "f") == {
        (3, "if b:", "if not (b):"),
        (4, "continue", "break"),
        (5, "a += b", "pass"),
        (6, "print(a)", "pass"),
    }


def test_annotations_and_docstrings_are_no_code():
    assert made('def f(a: "x" = None) -> "y | z":\n    """1 + 1"""\n    return a\n', "f") == set()


def test_an_edit_over_several_lines_shows_them_all():
    ((line, was, becomes),) = made("def f(a):\n    print(\n        a\n    )\n    return a\n", "f")
    assert (line, was, becomes) == (2, "print(\na\n)", "pass")


@pytest.mark.parametrize("path", sorted((ROOT / "submissions").glob("*exemplar/*.py")), ids=lambda path: path.name)
def test_every_mutant_of_the_exemplars_is_python_of_its_own(path):
    source = path.read_text(encoding="utf-8")
    names = {node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    found = mutants(source, names)
    assert found
    trees = {ast.dump(ast.parse(mutant.source)) for mutant in found}
    assert ast.dump(ast.parse(source)) not in trees
    for mutant in found:
        before, after = source.split("\n"), mutant.source.split("\n")
        assert before[: mutant.line - 1] == after[: mutant.line - 1]
        assert before[mutant.line - 1] != after[mutant.line - 1]


@pytest.mark.parametrize("exemplar", ["exemplar", "tiling-exemplar"])
def test_every_explanation_is_of_a_mutant_that_there_is(exemplar):
    (sample,) = [each for each in samples.samples(ROOT / "submissions") if each.name == exemplar]
    assert len(sample.explained) > 30
    made = {}
    for file in {one.file for one in sample.explained}:
        source = (ROOT / "submissions" / exemplar / file).read_text(encoding="utf-8")
        names = {node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
        made[file] = mutants(source, names)
    for one in sample.explained:
        for task in one.tasks or ("any",):
            assert any(one.covers(one.file, mutant, task) for mutant in made[one.file]), one
            assert task == "any" or (ROOT / "specs/acal-lab2" / f"{task}.yaml").is_file()
