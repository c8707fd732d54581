"""Quantities of a subject that a person named: what is wrong with the subject is the person's to mend."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from labgrade.core.errors import FaultError, UsageError
from labgrade.core.subject import QuantityCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from labgrade.core.task import SubjectSpec

    Ask: TypeAlias = Callable[[QuantityCall, SubjectSpec], object]

FORWARD = QuantityCall(quantity="layer_shapes")  # needs nothing but a model that is built and runs on its input
_ARGUMENTS = re.compile(r"TypeError: \w{0,80}\.?forward\(\) (?:missing|takes)")
_LACKING = re.compile(r"KeyError: '(\w+)'")
_UNCOUNTABLE = re.compile(r"UncountableError: (.*) \(", re.DOTALL)  # as a quantity says what it can't tell, and why
_SAID = re.compile(r"ValueError: (.*) \(", re.DOTALL)
_NOT_MADE = "could not be made: "


def value_of(ask: Ask, call: QuantityCall, subject: SubjectSpec) -> object:
    """Compute a quantity of a subject that a person named with options, an input, or a config.

    Raises:
        UsageError: the subject can't be built or run, or the config lacks something.
        FaultError: the quantity failed all the same.
    """
    try:
        return ask(call, subject)
    except FaultError as error:
        if message := _of_the_subject(ask, call, subject, str(error)):
            raise UsageError(message) from None
        raise


def why_broken(ask: Ask, subject: SubjectSpec) -> str:
    """Return why a model in memory can't be built or run, or nothing; without our place in the code."""
    if subject.is_config or subject.is_onnx:
        return ""
    try:
        ask(FORWARD, subject)
    except FaultError as error:
        return str(error).partition(f"failed on '{subject.model}': ")[2].rpartition(" (")[0]
    return ""


def not_running(subject: SubjectSpec, why: str) -> str:
    """Return the message about a model that can't be run."""
    return f"'{subject.model}' can't be built or does not run on an input of {list(subject.input.shape)}: {why}"


def _of_the_subject(ask: Ask, call: QuantityCall, subject: SubjectSpec, error: str) -> str:
    if subject.is_config:
        lacking = _LACKING.search(error)
        if lacking is None:
            said = _SAID.search(error)
            return f"'{call.quantity}': {said[1]}" if said else f"{error}; look at what the config says"
        return f"'{call.quantity}' needs '{lacking[1]}', and the config does not say it: add {lacking[1]}=..."
    if refused := _UNCOUNTABLE.search(error):
        return f"nobody can tell '{call.quantity}' of '{subject.model}': {refused[1]}"
    if _ARGUMENTS.search(error):
        return f"{error}; say --input once for each input of the network"
    why = error.partition(_NOT_MADE)[2].rpartition(" (")[0] if _NOT_MADE in error else why_broken(ask, subject)
    return f"{not_running(subject, why)}; say another --input or --option" if why else ""
