"""Libraries that run once something of them is used: most files are analysed without numpy.

`import onnx` runs numpy, a checker, text formats and more, which takes three times as long as to analyse a file. What
is named here waits instead. It is the module itself that waits, so that all who import it hold one module, before and
after. (`importlib.util.LazyLoader` does the same, but in Python 3.11 a second `import` runs what it has put off.)
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_METADATA = "importlib.metadata"


class _Waiting(ModuleType):
    """A module that has not run. Asked for what it does not have, it runs."""

    def __getattr__(self, name: str) -> Any:
        spec = self.__spec__
        self.__class__ = ModuleType  # type: ignore[assignment]
        if spec is not None and spec.loader is not None:
            if spec.submodule_search_locations is not None:
                self.__path__ = spec.submodule_search_locations
            spec.loader.exec_module(self)
        return getattr(self, name)


def waiting(*names: str) -> None:
    """Have modules wait, as if they were imported already. Those that are stay as they are.

    Raises:
        ModuleNotFoundError: there is none of that name.
    """
    for name in names:
        if name not in sys.modules:
            sys.modules[name] = _made(name, None)


def unused_of(name: str, *parts: str) -> None:
    """Import a package while these modules that it imports are left waiting until they are used."""
    package = importlib.import_module(name)
    for part in parts:
        if f"{name}.{part}" not in sys.modules:
            sys.modules[f"{name}.{part}"] = _made(f"{name}.{part}", package.__path__)
            setattr(package, part, sys.modules[f"{name}.{part}"])


def package_with(name: str, *parts: str) -> ModuleType:
    """Import a package, of which these modules wait.

    Raises:
        ModuleNotFoundError: there is none of that name.
    """
    if name in sys.modules:
        return sys.modules[name]
    package = PathFinder.find_spec(name)
    places = None if package is None else package.submodule_search_locations
    made = {each: _made(f"{name}.{each}", places) for each in parts} if places else {}
    sys.modules.update({f"{name}.{each}": module for each, module in made.items()})
    with _versions_by_folder():
        loaded = importlib.import_module(name)
    for each, module in made.items():
        setattr(loaded, each, module)
    return loaded


@contextlib.contextmanager
def _versions_by_folder() -> Iterator[None]:
    """Meanwhile a package asks for its own version without what reads the metadata of all packages.

    pip has it in a folder's name, such as `onnx-1.21.0.dist-info`. Where there is none, or two, it is read after all.
    """
    if _METADATA in sys.modules:
        yield
        return

    def version(name: str) -> str:
        found = {file.name for place in sys.path for file in Path(place).glob(f"{name}-*.dist-info")}
        if len(found) == 1:
            return found.pop().removeprefix(f"{name}-").removesuffix(".dist-info")
        sys.modules.pop(_METADATA, None)
        read: str = importlib.import_module(_METADATA).version(name)
        return read

    stand_in = ModuleType(_METADATA)
    vars(stand_in).update(version=version, PackageNotFoundError=ModuleNotFoundError)
    sys.modules[_METADATA] = vars(importlib)["metadata"] = stand_in
    try:
        yield
    finally:
        if sys.modules.get(_METADATA) is stand_in:
            del sys.modules[_METADATA]
            del vars(importlib)["metadata"]


def _made(name: str, places: Sequence[str] | None) -> ModuleType:
    spec = PathFinder.find_spec(name, places)
    if spec is None:
        message = f"No module named '{name}'"
        raise ModuleNotFoundError(message, name=name)
    module = module_from_spec(spec)
    vars(module).pop("__path__", None)  # who imports a submodule asks for it: the package has to run first
    module.__class__ = _Waiting
    return module
