"""Files that a student's program is handed: models of the zoo as ONNX, TorchScript or a state dict, and the input.

Made once, in a process of its own that runs no student's code, and kept beside the remembered expected values.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade.core import programs
from labgrade.core.errors import FaultError
from labgrade.core.subject import as_plain
from labgrade.core.task import InputSpec, SubjectSpec
from labgrade.files import process
from labgrade.files.cache import Cache, cache_folder, key_of, version_of
from labgrade.subjects import models, onnx_export

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_LIBRARIES = ("torch", "torchvision", "onnx")
_INPUT = InputSpec(shape=(1, 3, 224, 224))


def provide(source: str | Path, subject: SubjectSpec | None) -> Path:
    """The file behind a source: `torchvision/alexnet.onnx`, `subject.pt`, `input.npy`, or a file beside the spec.

    A model that is named takes the input of the task's subject, or one of shape 1x3x224x224 where there is none.

    Raises:
        FaultError: it can't be made.
    """
    if isinstance(source, Path):
        if not source.is_file():
            message = f"'{source}' is to be provided, and is not there"
            raise FaultError(message)
        return source
    meant, suffix = _subject_of_source(source, subject)
    plain = as_plain(meant)
    versions = [version_of(name) for name in _LIBRARIES]
    code = [hashlib.sha256(file.read_bytes()).hexdigest() for file in (Path(__file__), *models.SOURCES)]
    folder, name = cache_folder() / "provided", f"made{suffix}"
    try:
        return Cache(folder).get(key_of(plain, suffix, versions, code), lambda made: _make(plain, made / name)) / name
    except OSError as error:
        message = f"no file can be kept in '{folder}': {error}"
        raise FaultError(message) from error


def _subject_of_source(source: str, subject: SubjectSpec | None) -> tuple[SubjectSpec, str]:
    found = programs.model_of(source)
    name, suffix = found or (programs.SUBJECT, Path(programs.INPUT).suffix)
    if name != programs.SUBJECT:
        return SubjectSpec(model=name, input=subject.input if subject else _INPUT), suffix
    if subject is None:  # pragma: no cover - a validated spec has a subject where it is provided
        message = f"'{source}' is of the subject, and there is none"
        raise FaultError(message)
    return replace(subject), suffix


def _make(plain: Mapping[str, Any], path: Path) -> None:
    done = subprocess.run(  # noqa: S603 - this very file
        process.command("labgrade.subjects.provide", json.dumps(plain), str(path)),
        env=process.environment(),
        capture_output=True,
        check=False,
    )
    if done.returncode or not path.is_file():
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        message = f"'{plain['model']}' could not be made as {path.suffix}: {''.join(said)}"
        raise FaultError(message)


# ---- the process that makes them -------------------------------------------------------------------------------


def _write(plain: dict[str, Any], path: Path) -> None:
    subject = models.Subject(**{**plain, "shape": tuple(plain["shape"])})
    writers: dict[str, Callable[[models.Subject, Path], None]] = {
        ".onnx": _onnx,
        ".pt": _torchscript,
        ".pth": _state_dict,
        ".npy": _input,
    }
    writers[path.suffix](subject, path)


def _onnx(subject: models.Subject, path: Path) -> None:
    import torch

    model, given = subject.with_weights()
    inputs = given if isinstance(given, tuple) else (given,)
    names = onnx_export.input_names(inputs)
    torch.onnx.export(
        model, inputs, str(path), input_names=names, output_names=["output"], dynamo=False, external_data=False
    )


def _torchscript(subject: models.Subject, path: Path) -> None:
    import torch

    model, given = subject.with_weights()
    with torch.no_grad():
        torch.jit.trace(model, given, check_trace=False).save(str(path))  # type: ignore[no-untyped-call]


def _state_dict(subject: models.Subject, path: Path) -> None:
    import torch

    torch.save(subject.with_weights()[0].state_dict(), path)


def _input(subject: models.Subject, path: Path) -> None:
    import numpy as np

    np.save(path, subject.with_weights()[1].numpy(), allow_pickle=False)


if __name__ == "__main__":
    try:
        _write(json.loads(sys.argv[1]), Path(sys.argv[2]))
    except Exception as error:  # noqa: BLE001 - its last line is what the fault says
        sys.exit(f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}")
