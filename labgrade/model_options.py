"""Which options a model of the zoo takes, read from torchvision's source: neither torch nor torchvision is imported."""

from __future__ import annotations

import ast
import functools
import importlib.util
from pathlib import Path

from labgrade import zoo, zoo_options

_FIXED = frozenset({"self", "weights", "progress"})


def of(model: str) -> frozenset[str] | None:
    """The options of a model, `frozen` and `tiled` among them; None where the source does not tell."""
    if not model.startswith(zoo.COLLECTION):
        return zoo_options.ALL if model in zoo.names() else None
    name = model.removeprefix(zoo.COLLECTION)
    for functions, classes in _sources():
        if name in functions:
            builder = functions[name]
            built = classes.get(ast.unparse(builder.returns)) if builder.returns else None
            if built is None:
                return None
            return (_named(builder) | _named(built) | zoo_options.ALL) - _FIXED
    return None


def _named(function: ast.FunctionDef) -> frozenset[str]:
    taken = function.args
    return frozenset(argument.arg for argument in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs))


@functools.cache
def _sources() -> tuple[tuple[dict[str, ast.FunctionDef], dict[str, ast.FunctionDef]], ...]:
    """Of each file of models: its public functions, and the `__init__` of its classes."""
    found = importlib.util.find_spec("torchvision")
    folders = list(found.submodule_search_locations or ()) if found else []
    files = sorted(file for folder in folders for file in (Path(folder) / "models").glob("[!_]*.py"))
    return tuple(_read(ast.parse(file.read_text(encoding="utf-8"))) for file in files)


def _read(tree: ast.Module) -> tuple[dict[str, ast.FunctionDef], dict[str, ast.FunctionDef]]:
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    classes = {
        node.name: method
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        for method in node.body
        if isinstance(method, ast.FunctionDef) and method.name == "__init__"
    }
    return functions, classes
