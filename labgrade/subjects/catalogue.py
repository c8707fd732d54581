"""Which options a model of the zoo takes, read from torchvision's source: neither torch nor torchvision is imported."""

from __future__ import annotations

import ast
import functools
import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.subjects import models, onnx_export, options

if TYPE_CHECKING:
    from collections.abc import Mapping

ADDED = {False: options.ALL, True: options.ALL | onnx_export.DEFAULTS.keys()}  # to all models; to their ONNX files
_NEXT = re.compile(r"^[^\s)]", re.MULTILINE)  # the next statement at the top; a signature may end with `)` there
_FIXED = frozenset({"self", "weights", "progress"})


def options_of(model: str) -> frozenset[str] | None:
    """Return a model's options, with `frozen` and `tiled`; None if its source does not tell."""
    if not model.startswith(models.COLLECTION):
        return options.ALL if model in models.names() else None
    known = _parameters(model.removeprefix(models.COLLECTION))
    return frozenset(known.keys() | options.ALL) - _FIXED if known is not None else None


def default_options(model: str) -> Mapping[str, str]:
    """Return the default options of a model of the zoo, as Python source."""
    known = _parameters(model.removeprefix(models.COLLECTION).removesuffix(onnx_export.SUFFIX)) or {}
    return {name: default for name, default in known.items() if default}


@functools.cache  # a model is a case of many checks
def _parameters(name: str) -> Mapping[str, str] | None:
    for source in _sources():
        builder = _defined(source, "def", name)
        if isinstance(builder, ast.FunctionDef):
            built = _initialiser(source, ast.unparse(builder.returns)) if builder.returns else None
            return {**_parameter_defaults(built), **_parameter_defaults(builder)} if built is not None else None
    return None


def _initialiser(source: str, name: str) -> ast.FunctionDef | None:
    body = getattr(_defined(source, "class", name), "body", ())
    return next((each for each in body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)


def _defined(source: str, kind: str, name: str) -> ast.stmt | None:
    """Parse only one function or class of a file, in a tenth of the time of the whole."""
    start = re.search(rf"^{kind} {re.escape(name)}\b", source, re.MULTILINE)
    if start is None:
        return None
    end = _NEXT.search(source, start.end())
    return ast.parse(source[start.start() : end.start() if end else len(source)]).body[0]


def _parameter_defaults(function: ast.FunctionDef) -> dict[str, str]:
    """Return a function's parameters with their defaults, "" for none."""
    taken = function.args
    places = [*taken.posonlyargs, *taken.args]
    defaults = [*[None] * (len(places) - len(taken.defaults)), *taken.defaults, *taken.kw_defaults]
    named = zip([*places, *taken.kwonlyargs], defaults, strict=True)
    return {argument.arg: ast.unparse(default) if default else "" for argument, default in named}


@functools.cache
def _sources() -> tuple[str, ...]:
    found = importlib.util.find_spec("torchvision")
    folders = list(found.submodule_search_locations or ()) if found else []
    files = sorted(file for folder in folders for file in (Path(folder) / "models").glob("[!_]*.py"))
    return tuple(file.read_text(encoding="utf-8") for file in files)
