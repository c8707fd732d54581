"""Results of a function for the very objects that it was called with: a spec's have no hash, and serve a class."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

R = TypeVar("R")


class ByIdentity(Generic[R]):
    """A function whose latest `most` results are kept by the identity of its arguments, which nobody changes.

    The arguments are kept, too, so that no other object has their identity meanwhile. Several threads may call one.
    """

    def __init__(self, function: Callable[..., R], most: int) -> None:
        self._function, self._most = function, most
        self._kept: OrderedDict[tuple[int, ...], tuple[tuple[object, ...], R]] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, *given: object) -> R:
        """The function's result.

        Raises:
            Exception: what the function raises; nothing is kept then.
        """
        key = tuple(map(id, given))
        kept = self._kept.get(key)
        if kept is not None:
            if 2 * len(self._kept) > self._most:  # else there is room for long
                with contextlib.suppress(KeyError):  # another thread has let go of it meanwhile
                    self._kept.move_to_end(key)
            return kept[1]
        result = self._function(*given)
        with self._lock:
            self._kept[key] = given, result
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return result
