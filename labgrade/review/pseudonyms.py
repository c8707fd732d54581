"""Names in place of names: the same for a student in every report; only the key leads back."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING

from labgrade.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

    from labgrade.core.results import Report, SubmissionReport, TaskReport
    from labgrade.verdict import Verdict

FILE = "names.key"
_ASIDE = "names.key.off"
_BYTES = 32
_SHORTEST = 6  # characters of a pseudonym: 30 bits
OTHER = "another hand-in of the same people, which is kept back with their names"
WHEN = "handed in late; when is kept back with the name"


class Pseudonyms:
    """Pseudonyms of these submissions by one key; those that are `known` keep their names.

    They don't change when others come, but where two would be equal.
    """

    def __init__(self, key: bytes, names: Iterable[str], known: Collection[str] = ()) -> None:
        every, known = tuple(names), frozenset(known)
        # Where all are known there is nothing to tell apart.
        digests = {} if known.issuperset(every) else {name: _digest(key, name) for name in every}
        length = _SHORTEST
        while len({digest[:length] for digest in digests.values()}) < len(digests):
            length += 1
        digests = {name: digest for name, digest in digests.items() if name not in known}
        self._of = {name: f"student-{digest[:length]}" for name, digest in digests.items()}
        self._names = {pseudonym: name for name, pseudonym in self._of.items()}

    def of(self, name: str) -> str:
        """Return a submission's pseudonym."""
        return self._of.get(name, name)

    def name(self, said: str) -> str:
        """Return the submission behind a pseudonym; any other name stays as it is."""
        return self._names.get(said, said)


def _digest(key: bytes, name: str) -> str:
    mac = hmac.new(key, name.encode("utf-8", "surrogateescape"), hashlib.sha256).digest()
    return base64.b32encode(mac).decode("ascii").rstrip("=").lower()


def anonymised(report: Report, key: bytes, known: Collection[str] = ()) -> Report:
    """Replace names by pseudonyms, in an order that reveals nothing, and drop members and times.

    `known` are the submissions that keep their names, since they were released. A name that a student wrote into the
    work, or into a file's name, stays where it is.
    """
    pseudonyms = Pseudonyms(key, [each.name for each in report.submissions], known)
    hidden = [each for each in report.submissions if each.name not in known]
    hide = _hider(hidden, pseudonyms)
    unnamed = sorted((_unnamed(each, pseudonyms, hide) for each in hidden), key=lambda each: each.name)
    named = [_without_names(each, hide) for each in report.submissions if each.name in known]
    whose = {why for each in hidden for _, why in each.others}  # of a group, with its times
    told = (
        next((note.removesuffix(why) + OTHER for why in whose if note.endswith(why)), note) for note in report.notes
    )
    return replace(report, submissions=(*named, *unnamed), notes=tuple(map(hide, dict.fromkeys(told))))


def _without_names(each: SubmissionReport, hide: Callable[[str], str]) -> SubmissionReport:
    others = tuple((hide(name), hide(why)) for name, why in each.others)
    return replace(each, remarks=tuple(map(hide, each.remarks)), others=others)


def _unnamed(each: SubmissionReport, pseudonyms: Pseudonyms, hide: Callable[[str], str]) -> SubmissionReport:
    own = {remark: hide(remark) for remark in each.remarks if hide(remark) != remark}
    return replace(
        _without_names(each, hide),
        name=pseudonyms.of(each.name),
        tasks=tuple(_task(task, own) for task in each.tasks) if own else each.tasks,
        others=(("", OTHER),) if each.others else (),
        members=(),
        called=(),
        handed_in="",
        handed_in_by="",
        deductions=tuple(replace(cut, why=WHEN) for cut in each.deductions),
    )


def _task(task: TaskReport, said: Mapping[str, str]) -> TaskReport:
    """Apply `said` to every text of a task in which labgrade may quote a file's name."""

    def hide(text: str) -> str:
        for before, after in said.items():
            text = text.replace(before, after)
        return text

    def of(verdict: Verdict) -> Verdict:
        facts = {key: hide(value) for key, value in verdict.facts.items()}
        return replace(verdict, reason=hide(verdict.reason), hint=hide(verdict.hint), facts=facts)

    checks = (
        replace(each, verdict=of(each.verdict), once_met=each.once_met and of(each.once_met)) for each in task.checks
    )
    return replace(task, checks=tuple(checks))


def _hider(hidden: Iterable[SubmissionReport], pseudonyms: Pseudonyms) -> Callable[[str], str]:
    """Return a function that replaces names of submissions and members in labgrade's own texts."""
    called = {
        member: pseudonyms.of(each.name) for each in hidden for member in (*each.members, *each.called, each.name)
    }
    longest = sorted(filter(None, called), key=len, reverse=True)
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in longest) or r"(?!)")
    return lambda text: pattern.sub(lambda found: called[found[0]], text)


def key_of(results: Path) -> bytes | None:
    """The key of a folder of results; None where names are shown.

    Raises:
        UsageError: the key can't be read, or is none.
    """
    path = results / FILE
    try:
        text = path.read_text(encoding="ascii").strip()
        key = bytes.fromhex(text)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        message = f"'{path}' can't be read ({error}); without it nobody can tell which pseudonym is whose"
        raise UsageError(message) from error
    if len(key) != _BYTES:
        message = f"'{path}' is no key; put a backup in its place, or delete it to show names again"
        raise UsageError(message)
    return key


def make_key(results: Path) -> bytes:
    """The key of a folder of results, made where there is none: readable by its owner alone.

    Raises:
        UsageError: it can't be written.
    """
    key = key_of(results)
    if key is not None:
        return key
    aside = results / _ASIDE
    if aside.is_file():
        aside.rename(results / FILE)
        return key_of(results) or make_key(results)
    key = secrets.token_bytes(_BYTES)
    try:
        descriptor = os.open(results / FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        message = f"'{results / FILE}' could not be written: {error.strerror}"
        raise UsageError(message) from error
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(key.hex() + "\n")
    return key


def show_names(results: Path) -> None:
    """Show names again; the key is kept, so that pseudonyms stay the same if they are used again."""
    if (results / FILE).is_file():
        (results / FILE).replace(results / _ASIDE)
