"""The process that computes ground truth: one JSON request a line on stdin, one JSON reply a line on stdout.

It is the only process that imports `reference/`, and no student's code ever runs in it.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import sys
import traceback
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from labgrade.core.task import CONFIG
from labgrade.spec.registry import read
from labgrade.subjects import models, onnx_export
from labgrade.subjects.importing import quickly, without_dynamo

if TYPE_CHECKING:
    from collections.abc import Callable

    from labgrade.spec.registry import Registry

_REMEMBERED = 8  # subjects with their weights, those that were asked for last


def main() -> None:
    """Serve until stdin ends. What a quantity prints goes to stderr, so that the replies stay clean."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    subjects: dict[str, models.Subject] = {}
    for line in sys.stdin:
        _answer(json.loads(line), subjects, replies)
    _end()


def _end() -> NoReturn:
    """End at once: to take torch apart, module by module, takes half as long as to import it."""
    atexit_: Any = atexit
    atexit_._run_exitfuncs()  # noqa: SLF001 - there is no public name for it
    sys.stderr.flush()
    os._exit(0)


def _answer(request: dict[str, Any], subjects: dict[str, models.Subject], replies: IO[str]) -> None:
    try:
        reply = json.dumps(_compute(request, subjects))
    except Exception as error:  # noqa: BLE001 - whatever a quantity raises is a fault to report, not to die of
        frame = traceback.extract_tb(error.__traceback__)[-1]
        reply = json.dumps({"error": f"{type(error).__name__}: {error} ({frame.filename}:{frame.lineno})"})
    replies.write(reply + "\n")
    replies.flush()


def _compute(request: dict[str, Any], subjects: dict[str, models.Subject]) -> dict[str, Any]:
    if "make" in request:
        onnx_export.make(Path(request["make"]), request["subject"])
        return {}
    function = _function(Path(request["file"]).parent, request["name"])
    of = Path(request["artifact"]) if "artifact" in request else _subject(request["subject"], subjects)
    try:
        value = _value(function, of, request["parameters"])
    finally:
        for key in [key for key, each in subjects.items() if not each.is_as_built]:
            del subjects[key]  # or all that is computed later would be of another network
    if isinstance(value, dict) and value and all(hasattr(item, "dtype") for item in value.values()):
        _save(value, request["arrays"])
        return {"arrays": True}
    return {"value": _plain(value)}


def _plain(value: Any) -> Any:
    """The value with lists in place of arrays and tensors, and Python's numbers in place of theirs."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _value(function: Callable[..., Any], of: object, parameters: dict[str, Any]) -> Any:
    try:
        with without_dynamo():
            return function(of, **parameters)
    except ImportError:  # a quantity that does need it, such as an export
        return function(of, **parameters)


@functools.cache
def _function(folder: Path, name: str) -> Callable[..., Any]:
    """A quantity by its name."""
    with quickly():
        return _quantities(folder).get(name).load()


@functools.cache
def _quantities(folder: Path) -> Registry:
    """The quantities of a folder. Reading it takes longer than most values of small networks."""
    return read("quantity", (folder,))


def _subject(plain: dict[str, Any], subjects: dict[str, models.Subject]) -> models.Subject | dict[str, Any]:
    if plain["model"] == CONFIG:
        return dict(plain["options"])
    key = json.dumps(plain, sort_keys=True)
    for other in [each for each, known in subjects.items() if not known.has_weights]:
        del subjects[other]  # to build it anew costs nothing, and a search has hundreds
    made = subjects.pop(key, None) or models.Subject(**plain)
    for known in subjects.values():
        made.with_weights_of(known)
    subjects[key] = made
    if len(subjects) > _REMEMBERED:
        del subjects[next(iter(subjects))]
    return made


def _save(tensors: dict[str, Any], path: str) -> None:
    import numpy as np

    arrays = {
        name: np.asarray(tensor.detach() if hasattr(tensor, "detach") else tensor) for name, tensor in tensors.items()
    }
    np.savez(path, allow_pickle=False, **arrays)


if __name__ == "__main__":
    main()
