"""What a quantity is called with beside its subject."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labgrade.core.subject import QuantityCall, SubjectSpec
    from labgrade.spec.registry import Entry

_SEVERAL = "list[list[int]]"  # the annotation of an input_shape that may be several


def parameters_of(call: QuantityCall, entry: Entry, subject: SubjectSpec | None) -> dict[str, Any]:
    """The parameters of a quantity: the spec's, the task's own arguments, the input where it asks for `input_shape`."""
    own: dict[str, Any] = {}
    if subject is not None:
        own = {name: value for name, value in subject.arguments.items() if name in entry.parameters}
    wanted = entry.parameters.get("input_shape")
    if subject is not None and wanted is not None:
        shapes = [list(each.shape) for each in (subject.input, *subject.further)]
        if not subject.further:
            own["input_shape"] = shapes[0]
        elif _SEVERAL in wanted.annotation:
            own["input_shape"] = shapes
    return {**own, **call.parameters}
