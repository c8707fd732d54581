"""Whose code is nearly the same, whatever its names are: evidence to look at side by side, never a verdict.

Code is read in the reader's jail, which gives tokens. copydetect compares them by winnowing (Schleimer, Wilkerson and
Aiken, "Winnowing: local algorithms for document fingerprinting", SIGMOD 2003). What many have, or what was handed out,
counts for nothing.
"""

from __future__ import annotations

import io
import itertools
import threading
from collections import Counter, defaultdict
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from labgrade.answers.reader.asks import Ask
from labgrade.answers.rendering import CODE, LARGEST_CODE, CodeFile
from labgrade.core.errors import FaultError, UsageError
from labgrade.desk.sanitise import ask_reader
from labgrade.ledger import read
from labgrade.ledger.database import Ledger
from labgrade.submissions import find

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from labgrade.sandbox.runner import Runner

GRAM, WINDOW = 24, 8  # signs of the shortest passage that counts, and how many of these one is chosen from
_LEAST = 120  # signs that two have in common; fewer are the same by chance
_SHARE = 0.6  # of the shorter one's own code
_MOST_SHOWN = 40
_MOST_FILES = 60  # of a hand-in


@dataclass(frozen=True, slots=True, kw_only=True)
class AlikeFiles:
    """Two files with passages in common: `lines` of each that belong to them."""

    files: tuple[CodeFile, CodeFile]
    lines: tuple[frozenset[int], frozenset[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlikeCode:
    """Two hand-ins with common code. `share`: how much of the smaller one's code the other has, too."""

    names: tuple[str, str]
    share: float
    pairs: tuple[AlikeFiles, ...]

    @property
    def lines(self) -> int:
        """Count the lines of the first that are in the second."""
        return sum(len(pair.lines[0]) for pair in self.pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchState:
    """The state of the search. `done` of `of` hand-ins were read; `says`: why it stopped, or ""."""

    done: int = 0
    of: int = 0
    over: bool = False
    says: str = ""
    found: tuple[AlikeCode, ...] = ()


class AlikeSearch:
    """Searches a class for similar code in its own thread, which starts at the first question."""

    def __init__(self, results: Path, runner: Runner | None, scratch: Path, handed_out: Path | None = None) -> None:
        self._results, self._runner, self._scratch, self._handed_out = results, runner, scratch, handed_out
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._looked = SearchState()

    def looked(self) -> SearchState:
        """Return the state of the search, and start it the first time."""
        if self._runner is None:
            return SearchState(over=True)
        with self._lock:
            if self._thread is None:
                if find_spec("copydetect") is None or find_spec("pygments") is None:
                    return SearchState(over=True, says="code is compared where labgrade[alike] is installed")
                self._thread = threading.Thread(target=self._look, daemon=True)
                self._thread.start()
            return self._looked

    def close(self) -> None:
        """Stop the search, and wait for what is under way."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _look(self) -> None:
        try:
            self._looked = self._all()
        except (UsageError, FaultError, OSError) as error:
            self._looked = SearchState(
                over=True, says=f"the code that was handed in is not where it was graded: {error}"
            )

    def _all(self) -> SearchState:
        known: dict[str, tuple[CodeFile, ...]] = {}
        sources = self._sources()
        of, unread = sum(map(len, sources.values())), 0
        for number, (source, names) in enumerate(sources.items()):
            store = self._scratch / str(number)
            taken = find.find(Path(source), names, store, opening=self._runner.open)  # type: ignore[union-attr]
            for each in taken.submissions:
                if self._stop.is_set():
                    return SearchState()
                code = self._code(each.folder, each.files) if _is_little(each.folder, each.files) else None
                unread += code is None
                known[each.name] = code or ()
                self._looked = SearchState(done=len(known), of=of)
        given = self._code(self._handed_out, _files(self._handed_out)) if self._handed_out is not None else ()
        says = f"the code of {unread} is too much, or could not be read" if unread else ""
        return SearchState(done=len(known), of=of, over=True, says=says, found=alike(known, given or ()))

    def _sources(self) -> Mapping[str, list[str]]:
        """Return the submissions by the folder or archive from which they were graded."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        with Ledger(self._results) as ledger:
            asked = read.run_requests(ledger)
            for name, run in sorted(read.handed_in(ledger).items()):
                found[asked.get(run, {}).get("source", "")].append(name)
        found.pop("", None)
        return found

    def _code(self, folder: Path, files: Sequence[str]) -> tuple[CodeFile, ...] | None:
        if self._runner is None or not any(PurePosixPath(each).suffix.lower() in CODE for each in files):
            return ()
        reply = ask_reader(self._runner, folder, files, Ask(wanted="code"))
        whole = isinstance(reply, tuple) and all(isinstance(each, CodeFile) for each in reply)
        return reply if whole and all(_fits(each) for each in reply) else None


def _fits(code: CodeFile) -> bool:
    """Return whether a reply is well formed: a process that reads hostile files may send anything."""
    texts = all(isinstance(each, str) for each in (code.path, code.text, code.tokens))
    lines = isinstance(code.lines, tuple) and all(type(each) is int for each in code.lines)
    return texts and lines and len(code.lines) == len(code.tokens)


def _is_little(folder: Path, files: Sequence[str]) -> bool:
    """Return whether a hand-in's code is small enough to be compared file by file."""
    own = [each for each in files if PurePosixPath(each).suffix.lower() in CODE]
    return len(own) <= _MOST_FILES and sum((folder / each).stat().st_size for each in own) <= LARGEST_CODE


def _files(folder: Path | None) -> list[str]:
    found = folder.rglob("*") if folder is not None else ()
    return sorted(each.relative_to(folder).as_posix() for each in found if each.is_file()) if folder else []


# ---- comparing -------------------------------------------------------------------------------------------------


def alike(class_code: Mapping[str, Sequence[CodeFile]], handed_out: Sequence[CodeFile] = ()) -> tuple[AlikeCode, ...]:
    """The pairs of hand-ins with nearly the same code, those with the largest share first.

    `handed_out` is no student's own, nor is what more than half of the class has; where it is not known what was
    handed out, what more than a tenth has (and more than three).
    """
    prints = {name: [_fingerprint(code, WINDOW) for code in own if _is_long(code)] for name, own in class_code.items()}
    held: Counter[int] = Counter()
    for own in prints.values():
        held.update(set().union(*(each.hashes for each in own)))
    given = set().union(*(_fingerprint(code, 1).hashes for code in handed_out if _is_long(code)))
    most = len(prints) // 2 if handed_out else max(read.FEW, len(prints) // 10)
    for own in prints.values():
        for each in own:
            _remove_passages(each, {one for one in each.hashes if held[one] > most or one in given})
    found = [made for one, other in _candidates(prints) if (made := _compared((one, other), prints, class_code))]
    return tuple(sorted(found, key=lambda each: (-each.share, each.names))[:_MOST_SHOWN])


def _is_long(code: CodeFile) -> bool:
    return len(code.tokens) >= GRAM + WINDOW


def _fingerprint(code: CodeFile, window: int) -> Any:
    from copydetect import CodeFingerprint

    return CodeFingerprint(code.path, GRAM, window, filter=False, fp=io.StringIO(code.tokens))


def _remove_passages(each: Any, common: set[int]) -> None:
    """Leave these passages out of a fingerprint."""
    from copydetect.utils import get_token_coverage

    each.hashes -= common
    for one in common:
        del each.hash_idx[one]
    each.token_coverage = int(get_token_coverage(each.hash_idx, GRAM, len(each.filtered_code)))


def _candidates(prints: Mapping[str, Sequence[Any]]) -> Iterator[tuple[str, str]]:
    """Yield pairs with any common passage."""
    holders: defaultdict[int, set[str]] = defaultdict(set)
    for name, own in prints.items():
        for each in own:
            for one in each.hashes:
                holders[one].add(name)
    pairs = {pair for whose in holders.values() for pair in itertools.combinations(sorted(whose), 2)}
    return iter(sorted(pairs))


def _compared(
    names: tuple[str, str], prints: Mapping[str, Sequence[Any]], class_code: Mapping[str, Sequence[CodeFile]]
) -> AlikeCode | None:
    """Compare two hand-ins: each file of the first with the file of the second that shares most of it."""
    from copydetect import compare_files

    code = {(name, each.path): each for name in names for each in class_code[name]}
    pairs, common = [], 0
    for one in prints[names[0]]:
        best = max(((compare_files(one, other), other) for other in prints[names[1]]), key=lambda row: row[0][0])
        (signs, _, slices), other = best
        if signs:
            files = (code[names[0], one.filename], code[names[1], other.filename])
            lines = (_lines(files[0], slices[0]), _lines(files[1], slices[1]))
            pairs.append(AlikeFiles(files=files, lines=lines))
            common += int(signs)
    least = min(sum(each.token_coverage for each in prints[name]) for name in names)
    share = min(1.0, common / least) if least else 0.0
    if common < _LEAST or share < _SHARE:
        return None
    return AlikeCode(names=names, share=share, pairs=tuple(pairs))


def _lines(code: CodeFile, slices: Any) -> frozenset[int]:
    return frozenset(line for start, end in zip(*slices, strict=True) for line in code.lines[int(start) : int(end)])
