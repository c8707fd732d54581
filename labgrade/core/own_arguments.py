"""What a task names itself beside its subject: values and files that functions are given, and quantities take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from labgrade.core.arguments import ALL, MODEL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labgrade.core.task import Plain, SubjectSpec


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
