"""The process that computes ground truth: one JSON request a line on stdin, one JSON reply a line on stdout.

It is the only process that imports `reference/`, and no student's code ever runs in it. With `lend` it has torch loaded
and computes nothing itself: each socket that comes on stdin is spoken to by a fork of it.
"""

from __future__ import annotations

import atexit
import functools
import gc
import json
import os
import socket
import sys
import traceback
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from labgrade.core.task import CONFIG
from labgrade.files.python_sources import load
from labgrade.subjects import models, onnx_export
from labgrade.subjects.importing import importing_quickly, without_dynamo, without_symbols
from labgrade.truth.lent import UP

if TYPE_CHECKING:
    from collections.abc import Callable

_NAME = "expected-values"  # as ps and top show it
_MESSAGE_BYTES = 1 << 20
_YOUNG = 10_000  # objects made since the last look for garbage; Python's 700 are made by a trace of one small network
_REMEMBERED = 8  # subjects with their weights, and as many without: those that were asked for last


def lend() -> None:
    """Serve in forks, each of which is spoken to over a socket that comes on stdin."""
    Path("/proc/self/comm").write_text(_NAME, encoding="ascii")
    _become_a_fork()
    main()


def main() -> None:
    """Serve until stdin ends. What a quantity prints goes to stderr, so that the replies stay clean."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    subjects: dict[str, models.Subject] = {}
    gc.set_threshold(_YOUNG)
    for line in sys.stdin:
        _answer(json.loads(line), subjects, replies)
    _end()


def _become_a_fork() -> None:
    """Load torch, then fork for each socket that arrives; the fork returns with it as stdin and stdout."""
    forks = 0
    with socket.socket(fileno=os.dup(0)) as line:
        models.import_torchvision()
        surroundings = json.loads(line.recv(_MESSAGE_BYTES))
        os.environ.clear()
        os.environ.update(surroundings["environment"])
        os.chdir(surroundings["folder"])
        sys.path[:] = dict.fromkeys((*sys.path, *surroundings["searched"]))
        gc.freeze()
        while True:
            _, given, _, _ = socket.recv_fds(line, 16, 2)
            if not given:
                break
            forks += 1
            child = os.fork()
            if not child:
                os.write(given[0], UP)
                for own, stream in ((given[0], 0), (given[0], 1), (given[1], 2)):
                    os.dup2(own, stream)
            for each in given:
                os.close(each)
            if not child:
                return
    for _ in range(forks):
        os.wait()
    _end()


def _end() -> NoReturn:
    """End at once, without torch's clean-up, which takes half as long as importing it."""
    atexit_: Any = atexit
    atexit_._run_exitfuncs()  # noqa: SLF001 - there is no public name for it
    sys.stderr.flush()
    os._exit(0)


def _answer(request: dict[str, Any], subjects: dict[str, models.Subject], replies: IO[str]) -> None:
    try:
        reply = json.dumps(_compute(request, subjects), default=_plain)
    except Exception as error:  # noqa: BLE001 - whatever a quantity raises is a fault to report, not to die of
        frame = traceback.extract_tb(error.__traceback__)[-1]
        reply = json.dumps({"error": f"{type(error).__name__}: {error} ({frame.filename}:{frame.lineno})"})
    replies.write(reply + "\n")
    replies.flush()


def _compute(request: dict[str, Any], subjects: dict[str, models.Subject]) -> dict[str, Any]:
    if "make" in request:
        onnx_export.make(Path(request["make"]), request["subject"])
        return {}
    function = _function(Path(request["file"]), request["name"])
    of = Path(request["artifact"]) if "artifact" in request else _subject(request["subject"], subjects)
    _settle(len(sys.modules))
    try:
        value = _value(function, of, request["parameters"])
    finally:
        if isinstance(of, models.Subject) and not of.is_as_built:
            subjects.clear()  # or all that is computed later of what shares its module would be of another network
    if isinstance(value, dict) and value and all(hasattr(item, "dtype") for item in value.values()):
        _save(value, request["arrays"])
        return {"arrays": True}
    return {"value": value}


def _plain(value: Any) -> Any:
    """Return lists for arrays and tensors, and Python's numbers for theirs.

    Raises:
        TypeError: it is something else.
    """
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return value.tolist()
    message = f"a {type(value).__name__} is not JSON: a quantity gives numbers, texts, lists, mappings or tensors"
    raise TypeError(message)


def _value(function: Callable[..., Any], of: object, parameters: dict[str, Any]) -> Any:
    try:
        with without_dynamo(), without_symbols():
            return function(of, **parameters)
    except ImportError:  # a quantity that does need it, such as an export
        return function(of, **parameters)


@functools.cache
def _settle(_: int) -> None:
    """Freeze the million objects that imports leave, once for each number of modules: no collection walks them."""
    gc.freeze()


@functools.cache
def _function(file: Path, name: str) -> Callable[..., Any]:
    """Return a quantity by its file and name, without reading the whole registry."""
    with importing_quickly():
        return load(file, name)


def _subject(plain: dict[str, Any], subjects: dict[str, models.Subject]) -> models.Subject | dict[str, Any]:
    if plain["model"] == CONFIG:
        return dict(plain["options"])
    key = json.dumps(plain, sort_keys=True)
    made = subjects.pop(key, None) or models.Subject(**plain)
    for known in subjects.values():
        made.with_weights_of(known)
    subjects[key] = made
    for heavy in (True, False):  # a search has hundreds without, which push out none with weights
        for other in [each for each, known in subjects.items() if known.has_weights is heavy][:-_REMEMBERED]:
            del subjects[other]
    return made


def _save(tensors: dict[str, Any], path: str) -> None:
    import numpy as np

    arrays = {
        name: np.asarray(tensor.detach() if hasattr(tensor, "detach") else tensor) for name, tensor in tensors.items()
    }
    np.savez(path, allow_pickle=False, **arrays)


if __name__ == "__main__":
    lend() if sys.argv[1:] == ["lend"] else main()
