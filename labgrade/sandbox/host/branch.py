"""A server that forks children, as its owner knows it; and the weights of networks in it, kept or not even drawn.

To draw weights takes longest, so that those of a network are kept for other branches. Each network's lie in a sealed
file without a name, which a branch sends along when it has built it. A job that is given one network still sees nothing
of another: a branch is sent the files of its own subjects alone.

Many functions read no weight: they count. For such a function a network's weights lie in a file full of holes, which
costs neither time nor memory. The kernel fills a hole as soon as anything reads or writes there, so that the size on
disk tells whether anybody did: then what the function said does not count, and it is called with weights that are
drawn.
"""

from __future__ import annotations

import contextlib
import functools
import json
import mmap
import os
import re
import select
import socket
import stat
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from labgrade.sandbox.requests import Job

_MESSAGE_BYTES = 1 << 16
_MOST_BYTES = 192 << 20  # of all kept files; a network that takes as much by itself is asked for once
_MOST_TEXT = 1 << 20  # of a student's file that is guessed about


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
    """The functions that were seen to read weights; of any other it is guessed whether it does, and then seen."""

    def __init__(self) -> None:
        self._known: set[tuple[object, object]] = set()

    def blank(self, job: Job, folder: Path) -> Job:
        """Return the job on the files in a folder, to be done on blank weights where these may do."""
        if not job.may_read_nothing or _function(job) in self._known:
            return job
        try:
            text = _text_of(folder / "handin" / str(job.arguments["file"]))
        except OSError:
            return job
        return replace(job, blank=not _seems_to_run(text, str(job.arguments["function"]).encode()))

    def note(self, job: Job) -> Job:
        """Note that a job's function reads weights; return the job, to be done on drawn ones."""
        self._known.add(_function(job))
        return replace(job, blank=False)


# At the top of a file, with all lines that are indented, or end a signature.
_DEFINED = re.compile(rb"^(?:async +)?(?:def|class) +(?P<name>\w+)(?P<body>.*(?:\n(?:[ \t)#].*)?)*)", re.MULTILINE)
_RUNS = re.compile(rb"no_grad|inference_mode|hook|forward|deepcopy|export|trace|summary|profile|\b(?:model|net|m)\(")


def _seems_to_run(text: bytes, function: bytes) -> bool:
    """Return whether a function, or what it names of its file, looks as if it ran a network."""
    bodies = {each["name"]: each["body"] for each in _DEFINED.finditer(text)}
    named, waiting = {function}, [function]
    while waiting:
        body = bodies.get(waiting.pop(), text)
        if _RUNS.search(body):
            return True
        more = (bodies.keys() & set(re.findall(rb"\w+", body))) - named
        named |= more
        waiting += more
    return False


def _text_of(path: Path) -> bytes:
    """Return the beginning of a file in which a student's job may have put anything, a pipe say.

    Raises:
        OSError: it is no file.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            message = "not a file"
            raise OSError(message)
        return file.read(_MOST_TEXT)


def _function(job: Job) -> tuple[object, object]:
    return job.arguments.get("file"), job.arguments.get("function")


class KeptWeights:
    """Files of weights by their subjects, those that were used last. Close it at the end.

    The pages of a file belong to the branches that use it.
    """

    def __init__(self) -> None:
        self._files: OrderedDict[str, int] = OrderedDict()

    def prepare(
        self, line: socket.socket, subject: Mapping[str, Any], seconds: float, *, blank: bool = False
    ) -> tuple[dict[str, Any], list[BlankWeights]]:
        """Have a branch build a subject, from kept weights if there are some. Return its reply, empty if it is gone.

        `blank`: weights that nobody has drawn will do; where it has such, they are returned, too.
        """
        text = json.dumps(subject)
        kept = [self._files[text]] if text in self._files else []
        request = {"do": "prepare", "subject": subject, "blank": blank and not kept}
        with contextlib.suppress(OSError):
            socket.send_fds(line, [json.dumps(request).encode()], kept)
        try:
            line.settimeout(seconds)
            said, given, _, _ = socket.recv_fds(line, _MESSAGE_BYTES, 1, socket.MSG_CMSG_CLOEXEC)
        except OSError:
            return {}, []
        reply: dict[str, Any] = json.loads(said) if said else {}
        if reply.get("blank"):
            return reply, [BlankWeights(each) for each in given]
        if given:
            self._keep(text, given[0])
        elif kept:
            self._files.move_to_end(text)
        return reply, []

    def _keep(self, text: str, file: int) -> None:
        self._files[text] = file
        sizes = {each: os.fstat(own).st_size for each, own in self._files.items()}
        # A file that is too large by itself goes at once, else those that were used longest ago.
        for each in sorted(sizes, key=lambda each: sizes[each] <= _MOST_BYTES):
            if sum(sizes.values()) > _MOST_BYTES:
                os.close(self._files.pop(each))
                del sizes[each]

    def close(self) -> None:
        """Close all files."""
        while self._files:
            os.close(self._files.popitem()[1])


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
