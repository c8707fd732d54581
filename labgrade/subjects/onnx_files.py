"""Where the ONNX file of a subject lies: beside its spec, or made by the zoo and remembered on disk by content."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade.core.errors import FaultError
from labgrade.files.cache import Cache, key_of
from labgrade.files.external_data import files_beside

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from labgrade.core.task import SubjectSpec

    # Has a file written: where, and which subject, as plain data.
    Make = Callable[[Path, Mapping[str, Any]], None]


class OnnxFiles:
    """The files of subjects. `versions` are those of the libraries that a made file depends on."""

    def __init__(self, folder: Path, versions: Mapping[str, str], make: Make) -> None:
        self._cache = Cache(folder)
        self._versions = versions
        self._make = make
        self._sources: dict[str, list[str]] = {}  # digests by model
        self._digests: dict[tuple[str, int, int], str] = {}

    def path(self, subject: SubjectSpec, plain: Mapping[str, Any]) -> Path:
        """Return a subject's file, made if necessary. `plain` is the subject as the zoo takes it.

        Raises:
            FaultError: it can't be made.
            OSError: it can't be written.
        """
        if subject.file:
            return Path(subject.file)
        name = subject.short_name
        place = self._cache.get(self.key(subject, plain), lambda folder: self._make(folder / name, plain))
        if not (place / name).is_file():
            message = f"the file of '{name}' could not be made in {place}"
            raise FaultError(message)
        return place / name

    def key(self, subject: SubjectSpec, plain: Mapping[str, Any]) -> str:
        """Return what a subject's file depends on: its content, or what it is made from."""
        if subject.file:
            return self._digest(Path(subject.file))
        if subject.model not in self._sources:
            from labgrade.subjects import onnx_export

            files = map(Path, onnx_export.sources(subject.model))
            self._sources[subject.model] = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
        return key_of(plain, self._sources[subject.model], self._versions)

    def _digest(self, path: Path) -> str:
        known = (str(path), path.stat().st_size, path.stat().st_mtime_ns)
        if known not in self._digests:
            digest = hashlib.sha256()
            for file in (path, *files_beside(path).values()):
                with file.open("rb") as reader:
                    digest.update(hashlib.file_digest(reader, "sha256").digest())
            self._digests[known] = digest.hexdigest()
        return self._digests[known]


def external_data(file: Path) -> set[str]:
    """Return the names of an ONNX file's external data."""
    import onnx
    from onnx.external_data_helper import uses_external_data

    model = onnx.load(str(file), load_external_data=False)
    tensors = [tensor for tensor in model.graph.initializer if uses_external_data(tensor)]
    return {entry.value for tensor in tensors for entry in tensor.external_data if entry.key == "location"}
