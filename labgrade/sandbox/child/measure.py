"""A measurement within the child: trusted code of `reference/` reads one file of a student's. None of theirs runs."""

from __future__ import annotations

import contextlib
import dis
import importlib
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade.sandbox.child import jobs
from labgrade.sandbox.child.plain_data import convert
from labgrade.sandbox.child.wire import NotPlainError, pack
from labgrade.sandbox.jail.places import trusted_place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

_PROBLEM_CHARS = 2000


def measure(job: Mapping[str, Any], _: Mapping[str, Any], folder: Path) -> bytes:
    """Return the frame: `measured` with plain data, `rejected` for a ValueError that the trusted code raises by itself.

    `broke` for whatever else is raised, also by what that code calls: a ValueError of `max()` says nothing of the file.
    """
    try:
        function, folder = _function(Path(job["file"]), job["function"]), _real_folder(folder)
        value = function(_handed_over(job, folder), **job["parameters"])
        if job["several"]:
            value = [value, *_values(function, folder, job["several"])]
        return pack({"event": "measured", "value": value}, convert)
    except ValueError as error:
        return _failed("rejected", str(error)) if _is_meant(error) else _broke(error)
    except MemoryError:
        return _failed("starved", "")
    except NotPlainError as error:
        return _failed("broke", f"it returned {error}")
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is ours to look at
        return _broke(error)


def _is_meant(error: BaseException) -> bool:
    """Return whether a `raise` of trusted code raised the error, not the code that it calls."""
    *_, last = _places(error)
    raised = last.tb_frame.f_code.co_code[last.tb_lasti] == dis.opmap["RAISE_VARARGS"]
    return raised and _is_ours(last)


def _places(error: BaseException) -> Iterator[types.TracebackType]:
    place = error.__traceback__
    while place is not None:
        yield place
        place = place.tb_next


def _is_ours(place: types.TracebackType) -> bool:
    return str(place.tb_frame.f_globals.get("__name__", "")).startswith("labgrade")


def _broke(error: BaseException) -> bytes:
    """Pack an unexpected error for staff, with the last line of trusted code that it went through."""
    *_, own = (each for each in _places(error) if _is_ours(each))
    where = f"{Path(own.tb_frame.f_code.co_filename).name}:{own.tb_lineno}"
    return _failed("broke", f"{type(error).__name__}: {error} ({where})")


def _handed_over(job: Mapping[str, Any], folder: Path) -> Path | dict[str, list[Path]]:
    """Return the student's file, or their files by group."""
    if job["parts"]:
        return {name: [folder / place for place in places] for name, places in job["parts"].items()}
    return folder / str(job["artifact"])


def _values(
    function: Callable[..., object], folder: Path, several: Iterable[tuple[str, Mapping[str, Any]]]
) -> Iterator[object]:
    """Yield the value of each of several files, up to the first without one, which is measured again by itself."""
    with contextlib.suppress(Exception):
        for name, parameters in several:
            yield function(folder / name, **parameters)


def _real_folder(folder: Path) -> Path:
    """Return the folder in which the files really lie: the jail links large ones, all to one folder.

    A reader of models takes a link to external data for a way out of the model's folder.
    """
    for path in folder.rglob("*"):
        if path.is_symlink():
            return path.readlink().parents[len(path.relative_to(folder).parts) - 1]
    return folder


def _failed(event: str, problem: str) -> bytes:
    return pack({"event": event, "problem": problem[:_PROBLEM_CHARS]}, convert)


def _function(file: Path, name: str) -> Callable[..., object]:
    """Import a file as a part of a package of its folder, so that it finds its private neighbours."""
    in_jail = Path(trusted_place(str(file.parent)))
    if in_jail.is_dir():
        file = in_jail / file.name
    package = f"labgrade_{file.parent.name}"
    if package not in sys.modules:
        module = types.ModuleType(package)
        module.__path__ = [str(file.parent)]
        sys.modules[package] = module
    function: Callable[..., object] = getattr(importlib.import_module(f"{package}.{file.stem}"), name)
    return function


jobs.KINDS["measure"] = measure  # so that a server which measures alone imports nothing else
