"""What a `run` form says: the command, and what is placed beside the submission before it runs."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MODEL_FILES = (".onnx", ".pt", ".pth")
SUBJECT = "subject"
INPUT = "input.npy"
TORCHSCRIPT, INPUT_SIZE, CONFIG = "torchscript_path", "input_size", "config"
GIVEN: Mapping[str, str] = MappingProxyType(
    {
        TORCHSCRIPT: "the path of a TorchScript file, traced of the subject in eval mode, with its seeded weights",
        INPUT_SIZE: "the shape of the input, the batch first, each number an argument of its own: 1 3 224 224",
        CONFIG: "what the task's `config` says, each name an argument of its own: layers=64,64,M linear=4096,1000",
    }
)
TARGET = ".given/model.pt"
BUILDS = ("cmake",)
_PYTHON = re.compile(r"python(?:3(?:\.\d+)?)?$")


def parse_command(text: str) -> tuple[str, tuple[str, ...]]:
    """The program's file and its arguments: `python hw.py --batch 1`.

    Raises:
        ValueError: it is no command of that form; the message says what it must be.
    """
    try:
        words = shlex.split(text)
    except ValueError:
        message = f"'{text}' has a quotation mark without its partner"
        raise ValueError(message) from None
    if len(words) < 2 or not _PYTHON.match(words[0]) or not words[1].endswith(".py"):  # noqa: PLR2004 - python and file
        message = f"a command is 'python' and a .py file, such as 'python hw.py', not '{text}'"
        raise ValueError(message)
    if not is_inside(words[1]):
        message = f"'{words[1]}' leads out of the submission"
        raise ValueError(message)
    return words[1], tuple(words[2:])


def is_inside(path: str) -> bool:
    """Whether a POSIX path stays within the folder that it starts from, and says so in the plainest way."""
    parts = path.split("/")
    return "\\" not in path and not PurePosixPath(path).is_absolute() and not {"", ".", ".."} & set(parts)


def model_of(source: str) -> tuple[str, str] | None:
    """`torchvision/alexnet.onnx` is the zoo's alexnet as ONNX: its name and the kind of file. None for other sources.

    The name `subject` stands for the task's subject, or that of the case at hand.
    """
    path = PurePosixPath(source)
    name = str(path.with_suffix(""))
    known = name == SUBJECT or name.startswith(("torchvision/", "micro/"))
    return (name, path.suffix) if known and path.suffix in MODEL_FILES else None


def of_subject(source: str) -> bool:
    """Whether what is provided changes with the subject."""
    found = model_of(source)
    return source == INPUT or (found is not None and found[0] == SUBJECT)


def config_arguments(config: Mapping[str, object]) -> list[str]:
    """A config as arguments of a program: `layers=64,64,M`; what is nested, true or false is JSON."""

    def said(value: object) -> str:
        if isinstance(value, str):
            return value
        flat = isinstance(value, list | tuple) and not any(isinstance(each, list | tuple | dict) for each in value)
        return ",".join(map(said, value)) if flat else json.dumps(value)  # type: ignore[call-overload]

    return [f"{name}={said(value)}" for name, value in config.items()]


def arguments(given: Sequence[str], shape: Sequence[int], config: Mapping[str, object]) -> list[str]:
    """What a program is called with: `given` names it, `shape` is that of the input, `config` the subject's."""
    values = {TORCHSCRIPT: [TARGET], INPUT_SIZE: [str(size) for size in shape], CONFIG: config_arguments(config)}
    return [argument for word in given for argument in values[word]]


def beside_the_spec(source: str) -> str | None:
    """`./labels.csv` is a file in the folder of the spec: its path within that folder. None for other sources."""
    return source[2:] if source.startswith("./") and is_inside(source[2:]) else None
