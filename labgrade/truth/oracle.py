"""Expected values: computed by `reference/` in a process of their own, and remembered on disk by content.

A value is keyed by quantity, parameters, subject, the source that it depends on and the versions of the libraries. So
a corrected quantity is computed again, and a corrected typo in a statement is not; and a run on remembered values
imports neither torch nor onnx.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import subprocess
import tempfile
import threading
from collections import OrderedDict
from itertools import accumulate
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self, cast

from labgrade.core.by_identity import ByIdentity
from labgrade.core.errors import FaultError
from labgrade.core.subject import as_plain
from labgrade.files import process
from labgrade.files.cache import Cache, KeptArrays, PackedArrays, cache_folder, unpacked, version_of
from labgrade.subjects.onnx_files import OnnxFiles
from labgrade.truth.lent import Borrowed, answer
from labgrade.truth.parameters import parameters_of

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from labgrade.core.task import QuantityCall, SubjectSpec
    from labgrade.spec.registry import Entry, Registry

_LIBRARIES = ("torch", "torchvision", "onnx", "numpy")
_EXPORTERS = (*_LIBRARIES, "onnxscript")
# What was computed once students' code ran, mostly of small networks: a function is tried on hundreds, which are the
# same in a class, and wrong ones are wrong in the same ways. One file is read sooner than hundreds.
_LATER = "computed-late"
_ARRAYS = "arrays.npz"
_KILLED = (None, -9)  # how what was killed has ended; of a borrowed process nobody knows
_LARGEST, _MOST = 1_000_000, 5_000_000  # characters of one value, and of all together
_KEYS = 1024  # of values asked for: those of a lab's specs, and a submission's random networks
_AT_HAND = 128 << 20  # bytes of tensors: to read 10 MB again takes 10 ms, to compute those of a fresh input 100


# What a quantity of a network says, or what it imports: the network's module is had in no other way.
_NEEDS_TORCH = re.compile(rb"torch|\bon_meta\b|\bwith_weights\b")
# What the machine lacked at that time, as Python, the system and torch say it.
_TRANSIENT = re.compile(r"': (?:MemoryError|OSError):|allocate memory")


class _KilledError(FaultError):
    """The worker ended without a word: something killed it, perhaps the machine for want of memory."""


class _FailedError(FaultError):
    """The worker could not compute a quantity, and lives on."""


class Oracle:
    """Answers what a quantity is for a subject. Starts its worker when the first value is not remembered.

    Use as a context manager, so that the worker is stopped. Several threads may use one. `lender` gives the line to ask
    for a worker that has torch loaded already, or None; it is called when the first value is to be computed.
    """

    lender: Callable[[], socket.socket | None] | None = None

    def __init__(self, quantities: Registry, folder: Path | None = None) -> None:
        self._quantities = quantities
        self.memory = Cache((folder or cache_folder()) / "expected")
        self._versions = {name: version_of(name) for name in _LIBRARIES}
        made_by = {name: version_of(name) for name in _EXPORTERS}
        self._files = OnnxFiles((folder or cache_folder()) / "subjects", made_by, self._make)
        self._made_by = made_by
        self._passing: tuple[tempfile.TemporaryDirectory[str], OnnxFiles] | None = None
        self._digests: dict[Path, str] = {}  # of quantities, by their files
        self._imports: dict[Path, list[Path]] = {}
        self._keys = ByIdentity(self._key_of, _KEYS)
        self._known: dict[str, Any] = {}
        self._at_hand: OrderedDict[str, dict[str, NDArray[Any]]] = OrderedDict()  # those used last, unpacked
        self._worker: subprocess.Popen[bytes] | Borrowed | None = None
        self._is_light = False  # it was started without torch, and where it could have been borrowed with it
        self._of_networks: dict[Path, bool] = {}  # whether quantities need torch, by their files
        self._errors: IO[bytes]
        self._arrays: tempfile.TemporaryDirectory[str]  # where the worker leaves tensors, as long as it lives
        self._one_at_a_time = threading.RLock()  # the worker answers in the order in which it was asked
        self.computed = 0
        self.recalled = False
        self._later: dict[str, str] = {}  # as JSON: few of them are asked for
        self._new: dict[str, str] = {}
        self._failed: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the worker."""
        if self._passing is not None:
            self._passing[0].cleanup()
            self._passing = None
        if self._worker is not None:
            for stream in (self._worker.stdin, self._worker.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):  # of what a worker that is gone was asked
                        stream.close()
            self._worker.wait()
            self._errors.close()
            self._arrays.cleanup()
            self._worker = None

    def begin(self) -> None:
        """Start the worker where values will be needed: it loads torch meanwhile."""
        self._start()

    def value(self, call: QuantityCall, subject: SubjectSpec) -> object:
        """Return the plain value of a quantity for a subject; tensors come as a dict of numpy arrays.

        Raises:
            FaultError: the quantity could not be computed; names its file and line.
        """
        found = self._value(call, subject)
        return found * call.times if isinstance(found, int | float) and call.times != 1 else found

    def _value(self, call: QuantityCall, subject: SubjectSpec) -> object:
        with self._one_at_a_time:
            key = self._key(call, subject)
            if key not in self._at_hand:
                value = self._learnt(call, subject, key)
                if not isinstance(value, KeptArrays | PackedArrays):
                    return value
                try:
                    own = unpacked(value)
                except ValueError:  # remembered, and damaged or changed since
                    own = unpacked(self._computed(call, subject, key))
                self._at_hand[key] = cast("dict[str, NDArray[Any]]", own)
                while len(self._at_hand) > 1 and sum(map(_bytes, self._at_hand.values())) > _AT_HAND:
                    self._at_hand.popitem(last=False)
            self._at_hand.move_to_end(key)
            return self._at_hand[key]

    def value_if_any(self, call: QuantityCall, subject: SubjectSpec) -> object:
        """Return the value for a subject that nobody chose, or None; that there is none is remembered, too.

        Raises:
            FaultError: as `value`.
        """
        with self._one_at_a_time:
            key = f"!{self._key(call, subject)}"
            why = self._failed.get(key) or self._later.get(key)
            if why:
                raise FaultError(why)
            try:
                return self.value(call, subject)
            except _FailedError as error:
                if _TRANSIENT.search(str(error)):
                    raise
                self._failed[key] = str(error)
                if self.recalled:
                    self._new[key] = str(error)
                raise

    def learn(self, call: QuantityCall, subject: SubjectSpec) -> None:
        """Make sure that a value is known, without loading tensors.

        Raises:
            FaultError: as `value`.
        """
        with self._one_at_a_time:
            self._learnt(call, subject, self._key(call, subject))

    def _learnt(self, call: QuantityCall, subject: SubjectSpec, key: str) -> object:
        """Return the value under its key, known here or passed on by another process."""
        if key not in self._known and key in self._later:
            with contextlib.suppress(ValueError):  # damaged, and so that its digest does not show it
                self._known[key] = json.loads(self._later[key])
        if key not in self._known:
            remembered = None if self.recalled or subject.passing else self.memory.read_packed(key)
            if remembered is None:
                return self._computed(call, subject, key)
            self._known[key] = remembered[0]
        return self._known[key]

    def _computed(self, call: QuantityCall, subject: SubjectSpec, key: str) -> object:
        """Compute a value and remember it; tensors of a subject drawn at random are kept in memory alone."""
        value = self._compute(call, subject, key)
        if not (subject.passing and isinstance(value, PackedArrays)):
            self._known[key] = value
        return value

    def file(self, subject: SubjectSpec) -> Path:
        """Return the ONNX file of a subject, made first if needed, with its external data beside it.

        Raises:
            FaultError: it can't be made.
        """
        try:
            with self._one_at_a_time:
                return self._files_of(subject).path(subject, as_plain(subject))
        except OSError as error:
            message = f"the file of '{subject.short_name}' can't be had: {error}"
            raise FaultError(message) from error

    def _files_of(self, subject: SubjectSpec) -> OnnxFiles:
        if not subject.passing:
            return self._files
        if self._passing is None:
            folder = tempfile.TemporaryDirectory(prefix="labgrade-", ignore_cleanup_errors=True)
            self._passing = (folder, OnnxFiles(Path(folder.name), self._made_by, self._make))
        return self._passing[1]

    def _make(self, path: Path, plain: Mapping[str, Any]) -> None:
        reply = self._ask({"name": path.name, "make": str(path), "subject": plain})
        if "error" in reply:
            message = f"'{path.name}' could not be made: {reply['error']}"
            raise FaultError(message)

    def recall(self, wanted: Iterable[tuple[QuantityCall, SubjectSpec]]) -> None:
        """Load the remembered values, with those that earlier runs computed late.

        From now on nothing is read from disk: students' code may run.
        """
        match self.memory.read(_LATER):
            case (dict(later),):
                self._later = {key: text for key, text in later.items() if isinstance(text, str)}
        for call, subject in wanted:
            with contextlib.suppress(OSError):  # of the quantity's source, which is a fault of the check that needs it
                key = self._key(call, subject)
                remembered = self.memory.read_packed(key) if key not in self._known else None
                if remembered is not None:
                    self._known[key] = remembered[0]
        self.recalled = True

    def new(self) -> Mapping[str, str]:
        """Return what was computed since `recall` or the last call, as JSON by key, for `hear` of another process."""
        new, self._new = self._new, {}
        return new

    def hear(self, values: Mapping[str, str]) -> None:
        """Take over what another process of the run computed."""
        self._new |= values

    def keep(self) -> None:
        """Store what was computed since `recall` for the next run; older values as far as there is room."""
        if self.recalled and self._new.keys() - self._later.keys():
            both = {**self._new, **self._later}
            kept = zip(both, accumulate(map(len, both.values())), strict=True)
            self.memory.write(_LATER, {key: both[key] for key, size in kept if size <= _MOST})

    @property
    def values(self) -> Mapping[str, object]:
        """Return all known values by key, for `take_in` on another machine."""
        here = {}
        for key, value in self._known.items():
            with contextlib.suppress(ValueError):  # damaged meanwhile: computed there
                here[key] = value.read() if isinstance(value, KeptArrays) else value
        return here

    def take_in(self, values: Mapping[str, object]) -> None:
        """Use the values of another oracle with the same quantities, and read nothing from disk any more."""
        self._known |= values
        self.recalled = True

    def _key(self, call: QuantityCall, subject: SubjectSpec) -> str:
        changes = subject.file or any(isinstance(each, Path) for each in subject.arguments.values())
        return self._key_of(call, subject) if changes else self._keys(call, subject)  # a file may change meanwhile

    def _key_of(self, call: QuantityCall, subject: SubjectSpec) -> str:
        entry = self._quantities.get(call.quantity)
        if entry.file not in self._digests:
            from labgrade.subjects import models

            own = b"".join(path.read_bytes() for path in models.SOURCES)
            self._digests[entry.file] = entry.source_digest(self._imports) + hashlib.sha256(own).hexdigest()
        plain: object = as_plain(subject)
        if subject.is_onnx:
            plain = [plain, self._files.key(subject, as_plain(subject))]
        parameters = parameters_of(call, entry, subject)
        files = {name: _content(value) for name, value in parameters.items() if isinstance(value, Path)}
        meaning = [
            call.quantity,
            {**parameters, **files},
            plain,
            self._digests[entry.file],
            self._versions,
        ]
        return hashlib.sha256(json.dumps(meaning, sort_keys=True).encode()).hexdigest()

    def _compute(self, call: QuantityCall, subject: SubjectSpec, key: str) -> object:
        entry = self._quantities.get(call.quantity)
        self.computed += 1
        of = {"artifact": str(self.file(subject))} if subject.is_onnx else {"subject": as_plain(subject)}
        wanted = {
            "file": str(entry.file),
            "name": entry.name,
            "parameters": {name: _as_text(each) for name, each in parameters_of(call, entry, subject).items()},
            "arrays": _ARRAYS,
            **of,
        }
        reply = self._ask(wanted, light=not (subject.is_onnx or self._needs_torch(entry)))
        if "error" in reply:
            where = subject.model or subject.short_name
            message = f"the quantity '{call.quantity}' failed on '{where}': {reply['error']}"
            raise _FailedError(message)
        if not reply.get("arrays"):
            if not subject.passing:
                self.memory.write(key, reply["value"])
            if self.recalled and len(text := json.dumps(reply["value"])) <= _LARGEST:
                self._new[key] = text
            return reply["value"]
        arrays = Path(self._arrays.name, _ARRAYS)
        packed = PackedArrays(arrays.read_bytes())
        arrays.unlink()
        return packed if subject.passing else self.memory.write_arrays(key, packed)

    def _needs_torch(self, entry: Entry) -> bool:
        """Return whether a quantity may use torch, which takes longer to load than most values without a network."""
        if entry.file not in self._of_networks:
            sources = (file.read_bytes() for file in entry.sources(self._imports))
            self._of_networks[entry.file] = any(map(_NEEDS_TORCH.search, sources))
        return self._of_networks[entry.file]

    def _ask(self, request: dict[str, Any], *, light: bool = False) -> dict[str, Any]:
        """Return the worker's reply. Where something killed it, another worker is asked once."""
        try:
            return self._asked(self._start(light=light), request)
        except _KilledError:
            return self._asked(self._start(light=light), request)

    def _asked(self, worker: subprocess.Popen[bytes] | Borrowed, request: dict[str, Any]) -> dict[str, Any]:
        if "arrays" in request:
            request = {**request, "arrays": str(Path(self._arrays.name, request["arrays"]))}
        try:
            line = answer(worker, request)
        except BaseException:  # such as Ctrl-C: the next request would get the answer to this
            worker.kill()
            self.close()
            raise
        if not line.endswith(b"\n"):
            raise self._epitaph(worker, request["name"])
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _epitaph(self, worker: subprocess.Popen[bytes] | Borrowed, name: str) -> FaultError:
        """Describe how a worker died: its exit code and the last line of its stderr."""
        code = worker.wait()
        self._errors.seek(0)
        said = self._errors.read().decode("utf-8", "replace").strip().splitlines()[-1:]
        self.close()
        reason = f": {said[0]}" if said else ""
        how = "" if code is None else f" with code {code}"
        message = f"the process that computes ground truth ended{how} while computing '{name}'{reason}"
        return _KilledError(message) if code in _KILLED and not said else FaultError(message)

    def _start(self, *, light: bool = False) -> subprocess.Popen[bytes] | Borrowed:
        """Return the worker, started if needed; `light` is one without torch."""
        lost = self._worker is not None and self._worker.poll() is not None  # killed while nothing was asked of it
        if lost or (self._is_light and not light):
            self.close()
        if self._worker is None:
            self._is_light = light and self.lender is not None
            self._arrays = tempfile.TemporaryDirectory(prefix="labgrade-", ignore_cleanup_errors=True)
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the worker, closed with it
            self._worker = (None if light else self._borrowed()) or subprocess.Popen(  # noqa: S603 - our own
                process.command("labgrade.truth.worker"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=process.environment(PYTHONHASHSEED="0"),
            )
        return self._worker

    def _borrowed(self) -> Borrowed | None:
        line = self.lender() if self.lender is not None else None
        with contextlib.suppress(OSError):
            return None if line is None else Borrowed(line, self._errors.fileno())
        self.lender = None  # it is gone
        return None


def _bytes(arrays: Mapping[str, NDArray[Any]]) -> int:
    return sum(each.nbytes for each in arrays.values())


def _content(path: Path) -> list[str]:
    """Return what identifies a file: its content, not its place."""
    return [path.name, hashlib.sha256(path.read_bytes()).hexdigest()]


def _as_text(value: object) -> object:
    return str(value) if isinstance(value, Path) else value
