"""What is analysed, with its input, and what is asked of it: a part of `core.task` that commands use by itself."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

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
