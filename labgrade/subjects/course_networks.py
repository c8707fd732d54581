"""Networks of a folder `models/`: their source travels with the subject, and is run where they are built.

So a course's network is built in a student's process without any folder of the course in sight there. Stands alone, as
`networks` does.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.machinery
import inspect
import linecache
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType

    import torch

_INIT = "__init__"


def builder(model: str, code: Mapping[str, str]) -> tuple[Callable[..., torch.nn.Module], set[str]]:
    """Return the function behind `jsc/tiny` and its options. `code`: the sources by file.

    Raises:
        ValueError: the file can't be imported, or what the function gives is no network.
    """
    file, _, name = model.partition("/")
    package = "course_models_" + hashlib.sha256(repr(sorted(code.items())).encode()).hexdigest()[:12]
    if package not in sys.modules:
        sys.meta_path.append(_NetworkFinder(package, code))
    try:
        function = getattr(importlib.import_module(f"{package}.{file}"), name)
    except Exception as error:
        message = f"models/{file}.py can't be imported: {type(error).__name__}: {error}"
        raise ValueError(message) from error
    taken = inspect.signature(function).parameters.values()
    return _checked(model, function), {each.name for each in taken if each.kind is not each.VAR_KEYWORD}


def _checked(model: str, function: Callable[..., Any]) -> Callable[..., torch.nn.Module]:
    def build(**options: Any) -> torch.nn.Module:
        from torch import nn

        made = function(**options)
        if not isinstance(made, nn.Module):
            message = f"'{model}' gives {type(made).__name__}, which is no network (torch.nn.Module)"
            raise ValueError(message)  # noqa: TRY004 - what every subject that can't be built raises
        return made

    return build


class _NetworkFinder:
    """Finds the modules of one package in its sources. No class of `importlib.abc`, which is slow to import."""

    def __init__(self, package: str, code: Mapping[str, str]) -> None:
        self._package = package
        self._files = {package: "", **{_dotted(package, file): text for file, text in code.items()}}
        self._folders = {package, *(_dotted(package, file) for file in code if file.endswith(f"/{_INIT}.py"))}
        self._folders |= {_dotted(package, file).rpartition(".")[0] for file in code}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a module of the package."""
        del path, target
        if fullname not in self._files and fullname not in self._folders:
            return None
        loader: Any = _Loader(self._files.get(fullname, ""), is_package=fullname in self._folders)
        spec = importlib.machinery.ModuleSpec(fullname, loader, is_package=fullname in self._folders)
        spec.origin = f"<{fullname}>"
        spec.has_location = True  # so that a module has a __file__, by which its source is found
        return spec


def _dotted(package: str, file: str) -> str:
    return f"{package}.{file.removesuffix('.py').removesuffix('/' + _INIT).replace('/', '.')}"


class _Loader:
    """Loads a module from a text."""

    def __init__(self, text: str, *, is_package: bool) -> None:
        self._text, self._package = text, is_package

    def get_source(self, fullname: str) -> str:
        """The text."""
        del fullname
        return self._text

    def is_package(self, fullname: str) -> bool:
        """Return whether the module is a package."""
        del fullname
        return self._package

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Leave it to the import system."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the text under a name by which its lines are found again (inspect, torch.jit.script)."""
        name = f"<{module.__name__}>"
        linecache.cache[name] = (len(self._text), None, self._text.splitlines(keepends=True), name)
        exec(compile(self._text, name, "exec", dont_inherit=True), vars(module))  # noqa: S102 - the course's own file
