"""What children are given: values of a subject, built by the zoo."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_WITH_VALUES = frozenset({"model", "input"})
_NO_INPUT = {"shape": [1], "input_seed": 0, "further": []}


class Shelf:
    """The subjects that this process has ready: what is on it is what its children can see.

    A child is given each of them once, since a call may change it: what else is asked for is built. `zoo` loads the
    module whose `Subject` builds what is given.
    """

    def __init__(self, zoo: Callable[[], Any]) -> None:
        self._zoo = zoo
        self._ready: list[tuple[dict[str, Any], Any]] = []

    def prepare(self, wanted: Mapping[str, Any]) -> None:
        """Build a subject, so that the children of this process need not.

        Raises:
            Exception: what the zoo raises for a subject that cannot be built.
        """
        self._ready.append((dict(wanted), self._built(wanted)))
        gc.collect()
        gc.freeze()

    @property
    def bytes(self) -> int:
        """What the weights of the ready subjects take."""
        models = [subject.with_weights()[0] for _, subject in self._ready]
        return sum(each.nbytes for model in models if hasattr(model, "parameters") for each in model.parameters())

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
            values["model"], values["input"] = self._given(used).with_weights()
        return {name: values[name] for name in given}

    def _given(self, wanted: Mapping[str, Any]) -> Any:
        """A subject: a ready one, one with the module of a ready one that has its weights, else one built anew."""
        for place, (known, ready) in enumerate(self._ready):
            subject = ready if known == wanted else self._named(wanted).with_weights_of(ready, for_good=True)
            if subject is ready or subject.has_weights:
                del self._ready[place]
                return subject
        return self._built(wanted)

    def _built(self, wanted: Mapping[str, Any]) -> Any:
        subject = self._named(wanted)
        subject.with_weights()
        return subject

    def _named(self, wanted: Mapping[str, Any]) -> Any:
        return self._zoo().Subject(**{**wanted, "shape": tuple(wanted["shape"])})


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
