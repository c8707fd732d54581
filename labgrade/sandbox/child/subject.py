"""What children are given: values of a subject, built by the zoo."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import sys
from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_WITH_VALUES = frozenset({"model", "input"})
_NO_INPUT = {"shape": [1], "input_seed": 0, "further": []}
_MANY_BYTES = 4 << 20
_FREED_AT_ONCE = 32 << 20
_PAGE = 4096
_ALIGNED = 64  # bytes, as torch does with all that it allocates


class Shelf:
    """The subjects that this process has ready; its children can see all of them.

    A child is given each of them once, since a call may change it: further ones are built. `zoo` loads the module whose
    `Subject` builds them.
    """

    def __init__(self, zoo: Callable[[], Any]) -> None:
        self._zoo = zoo
        self._ready: list[tuple[dict[str, Any], Any]] = []
        self._blank: list[Any] = []

    def prepare(self, wanted: Mapping[str, Any], kept: Sequence[int] = ()) -> list[int]:
        """Build a subject, so that the children of this process need not. Return a file of its weights, if any.

        `kept`: such a file, made by another process; then none is returned.

        Raises:
            Exception: what the zoo raises for a subject that cannot be built.
        """
        subject = self._named(wanted)
        for file in kept:
            with contextlib.suppress(OSError, RuntimeError):  # then they are drawn
                subject.with_weights_put_in(functools.partial(_load_weights, file))
        model, _ = subject.with_weights()
        files: list[int] = []
        if sys.platform == "linux" and not kept:
            with contextlib.suppress(OSError, RuntimeError):  # where a jail refuses it they stay where they are
                files = _move_to_file(model)
        self._add(wanted, subject)
        if getattr(subject, "is_known_by_weights", False):
            return files
        for each in files:
            os.close(each)
        return []

    def prepare_blank(self, wanted: Mapping[str, Any]) -> list[int]:
        """Build a subject whose weights nobody has drawn. Return the file in which they would lie; none if it can't be.

        Raises:
            Exception: as `prepare`.
        """
        subject, files = self._named(wanted), []
        if sys.platform == "linux" and getattr(subject, "is_known_by_weights", False):
            with contextlib.suppress(OSError, RuntimeError):
                subject.with_weights_put_in(lambda model: files.append(_leave_blank(model)))
                self._add(wanted, subject)
                self._blank.append(subject)
        return files

    def _add(self, wanted: Mapping[str, Any], subject: Any) -> None:
        self._ready.append((dict(wanted), subject))
        gc.collect()
        gc.freeze()

    @property
    def bytes(self) -> int:
        """Return the bytes that the weights of the ready subjects take."""
        models = [subject.with_weights()[0] for _, subject in self._ready if subject not in self._blank]
        return sum(each.nbytes for model in models if hasattr(model, "parameters") for each in model.parameters())

    def arguments(self, told: Any) -> dict[str, object]:
        """Return the values of the `given` names in order; where the grader sends `each`, a list of such dicts."""
        if "each" in told:
            own = told.get("values") or [{} for _ in told["each"]]
            each = [
                {"given": told["given"], "subject": one, "values": more}
                for one, more in zip(told["each"], own, strict=True)
            ]
            return {"each": [self.arguments(one) for one in each]}
        wanted = told["subject"]
        if wanted is None:
            return {}
        given = tuple(told["given"])
        values: dict[str, object] = {
            "input_size": _sizes(wanted),
            "config": dict(wanted["options"]),
            "model_path": "",  # see jobs
            **told.get("values", {}),
        }
        if needs_values(given):
            used = wanted if "input" in given else without_input(wanted)
            values["model"], values["input"] = self._given(used).with_weights()
        return {name: values[name] for name in given}

    def _given(self, wanted: Mapping[str, Any]) -> Any:
        """Return a ready subject, one with the module of a ready one, or one that is built now."""
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


def _move_to_file(model: Any) -> list[int]:
    """Move a module's weights into a file without a name; return a descriptor of it if it holds all of them.

    The file is sealed: nobody can change it any more, in any way. Each process gets pages of its own when it writes. A
    fork copies the page tables of all memory that lies in no file: with 500 MB of it, that takes longer than most
    calls.
    """
    from labgrade.sandbox.jail import linux

    tensors = _tensors(model)
    moved = _alone(tensors)
    if sum(each.nbytes for each in moved) < _MANY_BYTES:
        return []
    import fcntl

    import torch

    with os.fdopen(os.memfd_create("weights", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "wb") as file:
        file.truncate(_offsets(moved)[-1])
        area, freed = _mapped(file.fileno()), 0
        for each, place in zip(moved, _offsets(moved), strict=False):  # one by one: twice the largest network is much
            file.seek(place)
            file.write(each.detach().reshape(-1).view(torch.uint8).numpy())
            file.flush()
            _use_values_at(each, area, place)
            freed += each.nbytes
            if freed > _FREED_AT_ONCE:
                linux.give_back_memory()
                freed = 0
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_WRITE)
        files = [os.dup(file.fileno())] if len(moved) == len(tensors) else []
    area[::_PAGE].max()  # so that this process, too, holds what its children read: see usage.Meter
    linux.give_back_memory()
    return files


def _leave_blank(model: Any) -> int:
    """Let a module's weights lie in a new, sealed file that holds nothing yet; return its descriptor.

    Raises:
        RuntimeError: they are small, or can't lie there.
    """
    import fcntl

    tensors = _tensors(model)
    *places, size = _offsets(tensors)
    if size < _MANY_BYTES or len(_alone(tensors)) < len(tensors):
        message = "these weights are to be drawn"
        raise RuntimeError(message)
    file = os.memfd_create("weights", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.truncate(file, size)
    area = _mapped(file)
    for each, place in zip(tensors, places, strict=True):
        _use_values_at(each, area, place)
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_WRITE)
    return file


def _load_weights(file: int, model: Any) -> None:
    """Give a module the weights in a file, which a module that was built alike has written.

    Raises:
        RuntimeError: it was not.
    """
    area, tensors = _mapped(file), _tensors(model)
    *places, size = _offsets(tensors)
    if size != len(area):
        message = f"a file of {len(area)} bytes does not hold weights of {size}"
        raise RuntimeError(message)
    for each, place in zip(tensors, places, strict=True):
        _use_values_at(each, area, place)
    area[::_PAGE].max()  # as above


def _tensors(model: Any) -> list[Any]:
    return [*model.parameters(), *model.buffers()] if hasattr(model, "parameters") else []


def _alone(tensors: Sequence[Any]) -> list[Any]:
    """Return the tensors that lie in one piece, each in memory of its own."""
    users = Counter(each.untyped_storage().data_ptr() for each in tensors)
    whole = [each for each in tensors if each.is_contiguous() and each.untyped_storage().nbytes() == each.nbytes > 0]
    return [each for each in whole if users[each.data_ptr()] == 1]


def _offsets(tensors: Sequence[Any]) -> list[int]:
    """Return the offset of each tensor in a file, and at the end the file's size."""
    return list(accumulate((each.nbytes + -each.nbytes % _ALIGNED for each in tensors), initial=0))


def _mapped(file: int) -> Any:
    """Map a file of bytes privately: this process gets pages of its own when it writes."""
    import torch

    size = os.fstat(file).st_size
    return torch.from_file(f"/proc/self/fd/{file}", size=size, dtype=torch.uint8).numpy()


def _use_values_at(tensor: Any, area: Any, place: int) -> None:
    """Make a tensor use the values at a place of mapped bytes."""
    import torch

    tensor.data = torch.frombuffer(area, dtype=tensor.dtype, count=tensor.numel(), offset=place).view(tensor.shape)


def _sizes(wanted: Mapping[str, Any]) -> tuple[object, ...]:
    """Return the shape of the input, or a tuple of shapes if there are several inputs."""
    first = tuple(wanted["shape"])
    further = wanted.get("further", ())
    return (first, *(tuple(each["shape"]) for each in further)) if further else first


def without_input(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the subject with the smallest input: to draw one takes longer than many a call without it."""
    return {**wanted, **{name: value for name, value in _NO_INPUT.items() if name in wanted}}


def needs_values(given: tuple[str, ...]) -> bool:
    """Return whether any of the given names needs the subject built with its weights."""
    return bool(_WITH_VALUES & set(given))
