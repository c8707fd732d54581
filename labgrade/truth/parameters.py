"""What a quantity is called with beside its subject."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labgrade.core.subject import QuantityCall, SubjectSpec
    from labgrade.spec.registry import Entry


def parameters_of(call: QuantityCall, entry: Entry, subject: SubjectSpec | None) -> dict[str, Any]:
    """The parameters of a quantity: the spec's, and the subject's input where it asks for an `input_shape`."""
    own: dict[str, Any] = {}
    if subject is not None and "input_shape" in entry.parameters and not subject.further:
        own["input_shape"] = list(subject.input.shape)
    return {**own, **call.parameters}
