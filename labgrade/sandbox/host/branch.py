"""A server that forks children, as its owner knows it; and weights in it that nobody has drawn.

Many functions read no weight: they count. For such a function a network's weights lie in a file full of holes, which
costs neither time nor memory. The kernel fills a hole as soon as anything reads or writes there, so that the size on
disk tells whether anybody did: then what the function said does not count, and it is called with weights that are
drawn.
"""

from __future__ import annotations

import functools
import mmap
import os
import select
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket

    from labgrade.sandbox.requests import Job


@dataclass(slots=True, eq=False)
class BlankWeights:
    """A sealed file of weights that are not drawn, kept open as long as this lives."""

    file: int

    @property
    def are_read(self) -> bool:
        """Return whether anything was read or written in it."""
        return os.fstat(self.file).st_blocks > 0

    def __del__(self) -> None:
        os.close(self.file)


@functools.cache
def can_be_blank() -> bool:
    """Return whether this kernel tells what was read of a file without a name that is mapped privately."""
    try:
        blank = BlankWeights(os.memfd_create("blank", os.MFD_CLOEXEC))
        os.truncate(blank.file, mmap.PAGESIZE)
        with mmap.mmap(blank.file, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ) as area:
            before = blank.are_read
            return area[0] == 0 and blank.are_read and not before
    except (OSError, AttributeError):
        return False


class WeightReaders:
    """The functions that were seen to read weights; of any other it is tried whether it does."""

    def __init__(self) -> None:
        self._known: set[tuple[object, object]] = set()

    def blank(self, job: Job) -> Job:
        """Return the job, to be done on blank weights where these may do."""
        return replace(job, blank=job.may_read_nothing and _function(job) not in self._known)

    def note(self, job: Job) -> Job:
        """Note that a job's function reads weights; return the job, to be done on drawn ones."""
        self._known.add(_function(job))
        return replace(job, blank=False)


def _function(job: Job) -> tuple[object, object]:
    return job.arguments.get("file"), job.arguments.get("function")


@dataclass(slots=True, eq=False)
class Branch:
    """A server that forks children.

    `line`: the connection to it; `ready`: the subjects that it has built, as JSON; `bytes`: the size of their weights;
    `lines`: those of its children, each open until its child has ended; `compiles`: it has loaded torch's compiler.
    `blank`: weights of these subjects that are not drawn.
    """

    line: socket.socket
    ready: set[str] = field(default_factory=set)
    bytes: int = 0
    lines: list[socket.socket] = field(default_factory=list)
    compiles: bool = False
    blank: list[BlankWeights] = field(default_factory=list)

    @property
    def busy(self) -> bool:
        """Return whether one of its children runs."""
        return any(line.fileno() >= 0 for line in self.lines)

    @property
    def is_there(self) -> bool:
        """Return whether it still runs."""
        return is_there(self.line)

    def serves(self, *, blank: bool) -> bool:
        """Return whether its weights will do: all are drawn, or those that are not are wanted so, and still blank."""
        return not self.blank or (blank and not any(each.are_read for each in self.blank))


def is_there(line: socket.socket, patience: int = 0) -> bool:
    """Return whether the other end is still open after so many milliseconds."""
    poll = select.poll()
    poll.register(line, 0)
    return not poll.poll(patience)
