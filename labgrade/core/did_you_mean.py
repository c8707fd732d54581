"""The name that was meant, where one was mistyped.

Every message about something that is not there (a command, a task, a model, a column, a word of the language) ends so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from labgrade.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

T = TypeVar("T")
_PART = 3  # characters from which a part of a name says which is meant


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The tail of a message that offers the closest known word, or else the shortest with this one as its end or start.

    >>> did_you_mean("equals", ["equal", "close"])
    "; did you mean 'equal'?"
    >>> did_you_mean("resnet18", ["micro/lenet", "torchvision/resnet18"])
    "; did you mean 'torchvision/resnet18'?"
    """
    import difflib  # only where something is mistyped

    names, said = sorted(known), word.lower()
    parts = names if len(word) >= _PART else []
    ends = [name for name in parts if name.lower().endswith((f"/{said}", f"-{said}"))]
    starts = [name for name in parts if name.lower().rpartition("/")[2].startswith(said)]
    close = ends or difflib.get_close_matches(word, names, n=1, cutoff=0.6) or starts
    return f"; did you mean '{min(close, key=len)}'?" if close else ""


def offer(word: str, known: Iterable[str], most: int = 8) -> str:
    """The tail of a message that offers the closest known word, or else `most` of them, that begin like it if any do.

    >>> offer("hw9", ["lab1", "lab2"])
    '; there is lab1, lab2'
    >>> offer("2-3-9", ["2-1-1-parameters", "2-3-1-linear", "2-3-2-tiled"])
    '; there is 2-3-1-linear, 2-3-2-tiled'
    """
    names = list(known)
    for length in range(len(word), _PART - 1, -1):
        if alike := [name for name in names if name.startswith(word[:length])]:
            names = alike  # they say more than the first ones
            break
    there = f"; there is {', '.join(names[:most])}{', ...' if len(names) > most else ''}" if names else ""
    return did_you_mean(word, names) or there


def look_up(name: str, known: Mapping[str, T], what: str, where: str = "") -> T:
    """The entry under a name. A message says `what` it names, and `where` one looked.

    >>> look_up("macz", {"macs": 1, "params": 2}, "quantity")
    Traceback (most recent call last):
    labgrade.core.errors.UsageError: there is no quantity 'macz'; did you mean 'macs'?

    Raises:
        UsageError: there is none; the message offers the closest name, or else the first eight.
    """
    if name not in known:
        message = f"there is no {what} '{name}'{f' in {where}' if where else ''}{offer(name, known)}"
        raise UsageError(message)
    return known[name]
