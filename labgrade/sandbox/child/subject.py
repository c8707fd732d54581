"""What children are given: values of a subject, built by the zoo."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_WITH_VALUES = frozenset({"model", "input"})
_NO_INPUT = {"shape": [1], "input_seed": 0, "further": []}


class Shelf:
    """The one subject that this process has ready, if any: what is on it is what its children can see.

    `zoo` loads the module whose `Subject` builds what is given.
    """

    def __init__(self, zoo: Callable[[], Any]) -> None:
        self._zoo = zoo
        self._wanted: object = None
        self._subject: Any = None
        self.before: list[tuple[int, int]] | None = None  # what was mapped before it was built

    def prepare(self, wanted: Mapping[str, Any]) -> None:
        """Build a subject, so that the children of this process need not.

        Raises:
            Exception: what the zoo raises for a subject that cannot be built.
        """
        self._subject = self._build(wanted)
        self._wanted = dict(wanted)
        gc.collect()
        gc.freeze()

    @property
    def bytes(self) -> int:
        """What the weights of the ready subject take."""
        model, _ = self._subject.with_weights()
        return sum(each.nbytes for each in model.parameters()) if hasattr(model, "parameters") else 0

    def arguments(self, told: Any) -> dict[str, object]:
        """The values of the names `given` of a `subject`, in order; of several, `each`, a list of them."""
        if "each" in told:
            return {"each": [self.arguments({"given": told["given"], "subject": one}) for one in told["each"]]}
        wanted = told["subject"]
        if wanted is None:
            return {}
        given = tuple(told["given"])
        values: dict[str, object] = {
            "input_size": _sizes(wanted),
            "config": dict(wanted["options"]),
            "model_path": "",  # see jobs
        }
        if needs_values(given):
            used = wanted if "input" in given else without_input(wanted)
            subject = self._subject if used == self._wanted else self._build(used, self._subject)
            values["model"], values["input"] = subject.with_weights()
        return {name: values[name] for name in given}

    def _build(self, wanted: Mapping[str, Any], beside: Any = None) -> Any:
        """A subject; one with the weights of the ready one has the module of that, which nobody else uses here."""
        subject = self._zoo().Subject(**{**wanted, "shape": tuple(wanted["shape"])})
        if beside is not None:
            subject.with_weights_of(beside, for_good=True)
        subject.with_weights()
        return subject


def _sizes(wanted: Mapping[str, Any]) -> tuple[object, ...]:
    """The shape of the input; of several inputs a tuple of shapes."""
    first = tuple(wanted["shape"])
    further = wanted.get("further", ())
    return (first, *(tuple(each["shape"]) for each in further)) if further else first


def without_input(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The subject, with the least of an input: to draw one takes longer than many a call that is not given it."""
    return {**wanted, **{name: value for name, value in _NO_INPUT.items() if name in wanted}}


def needs_values(given: tuple[str, ...]) -> bool:
    """Whether any of it takes building the subject with its weights."""
    return bool(_WITH_VALUES & set(given))
