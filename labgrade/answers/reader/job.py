"""The reader within the jail: imported by its server before the jail is closed, and run once for each hand-in."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import numpy as np

from labgrade.answers.reader.asks import perform
from labgrade.answers.reader.replies import MOST_BYTES, decode, encode
from labgrade.answers.reading.words import vocabulary
from labgrade.core.results import Submission
from labgrade.sandbox.child import jobs
from labgrade.sandbox.child.wire import FRAME_BYTES, HEADER_BYTES, RawArray, pack, pack_in_parts
from labgrade.submissions import archive_reader, git_reader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_REASON_CHARS = 500


def read(job: Mapping[str, Any], folder: Path) -> Iterator[bytes | memoryview]:
    """Yield a frame for each ask as soon as it is done: a crash costs only the ask at which it happens."""
    gc.disable()  # this process ends with the hand-in, and looking for garbage touches every page that is shared
    submission = Submission(name="", folder=folder, files=tuple(job["files"]))
    for each in job["asks"]:
        try:
            data, arrays = encode(perform(decode(each.encode()), submission))
        except (MemoryError, RecursionError):
            yield _STARVED
        except Exception as error:  # noqa: BLE001 - whatever it is, it is labgrade's: a FAULT, and the next ask goes on
            yield pack({"event": "broke", "problem": f"{type(error).__name__}: {error}"[:_REASON_CHARS]}, _refuse)
        else:
            size = len(data) + sum(each.nbytes for each in arrays)
            if len(data) > MOST_BYTES or size > FRAME_BYTES - HEADER_BYTES:
                yield pack({"event": "large", "bytes": size}, _refuse)
                continue
            event = {"event": "read", "data": _raw(data), "arrays": [_array(each) for each in arrays]}
            yield from pack_in_parts(event, _refuse)


def _raw(data: bytes | memoryview) -> RawArray:
    return RawArray("|u1", (len(data),), data)


def _array(value: Any) -> list[object]:
    found = np.ascontiguousarray(value)
    return [found.dtype.str, list(value.shape), _raw(found.reshape(-1).view(np.uint8).data)]


def _refuse(item: object) -> object:
    raise TypeError(type(item).__name__)


vocabulary.prepare()
_STARVED = pack({"event": "starved"}, _refuse)


jobs.add("read", read)
jobs.add("archive", archive_reader.write_records)
jobs.add("repository", git_reader.write_records)
