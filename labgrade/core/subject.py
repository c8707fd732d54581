"""What is analysed, with its input, and what is asked of it: a part of `core.task` that commands use by itself."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from labgrade.core import programs
from labgrade.core.arguments import ALL, GIVEN_FOLDER, MODEL
from labgrade.core.by_identity import ByIdentity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labgrade.core.errors import Mark

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"
Schema: TypeAlias = "dict[str, Plain]"
CONFIG = "config"  # in place of a model of the zoo: plain data that says how a model is built


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSpec:
    """An input of a subject: its shape, how values are drawn (`normal`, `uniform`, `ones`, `zeros`), and the seed.

    `tokens` are whole numbers from 0 that are `below` a bound. `dtype`: torch's name of the number type; "" is that of
    the fill.
    """

    shape: tuple[int, ...]
    fill: str = "normal"
    seed: int = 0
    dtype: str = ""
    below: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectSpec:
    """What is analysed, with its input: a model of the zoo with its options (`seed` draws the weights), or a file.

    One of three is set: `model`, a name of the zoo or of a folder `models/`, whose source by file is `code`; `file`, an
    ONNX file by its path; `handed_in`, a pattern for an ONNX file of the student's own. Where `model` is CONFIG,
    nothing is built: `options` are all there is, and there is no input. `further`: inputs behind the first one.
    `arguments`: further values by name for functions and quantities; a Path is a file beside the spec. `passing`: made
    for one trial, so that nothing of it is kept on disk.
    """

    input: InputSpec
    model: str = ""
    file: str = ""
    handed_in: str = ""
    options: Mapping[str, Plain] = field(default_factory=dict)
    seed: int = 0
    code: Mapping[str, str] = field(default_factory=dict, repr=False)
    further: tuple[InputSpec, ...] = ()
    arguments: Mapping[str, Plain | Path] = field(default_factory=dict)
    passing: bool = field(default=False, repr=False, compare=False)
    mark: Mark | None = field(default=None, repr=False, compare=False)

    @property
    def short_name(self) -> str:
        """The model without its collection, the file without its folder: `resnet18`, `lenet.onnx`; a config's name."""
        if self.is_config:
            return re.sub(r"[^\w.-]+", "-", str(self.options.get("name", CONFIG)))
        return (self.model or self.file or self.handed_in).rpartition("/")[2]

    @property
    def is_config(self) -> bool:
        """Whether it is plain data, and nothing is built of it."""
        return self.model == CONFIG

    @property
    def is_onnx(self) -> bool:
        """Whether it is an ONNX file, and not a model in memory."""
        return not self.model or self.model.endswith(".onnx")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantityCall:
    """An expected value that a function of `reference/` computes for the subject; a number so many `times`."""

    quantity: str
    parameters: Mapping[str, Plain] = field(default_factory=dict)
    published: Plain = None
    times: int = 1
    mark: Mark | None = None


def as_plain(subject: SubjectSpec) -> Mapping[str, Any]:
    """Return a subject as plain data, as `subjects.models.Subject` takes it. It is shared, and not to be changed."""
    return _subjects(subject)


def _plain_subject(subject: SubjectSpec) -> dict[str, Any]:
    rare = {
        "code": dict(subject.code),
        "dtype": subject.input.dtype,
        "below": subject.input.below,
        "further": [
            {"shape": list(each.shape), "fill": each.fill, "seed": each.seed, "dtype": each.dtype, "below": each.below}
            for each in subject.further
        ],
    }
    return {
        "model": subject.model,
        "shape": list(subject.input.shape),
        "fill": subject.input.fill,
        "input_seed": subject.input.seed,
        "options": dict(subject.options),
        "weight_seed": subject.seed,
        **{name: value for name, value in rare.items() if value},
    }


_subjects = ByIdentity(_plain_subject, 1024)  # of a class's tasks, asked for with each call of a function


# ---- what a task names itself beside its subject: values and files that functions are given, and quantities take ----


def own_values(subject: SubjectSpec) -> dict[str, Any]:
    """What a task names itself beside its subject, and what a config holds: plain values, and files as a Path."""
    return {**(subject.options if subject.is_config else {}), **subject.arguments}


class Call(Protocol):
    """What a call says of its arguments: their names, and values that are written into it."""

    @property
    def given(self) -> tuple[str, ...]:
        """The names, in order."""

    @property
    def written(self) -> Mapping[str, Plain]:
        """Values by names of these."""


def of_call(form: Call, subject: SubjectSpec | None) -> tuple[dict[str, Any], dict[str, Path]]:
    """The plain values that a function is given of a task's own arguments, and the files, by their names."""
    known = {**(own_values(subject) if subject is not None else {}), **form.written}
    found = {name: known[name] for name in form.given if name not in ALL and name in known}
    files = {name: value for name, value in found.items() if isinstance(value, Path)}
    return {name: value for name, value in found.items() if name not in files}, files


class Given:
    """What a call is given of the task's own arguments: `values` by name, and `files` by their places in a folder."""

    def __init__(self, request: Call, subject: SubjectSpec | None, model: Mapping[str, Path]) -> None:
        plain, files = of_call(request, subject)
        self.values: dict[str, Any] = {**plain, **dict.fromkeys(files, "")}  # see `paths`
        self.files = {**model, **{f"{name}/{path.name}": path for name, path in files.items()}}
        self._named = {
            **({MODEL: next(iter(model))} if model else {}),
            **{n: f"{n}/{p.name}" for n, p in files.items()},
        }

    def paths(self, folder: str) -> dict[str, str]:
        """Where in a hand-in each file lies, by the name of the argument."""
        return {name: f"{folder}/{place}" for name, place in self._named.items()}


def of_program(given: Sequence[str], subject: SubjectSpec | None) -> tuple[list[str], dict[str, Path]]:
    """What a program is called with, and which files lie where it runs: those of the task's own arguments."""
    if subject is None:
        return programs.arguments(given, (), {}), {}
    known = own_values(subject) if subject.is_config else {}
    files = {name: value for name, value in known.items() if isinstance(value, Path)}
    placed = {name: f"{GIVEN_FOLDER}/{file.name}" for name, file in files.items()}
    return (
        programs.arguments(given, subject.input.shape, {**known, **placed}),
        {placed[name]: file for name, file in files.items()} if programs.CONFIG in given else {},
    )
