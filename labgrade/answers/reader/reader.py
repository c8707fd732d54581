"""The grader's end of the reader: each thing is read once of a hand-in, in a jail, with limits for the hand-in."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from labgrade.answers.near_miss import Note
from labgrade.answers.reader.asks import Ask, is_of_nothing, perform
from labgrade.answers.reader.replies import GarbledReplyError, array, decode, encode
from labgrade.answers.reading.lines import Line
from labgrade.answers.reading.markup import is_converted
from labgrade.answers.reports import find_reports
from labgrade.answers.text import Seen
from labgrade.core.errors import FaultError
from labgrade.core.results import Answer, NoAnswer
from labgrade.core.task import FileForm, Limits, TextForm
from labgrade.cpp.explain import NOTHING
from labgrade.sandbox.requests import ReadRequest
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from labgrade.core.results import Execution, Submission
    from labgrade.core.task import Form
    from labgrade.cpp.explain import Found
    from labgrade.sandbox.runner import Runner

LIMITS = Limits(seconds=5, memory=512 << 20)
_MOST_GIVEN_UP = 3  # places that take too long; what else such a hand-in holds is not read either
_REMEMBERED = 4  # hand-ins, and what programs printed
_WHY = {
    "timeout": f"it takes more than {LIMITS.seconds:g} s of computing to read",
    "memory": f"it takes more than {LIMITS.memory >> 20} MiB of memory to read",
}
# No student's code runs there, so that nobody but a busy machine keeps it waiting.
_OURS = {"fault", "waited"}
_STARVED = "it is nested too deeply, or takes more memory than there is"
_BROKE = "what reads it broke off"
_FORGED = "what read it sent no reply"
_NONE = type(None)
_REPLIES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("value", "stray", "printed", "returned"), (Answer, NoAnswer, _NONE)),
    **dict.fromkeys(("notes", "passages", "lines", "mentions", "around", "tables", "code", *NOTHING), (tuple,)),
    "seen": (Seen, _NONE),
    "present": (bool,),
    "image": (str,),
    "markdown": (str, NoAnswer),
    "picture": (object,),  # an array, of a type that is not loaded here
}
_Key: TypeAlias = "tuple[str, tuple[str, ...]]"


class _Known:
    """What is known of one hand-in, and what else will be asked; one thread reads it at a time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.replies: dict[str, object] = {}
        self.expected: dict[str, dict[str, Ask]] = {}

    def along_with(self, name: str) -> dict[str, Ask]:
        """Return the asks, not yet known, to be read together with this one."""
        found = self.expected.pop("", {})
        for together in [each for each, asks in self.expected.items() if name in asks]:
            found |= self.expected.pop(together)
        return {other: ask for other, ask in found.items() if other not in self.replies}


class Reader:
    """Reads hand-ins in a jail of `runner`; without one in this process, as tests may."""

    def __init__(self, runner: Runner | None) -> None:
        self._runner = runner
        self._lock = threading.Lock()
        self._known: OrderedDict[_Key, _Known] = OrderedDict()

    def forget(self) -> None:
        """Free all that was read."""
        with self._lock:
            self._known.clear()

    def expect(self, submission: Submission, asks: Mapping[str, Ask], together: str = "") -> None:
        """Have these asks, `by_name`, read along with the first ask about this hand-in.

        `together`: with the first ask among all that were expected under this word.
        """
        if self._runner is not None and asks:
            known = self._of(submission)
            with known.lock:
                known.expected.setdefault(together, {}).update(asks)

    def ask(self, submission: Submission, ask: Ask) -> Any:
        """Return the reply. What can't be read within the limits is wrong or empty, with the reason; never a fault.

        Raises:
            FaultError: labgrade's own code failed, or the sandbox did.
        """
        if self._runner is None:
            return perform(ask, submission)
        if is_of_nothing(ask, submission):
            return None
        known, name = self._of(submission), _said(ask)
        with known.lock:
            if name not in known.replies:
                along = known.along_with(name).items()
                wanted = {name: ask, **{own: each for own, each in along if not is_of_nothing(each, submission)}}
                replies = _Reading(self._runner, submission, wanted).replies()
                known.replies |= zip(wanted, replies, strict=True)
            reply = known.replies[name]
        if isinstance(reply, FaultError):
            raise reply
        return reply

    def once(self, submission: Submission, ask: Ask) -> Any:
        """Return the reply as `ask`, but don't remember it: nobody asks again."""
        if self._runner is None:
            return perform(ask, submission)
        (reply,) = _Reading(self._runner, submission, {_said(ask): ask}).replies()
        if isinstance(reply, FaultError):
            raise reply
        return reply

    def explain(self, found: Found, submission: Submission, said: str) -> tuple[str, ...]:
        """Return the explanation of a log, a crash or C++ sources (`cpp.explain`); empty if they can't be read."""
        reply = self.once(submission, Ask(wanted=found, about=said))
        if reply and [*map(type, reply)] != [str] * len(NOTHING[found]):
            raise FaultError(_FORGED)
        return tuple(reply)

    def _of(self, submission: Submission) -> _Known:
        key = (str(submission.folder), submission.files)
        with self._lock:
            known = self._known.setdefault(key, _Known())
            self._known.move_to_end(key)
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
            return known


