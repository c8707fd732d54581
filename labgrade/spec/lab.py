"""When a lab is due and what handing in later costs, as its lab.yaml says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from labgrade.core import git_address
from labgrade.core.errors import SpecFinding
from labgrade.spec.kinds import FLAG, HIDDEN_POINTS, OTHERS, PACKAGES, POINTS, TEXT, UNTOLD, Kind, Word, ref

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.core.task import Schema
    from labgrade.files.yaml import Loaded

_MOMENT = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[T ](?P<time>\d\d:\d\d(?::\d\d)?)(?:(?P<offset>Z|[+-]\d\d:\d\d)| (?P<zone>[A-Za-z]\S*))?"
)
_SPAN = re.compile(r"(?P<number>\d{1,5}(?:\.\d{1,2})?) ?(?P<unit>min|minutes?|h|hours?|d|days?|weeks?)")
_MINUTES = {"min": 1, "minute": 1, "h": 60, "hour": 60, "d": 1440, "day": 1440, "week": 10080}
_SHARE = re.compile(r"(?P<number>\d{1,3}(?:\.\d{1,4})?) ?%")
_DAY = timedelta(days=1)
_ALL = 100
_SHARE_WORD: Schema = {"title": "a share such as '10 %'", "pattern": r"^\d{1,3}(\.\d{1,4})? ?%$"}
SPAN_LIKE = "a span such as '15 min', '2 h' or '1 day'"
MOMENT_LIKE = "a moment such as 2026-11-20T23:59+08:00, or 2026-11-20T23:59 Asia/Taipei"
DUE: Schema = {"type": "string", "title": f"'due' ({MOMENT_LIKE})", "minLength": 1}
LATE: Schema = {
    "title": "late",
    "type": "object",
    "additionalProperties": False,
    "required": ["per_day"],
    "properties": {
        "per_day": {**_SHARE_WORD, "description": "Deducted for each day that has begun since the lab was due."},
        "of": {
            "title": "of",
            "enum": ["points", "earned"],
            "description": "Of the lab's points, or of those earned.",
        },
        "cap": {**_SHARE_WORD, "description": "Never more than this is deducted."},
        "after_cap": {
            "title": "after_cap",
            "enum": ["stays", "nothing"],
            "description": "Once the days come to more than the cap: it stays, or nothing is earned any more.",
        },
        "grace": {
            "title": SPAN_LIKE,
            "pattern": r"^\d{1,5}(\.\d{1,2})? ?(min|minutes?|h|hours?|d|days?|weeks?)$",
            "description": "For so long after the deadline nothing is late.",
        },
    },
}
_PART: Schema = {"type": "string", "minLength": 1}
COLLECT: Schema = {
    "title": "collect",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "repository": {
            "title": "an address of repositories such as 'ssh://git@gitlab.example.edu/nn26/{login}/lab2.git'",
            "type": "string",
            "minLength": 1,
            "description": "Where each student's repository is: {login}, {id}, {group} and {lab} are filled in.",
        },
        "branch": {**_PART, "description": "The branch that counts; else the server's own choice."},
        "folder": {**_PART, "description": "The folder of the repository that holds this lab; else all of it."},
        "template": {**_PART, "description": "The repository that students began from; its commits are no work."},
        "forge": {
            "title": "forge",
            "enum": ["gitlab", "github"],
            "description": "The server's API is asked when branches were pushed to, and who else may read.",
        },
        "api": {**_PART, "description": "Where that API is, if not where repositories are: `https://git.example.edu`."},
        "document": {**_PART, "description": "A file of the repository that holds the link of the report."},
        "hosts": {
            "type": "array",
            "items": _PART,
            "description": "The only hosts that links may name, and to which a download may be sent on.",
        },
        "local": {"type": "boolean", "description": "Links may lead into the local network."},
        "download": {**_PART, "description": "What is put behind a link to get Markdown: `/download`."},
    },
}

WORDS = (
    Word("title", TEXT, "What the lab is called, in a line.", required=True),
    Word("course", TEXT, "The course that it belongs to, for the heads of pages."),
    Word("limits", OTHERS, "What students' code may use, unless a task says."),
    Word("environment", OTHERS, "Set before students' code begins."),
    Word("packages", PACKAGES, "What its tasks need of pip."),
    Word("due", Kind(DUE), "When the lab is due, with a time zone."),
    Word("late", Kind(LATE), "What it costs to hand in later."),
    Word("collect", Kind(COLLECT), "Where students' repositories are, and which commit counts.", for_staff=True),
    Word("on_request", FLAG, "Graded only where the lab or a task of it is named."),
    Word(
        HIDDEN_POINTS,
        Kind({"title": HIDDEN_POINTS, "anyOf": [{"enum": [UNTOLD]}, POINTS.schema]}),
        "`secret`: students don't see what hidden checks are worth, or what they earned there. In a kit: what the "
        "tasks are worth that it leaves out.",
    ),
    Word("install", TEXT, "The line by which students install labgrade."),
    Word("hand_in", ref("hand_in"), "How its tasks are handed in, unless one says."),
)  # of lab.yaml; a row of `language.WORDS`


@dataclass(frozen=True, slots=True, kw_only=True)
class LateRule:
    """The cost of being late, in shares of 1, and the grace after which it begins."""

    per_day: Fraction
    of: Literal["points", "earned"] = "points"
    cap: Fraction = Fraction(1)
    after_cap: Literal["stays", "nothing"] = "stays"
    grace: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """When a lab is due, in its own time zone, and the late rule; without one, lateness is only reported."""

    lab: str
    due: datetime
    rule: LateRule | None = None


_YEARS = range(2000, 2100)  # of courses: 1026 is a slip


class NoMomentError(ValueError):
    """The text is no moment; the message says what is wrong and what to write."""


def parse_moment(text: str) -> datetime:
    """The moment that `2026-11-20T23:59+08:00` or `2026-11-20T23:59 Asia/Taipei` means.

    Raises:
        NoMomentError: it is none: no time zone, no such day, an hour that a change of clocks leaves out or repeats.
    """
    text = text.strip()
    match = _MOMENT.fullmatch(text)
    if match is None:
        message = f"'{text}' is not {MOMENT_LIKE}"
        raise NoMomentError(message)
    if not match["offset"] and not match["zone"]:
        message = f"'{text}' has no time zone; write {text}+08:00, or a place as in '{text} Asia/Taipei'"
        raise NoMomentError(message)
    try:
        plain = datetime.fromisoformat(f"{match['day']}T{match['time']}{match['offset'] or ''}")
    except ValueError as error:
        message = f"'{text}' is no moment: {error}"
        raise NoMomentError(message) from None
    if plain.year not in _YEARS:
        message = f"'{text}' is in the year {plain.year}; one from {_YEARS[0]} to {_YEARS[-1]} is meant"
        raise NoMomentError(message)
    return plain if match["offset"] else _in_zone(plain, match["zone"])


def _in_zone(plain: datetime, name: str) -> datetime:
    import zoneinfo

    try:
        zone: tzinfo = zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        message = f"there is no time zone '{name}'; write a place such as Asia/Taipei, or an offset such as +08:00"
        raise NoMomentError(message) from None
    here = plain.replace(tzinfo=zone)
    later = plain.replace(tzinfo=zone, fold=1)
    if here.utcoffset() == later.utcoffset():
        return here
    exists = here.astimezone(UTC).astimezone(zone).replace(tzinfo=None) == plain
    offsets = " or ".join(str(each.isoformat())[-6:] for each in (here, later))
    what = "comes twice, as clocks are set back" if exists else "is left out, as clocks are set forward"
    message = f"in '{name}', {plain:%H:%M} of {plain:%Y-%m-%d} {what}; say which is meant by an offset: {offsets}"
    raise NoMomentError(message)


def parse_duration(text: str) -> timedelta | None:
    """The time that `15 min`, `2 h` or `3 days` takes; None of any other text.

    >>> span("1.5 h")
    datetime.timedelta(seconds=5400)
    """
    match = _SPAN.fullmatch(text.strip())
    if match is None:
        return None
    unit = match["unit"] if match["unit"] == "min" else match["unit"].removesuffix("s")
    microseconds = Fraction(match["number"]) * _MINUTES[unit] * 60_000_000
    return timedelta(microseconds=round(microseconds))


def extended(due: datetime, extension: timedelta | datetime | None) -> datetime:
    """Add an extension to a deadline; days follow the calendar of the deadline's time zone."""
    if extension is None:
        return due
    if isinstance(extension, datetime):
        return max(due, extension)
    whole = extension // _DAY
    moved = due + timedelta(days=whole)  # on the clock on the wall, also where clocks are changed in between
    rest = extension - whole * _DAY
    return moved if not rest else (moved.astimezone(UTC) + rest).astimezone(due.tzinfo)


