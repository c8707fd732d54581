"""What students packed, opened in the test's own process, as `Runner.open` does it in a jail."""

import io
import tempfile
from pathlib import Path

from labgrade.submissions import archive_reader, git_reader
from labgrade.submissions.archive_records import OPENED


def here(kind, source, take, arguments):
    if kind == "repository":
        take(io.BytesIO(b"".join(git_reader.write_records(arguments, source))))
        return ""
    with tempfile.TemporaryDirectory() as name:
        Path(name, OPENED).symlink_to(source.absolute())
        take(_Stream(archive_reader.write_records(arguments, Path(name))))
    return ""


class _Stream:
    """The records one after the other, as a pipe has them: they are made while they are read."""

    def __init__(self, records):
        self._records = records
        self._left = b""

    def read(self, size):
        while not self._left:
            record = next(self._records, None)
            if record is None:
                return b""
            self._left = record
        data, self._left = self._left[:size], self._left[size:]
        return data
