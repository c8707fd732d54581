"""Files that a student's program is handed: models of the zoo as ONNX, TorchScript or a state dict, and the input.

Made once, in a process of its own that runs no student's code, and kept beside the remembered expected values.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade import own_process, run_words, zoo
from labgrade.errors import FaultError
from labgrade.model import InputSpec, SubjectSpec
from labgrade.oracle import cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable

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
    meant, suffix = _meant(source, subject)
    plain = {
        "model": meant.model,
        "shape": list(meant.input.shape),
        "fill": meant.input.fill,
        "input_seed": meant.input.seed,
        "options": dict(meant.options),
        "weight_seed": meant.seed,
    }
    versions = [importlib.metadata.version(name) for name in _LIBRARIES]
    code = [hashlib.sha256(file.read_bytes()).hexdigest() for file in (Path(__file__), *zoo.SOURCES)]
    key = hashlib.sha256(json.dumps([plain, suffix, versions, code], sort_keys=True).encode()).hexdigest()
    path = cache_folder() / "provided" / f"{key}{suffix}"
    if not path.is_file():
        _make(plain, path)
    return path


def _meant(source: str, subject: SubjectSpec | None) -> tuple[SubjectSpec, str]:
    found = run_words.model_of(source)
    name, suffix = found or (run_words.SUBJECT, Path(run_words.INPUT).suffix)
    if name != run_words.SUBJECT:
        return SubjectSpec(model=name, input=subject.input if subject else _INPUT), suffix
    if subject is None:  # pragma: no cover - a validated spec has a subject where it is provided
        message = f"'{source}' is of the subject, and there is none"
        raise FaultError(message)
    return replace(subject), suffix


def _make(plain: dict[str, Any], path: Path) -> None:
    """Written beside and renamed, so that no reader ever sees half a file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            made = Path(folder) / path.name
            done = subprocess.run(  # noqa: S603 - this very file
                own_process.command("labgrade.provided", json.dumps(plain), str(made)),
                env=own_process.environment(),
                capture_output=True,
                check=False,
            )
            if done.returncode or not made.is_file():
                said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
                message = f"'{plain['model']}' could not be made as {path.suffix}: {''.join(said)}"
                raise FaultError(message)
            made.replace(path)
    except OSError as error:
        message = f"no file can be kept in '{path.parent}': {error}"
        raise FaultError(message) from error


# ---- the process that makes them -------------------------------------------------------------------------------


def _write(plain: dict[str, Any], path: Path) -> None:
    subject = zoo.Subject(**{**plain, "shape": tuple(plain["shape"])})
    writers: dict[str, Callable[[zoo.Subject, Path], None]] = {
        ".onnx": _onnx,
        ".pt": _torchscript,
        ".pth": _state_dict,
        ".npy": _input,
    }
    writers[path.suffix](subject, path)


def _onnx(subject: zoo.Subject, path: Path) -> None:
    import torch

    model, tensor = subject.with_weights()
    torch.onnx.export(
        model, (tensor,), str(path), input_names=["input"], output_names=["output"], dynamo=False, external_data=False
    )


def _torchscript(subject: zoo.Subject, path: Path) -> None:
    import torch

    model, tensor = subject.with_weights()
    with torch.no_grad():
        torch.jit.trace(model, tensor, check_trace=False).save(str(path))  # type: ignore[no-untyped-call]


def _state_dict(subject: zoo.Subject, path: Path) -> None:
    import torch

    torch.save(subject.with_weights()[0].state_dict(), path)


def _input(subject: zoo.Subject, path: Path) -> None:
    import numpy as np

    np.save(path, subject.with_weights()[1].numpy(), allow_pickle=False)


if __name__ == "__main__":
    try:
        _write(json.loads(sys.argv[1]), Path(sys.argv[2]))
    except Exception as error:  # noqa: BLE001 - its last line is what the fault says
        sys.exit(f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}")