def days_late(due: datetime, handed_in: datetime, grace: timedelta) -> int:
    """Count the days begun since a lab was due; 0 until the grace ends.

    A day ends at the time of day at which the lab was due, by the clock on the wall of its time zone.
    """
    late_by = handed_in.astimezone(UTC) - due.astimezone(UTC)
    if late_by <= max(grace, timedelta(0)):
        return 0
    days = max(1, late_by // _DAY)  # a first guess, of 24 hours each: the clock on the wall never counts fewer
    while (due + days * _DAY).astimezone(UTC) < handed_in.astimezone(UTC):
        days += 1
    return days


def last_moment(due: datetime, days: int, grace: timedelta) -> datetime:
    """Return the last moment that is so many days late: the inverse of `days_late`."""
    moved = (due + days * _DAY).astimezone(UTC)
    return max(moved, due.astimezone(UTC) + grace)


def cost(rule: LateRule | None, days: int) -> Fraction:
    """Return the share that is deducted after so many days; 0 without a rule."""
    return share(rule, days) if rule is not None else Fraction(0)


def share(rule: LateRule, days: int) -> Fraction:
    """Return the share that a rule deducts after so many days: at most the cap, or all if `after_cap` says so."""
    whole = rule.per_day * days
    if whole <= rule.cap:
        return whole
    return Fraction(1) if rule.after_cap == "nothing" else rule.cap


def findings(loaded: Loaded) -> list[SpecFinding]:
    """Find errors in a lab.yaml's `due` and `late` that the schema can't see."""
    data: Any = loaded.data
    return [] if not isinstance(data, dict) else list(_findings(loaded, data))


_PLACES = {
    "repository": git_address.problem,
    "template": git_address.problem,
    "branch": git_address.branch_problem,
    "folder": git_address.path_problem,
    "document": git_address.path_problem,
}


def _findings(loaded: Loaded, data: dict[str, Any]) -> Iterator[SpecFinding]:
    late, due = data.get("late"), data.get("due")
    if isinstance(due, str):
        try:
            parse_moment(due)
        except NoMomentError as error:
            yield SpecFinding(loaded.mark(("due",)), str(error))
    elif late is not None and due is None:
        yield SpecFinding(loaded.key_mark(("late",)), "'late' needs 'due': say when the lab is due")
    if isinstance(late, dict):
        yield from _rule_findings(loaded, late)
    collect = data.get("collect")
    for key, problem in _PLACES.items():
        if isinstance(collect, dict) and isinstance(text := collect.get(key), str) and (why := problem(text)):
            yield SpecFinding(loaded.mark(("collect", key)), why)


def _rule_findings(loaded: Loaded, late: dict[str, Any]) -> Iterator[SpecFinding]:
    for key, example in (("per_day", "10 %"), ("cap", "50 %"), ("grace", "15 min")):
        if key in late and not isinstance(late[key], str):
            yield SpecFinding(loaded.mark(("late", key)), f"'{key}' needs its unit: write it as in '{key}: {example}'")
    shares = {key: _percent(late[key]) for key in ("per_day", "cap") if isinstance(late.get(key), str)}
    for key, value in shares.items():
        if value is not None and value > 1:
            yield SpecFinding(loaded.mark(("late", key)), f"'{key}' is at most 100 %, not {late[key]}")
    per_day, cap = shares.get("per_day"), shares.get("cap")
    if per_day is not None and cap is not None and cap < per_day:
        message = f"the cap of {late['cap']} is less than a single day, {late['per_day']}"
        yield SpecFinding(loaded.mark(("late", "cap")), message)
    if "after_cap" in late and "cap" not in late:
        yield SpecFinding(loaded.key_mark(("late", "after_cap")), "'after_cap' needs a 'cap'")


def _percent(text: str) -> Fraction | None:
    match = _SHARE.fullmatch(text)
    return Fraction(match["number"]) / _ALL if match else None


def deadline(lab: str, data: Any) -> Deadline | None:
    """Return the deadline of a validated lab.yaml, or None."""
    if "due" not in data:
        return None
    late = data.get("late")
    rule = None
    if late is not None:
        rule = LateRule(
            per_day=_percent(late["per_day"]) or Fraction(0),
            of=late.get("of", "points"),
            cap=Fraction(1) if "cap" not in late else _percent(late["cap"]) or Fraction(0),
            after_cap=late.get("after_cap", "stays"),
            grace=parse_duration(late.get("grace", "")) or timedelta(0),
        )
    return Deadline(lab=lab, due=parse_moment(data["due"]), rule=rule)
