"""Weights of networks that branches of a server have built, for other branches: to draw them takes longest.

Each lies in a sealed file without a name, which a branch sends along when it has built a network. A job that is given
one network still sees nothing of another: a branch is sent the files of its own subjects alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from labgrade.sandbox.host.branch import BlankWeights

if TYPE_CHECKING:
    from collections.abc import Mapping

_MESSAGE_BYTES = 1 << 16
_MOST_BYTES = 192 << 20  # of all files; a network that takes as much by itself is asked for once


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