def by_name(asks: Iterable[Ask]) -> dict[str, Ask]:
    """Return the asks by the keys under which `Reader` knows them."""
    return {_said(ask): ask for ask in asks}


def _said(ask: Ask) -> str:
    """Return the text by which an ask is sent; no other ask has the same."""
    return encode(ask)[0].decode()


class _Reading:
    """All that is wanted of one hand-in. An ask that an accident may have ended is tried once more."""

    def __init__(self, runner: Runner, submission: Submission, asks: Mapping[str, Ask]) -> None:
        self._runner, self._submission, self._said, self._asks = runner, submission, [*asks], [*asks.values()]
        self._replies: dict[int, object] = {}

    def replies(self) -> list[object]:
        """Return a reply for each ask; a FaultError for those at which labgrade failed."""
        tried, given_up = -1, 0
        while waiting := [place for place in range(len(self._asks)) if place not in self._replies]:
            done = self._read(waiting)
            if done.status in _OURS:
                self._replies |= dict.fromkeys(waiting, FaultError(done.reason))
                break
            frames = done.value if isinstance(done.value, list) else []
            for place, frame in zip(waiting, frames, strict=False):
                self._replies[place] = self._reply(self._asks[place], frame)
            if len(frames) < len(waiting):
                ended_at = waiting[len(frames)]
                if ended_at == tried or done.status in _WHY:
                    given_up += 1
                    self._give_up(ended_at, _WHY.get(done.status, _BROKE), everywhere=given_up == _MOST_GIVEN_UP)
                tried = ended_at
        return [self._replies[place] for place in range(len(self._asks))]

    def _read(self, waiting: list[int]) -> Execution:
        request = ReadRequest(
            folder=self._submission.folder,
            files=self._submission.files,
            asks=tuple(self._said[place] for place in waiting),
            limits=LIMITS,
        )
        return self._runner.read(request)

    def _reply(self, ask: Ask, frame: Any) -> object:
        try:
            match frame:
                case {"event": "read", "data": data, "arrays": list(parts)}:
                    arrays = [array(dtype, shape, raw) for dtype, shape, raw in parts]
                    reply = decode(data.tobytes(), arrays, self._submission.folder, self._submission.files)
                    return reply if isinstance(reply, _REPLIES[ask.wanted]) else FaultError(_FORGED)
                case {"event": "broke", "problem": str(problem)}:
                    return FaultError(f"reading it failed: {problem}")
                case {"event": "starved"}:
                    return self._unread(ask, _STARVED)
                case {"event": "large", "bytes": int(size)}:
                    return self._unread(ask, f"what was read in it takes {size / 1e6:,.0f} MB; hand in less")
        except (GarbledReplyError, ValueError, AttributeError) as error:
            return FaultError(f"{_FORGED}: {error}")
        return FaultError(_FORGED)

    def _give_up(self, ended_at: int, why: str, *, everywhere: bool) -> None:
        """Give up all asks for the same place, or the hand-in."""
        place = self._asks[ended_at].place
        for number, ask in enumerate(self._asks):
            if everywhere or ask.place == place:
                self._replies.setdefault(number, self._unread(ask, why))

    def _unread(self, ask: Ask, why: str) -> object:
        """Return the reply where a place can't be read; what another program wrote a person looks at."""
        reply = _unread(ask, why)
        if not isinstance(reply, NoAnswer) or not ask.forms:
            return reply
        return replace(reply, lossy=any(map(is_converted, _read_for(ask.forms[0], self._submission))))


def _read_for(form: Form, submission: Submission) -> Sequence[str]:
    """Return the documents in which a form looks."""
    if isinstance(form, FileForm):
        return (form.pattern,)
    if isinstance(form, TextForm):
        return (form.file,) if form.file is not None else find_reports(submission)
    return ()


def _unread(ask: Ask, why: str) -> object:
    """Return the reply where a place can't be read; a person looks at what another program wrote."""
    if ask.wanted in {"lines", "mentions", "around"}:
        return (Line(place=ask.place, number=0, unread=why),)
    if ask.wanted == "notes":
        return (Note(text=f"{ask.place} can't be read: {why}", unread=True),)
    if ask.wanted in {"passages", "tables", "code", *NOTHING}:
        return ()
    if ask.wanted == "seen":
        return None
    if ask.wanted == "image":
        return ""  # a person looks at it
    if ask.wanted == "present":
        return True  # calling it tells the rest
    form = ask.forms[0] if ask.forms else None
    if isinstance(form, TextForm) and form.find is not None:  # the author's pattern may be what takes so long
        return FaultError(f"'{form.find}' was not found in {ask.place}: {why}")
    # What a limit cut off is no wrong answer, and on another day it may be read: a person looks.
    return NoAnswer(verdict=without_value(Outcome.MANUAL, f"{ask.place} can't be read: {why}"), origin=ask.place)
