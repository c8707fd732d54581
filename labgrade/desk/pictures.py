"""The pictures of a hand-in: taken from where it was graded, decoded in the reader's jail, encoded anew here."""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from labgrade.answers.reader.asks import Ask
from labgrade.answers.rendering import LONGEST_SIDE
from labgrade.core.errors import FaultError, UsageError
from labgrade.desk.sanitise import ask_reader
from labgrade.judging.by_hand import files_digest, is_of_files
from labgrade.ledger import read
from labgrade.ledger.database import Ledger
from labgrade.submissions import find

if TYPE_CHECKING:
    from labgrade.core.results import Submission
    from labgrade.sandbox.runner import Runner

_SUFFIXES = frozenset((".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff"))
_MOST = 24
_REMEMBERED = 8
_CHANNELS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class HandInPictures:
    """The pictures of a hand-in by name, or why there are none. `changed`: files are others than those graded."""

    names: tuple[str, ...] = ()
    more: int = 0
    changed: bool = False
    problem: str = ""


class Pictures:
    """Finds and shows the pictures of hand-ins, which are copied into `scratch` one at a time."""

    def __init__(self, results: Path, runner: Runner | None, scratch: Path) -> None:
        self._results, self._runner, self._scratch = results, runner, scratch
        self._lock = threading.Lock()
        self._taken: OrderedDict[str, Submission | str] = OrderedDict()
        self._count = 0

    def of(self, name: str, basis: str) -> HandInPictures:
        """The pictures of a submission; `basis` is the digest of what was graded."""
        taken = self._take(name)
        if isinstance(taken, str):
            return HandInPictures(problem=taken)
        names = [each for each in taken.files if PurePosixPath(each).suffix.lower() in _SUFFIXES]
        changed = is_of_files(basis) and files_digest(taken) != basis
        return HandInPictures(names=tuple(names[:_MOST]), more=max(0, len(names) - _MOST), changed=changed)

    def png(self, name: str, number: int) -> bytes | str:
        """Return a picture as a PNG that holds only the student's pixels, or why that is impossible."""
        taken = self._take(name)
        if isinstance(taken, str):
            return taken
        names = self.of(name, "").names
        if not 0 <= number < len(names) or self._runner is None:
            return "there is no such picture"
        pixels = ask_reader(self._runner, taken.folder, taken.files, Ask(wanted="picture", about=names[number]))
        return pixels if isinstance(pixels, str) else encoded(pixels)

    def _take(self, name: str) -> Submission | str:
        with self._lock:
            if name not in self._taken:
                self._count += 1
                self._taken[name] = self._find(name, self._scratch / str(self._count))
                while len(self._taken) > _REMEMBERED:
                    self._taken.popitem(last=False)
            self._taken.move_to_end(name)
            return self._taken[name]

    def _find(self, name: str, store: Path) -> Submission | str:
        with Ledger(self._results) as ledger:
            run = read.handed_in(ledger).get(name)
            source = read.run_requests(ledger).get(run or 0, {}).get("source", "")
        if not source or self._runner is None:
            return "it is not known where this was handed in"
        try:
            found = find.find(Path(source), [name], store, opening=self._runner.open).submissions
        except (UsageError, FaultError, OSError) as error:
            return f"what was handed in is not where it was graded: {error}"
        return found[0] if found else "what was handed in is not where it was graded"


def encoded(pixels: object) -> bytes | str:
    """Encode pixels as a PNG, or say why they can't be."""
    import numpy as np
    from PIL import Image

    if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8 or pixels.ndim != _CHANNELS - 1:
        return "it can't be shown: reading it took too long, or failed"
    if pixels.shape[2] != _CHANNELS or not 0 < max(pixels.shape[:2]) <= LONGEST_SIDE or not min(pixels.shape[:2]):
        return "it can't be shown: it has no size"
    out = io.BytesIO()
    Image.fromarray(pixels, "RGBA").save(out, "PNG")
    return out.getvalue()
