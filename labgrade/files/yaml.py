"""YAML 1.2 core schema -> plain data, with the place of every key and value.

PyYAML's default is YAML 1.1, in which `1e-3` is text, `2:4` is 124, `no` is false and `010` is 8. Here they are a
number, text, text and 10 (https://yaml.org/spec/1.2.2/#103-core-schema). A key that stands twice is an error. Tags,
anchors and merges are errors in what authors write; in what students hand in, which a program may have written
(`!!python/tuple`, `&id001`), a tag says nothing, an alias repeats its value, and a merge (`<<`) adds what is not there.
"""

from __future__ import annotations

import contextlib
import re
import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import yaml

from labgrade.core.errors import Mark, SpecError, SpecFinding
from labgrade.files import yaml_errors

if TYPE_CHECKING:
    from labgrade.core.task import Plain

Path: TypeAlias = "tuple[str | int, ...]"

_NULL = re.compile(r"null|Null|NULL|~|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_IMPLICIT_TAG = re.compile(r"tag:yaml\.org,2002:(map|seq|str|int|float|bool|null|timestamp|merge|value)")
_LONGEST_NUMBER = 400  # characters; longer ones stay text, so that no million-digit integer is ever built
_DEEPEST = 60
_MOST_VALUES = 100_000
_MERGE = "<<"
_LONGEST_TO_EXPLAIN = 20_000  # characters, on which the slow parser spends under a second
_QUICK: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Where libyaml is more lenient than Python's parser: tabs, byte order marks, a comment at once behind `|` or `>`.
_READ_OTHERWISE = re.compile(r"[\t\ufeff]|[|>][-+0-9]*#")
_NEXT_GROUP = re.compile(r"[0-9]+(?:\.[0-9]+)*(?: ?[A-Za-z]{1,10})?[)\]]?")
_FIRST_GROUP = re.compile(r"[-+([]?[0-9]+(?:\.[0-9]+)*")
CUT = "a comma ends a value inside { }: quote the number or write it without commas"


@dataclass(frozen=True, slots=True)
class Loaded:
    """Plain data with, for each path into it, where its key and its value stand and how a scalar was written.

    `cut` has what commas cut up, as it was written: `{total: 6,624,904}`, `{total: 26,5 MB}`, `{shape: (3, 1000)}`;
    `twice` where a student gave a key a second time, with another value, of which the first is kept.
    """

    data: Plain
    file: str
    values: dict[Path, Mark] = field(default_factory=dict)
    keys: dict[Path, Mark] = field(default_factory=dict)
    sources: dict[Path, str] = field(default_factory=dict)
    cut: dict[Path, str] = field(default_factory=dict)
    twice: dict[Path, Mark] = field(default_factory=dict)

    def mark(self, path: Path) -> Mark:
        """Return the place of the value at `path`, or of the nearest value around it."""
        while path not in self.values and path:
            path = path[:-1]
        return self.values.get(path, Mark(self.file, 1, 1))

    def key_mark(self, path: Path) -> Mark:
        """Return the place of the key at the end of `path`, or of its value."""
        return self.keys.get(path) or self.mark(path)


def load(text: str, file: str) -> Loaded:
    """Parse one YAML document of an author's or the grader's.

    By libyaml where both parsers are sure to agree: five times as fast. Else Python's has the word, and every message.

    Raises:
        SpecError: with every finding: a syntax error, a duplicate key, a tag, an anchor.
    """
    if _QUICK is not yaml.SafeLoader and not _READ_OTHERWISE.search(text):
        with contextlib.suppress(SpecError):
            return _load(text, file, _Careful, None)
    return _load(text, file, yaml.SafeLoader, None)


def load_untrusted(text: str, file: str) -> Loaded:
    """Parse one YAML document of a student's, by libyaml where it is there: eight times as fast.

    The words for an error are those of `load`, which also says what is wrong in a text that is not too long.

    Raises:
        SpecError: as `load`, and where there are more than 100,000 values, repeated ones counted; tags and anchors
            are none.
    """
    try:
        return _load(text, file, _QUICK, _MOST_VALUES)
    except SpecError:
        if len(text) > _LONGEST_TO_EXPLAIN or _QUICK is yaml.SafeLoader:
            raise
        _load(text, file, yaml.SafeLoader, _MOST_VALUES)
        raise


def _load(text: str, file: str, loader: type[Any], most: int | None) -> Loaded:
    try:
        builder = _Builder(loader(text), file, most)
        data = builder.document()
    except yaml.MarkedYAMLError as error:
        raise SpecError([yaml_errors.finding(error, text, file)]) from None
    except yaml.reader.ReaderError as error:
        before = text[: error.position].splitlines() or [""]
        place = Mark(file, len(before), len(before[-1]) + 1)
        raise SpecError([SpecFinding(place, "a control character stands here; remove it")]) from None
    except UnicodeEncodeError:
        raise SpecError([SpecFinding(Mark(file, 1, 1), "half of a character stands in this text")]) from None
    if builder.findings:
        raise SpecError(builder.findings)
    return replace(builder.out, data=data)


class _Careful(_QUICK):  # type: ignore[misc]
    """Gives libyaml's events up to the first that Python's parser may see differently."""

    def get_event(self) -> Any:
        event = super().get_event()
        # The place of a value of which nothing stands there; a `?` within { }, which Python's parser does not take.
        if isinstance(event, yaml.ScalarEvent) and not event.style and (not event.value or "?" in event.value):
            raise yaml.MarkedYAMLError(problem_mark=cast("Any", event).start_mark)
        return event


class _Builder:
    """Builds plain data from a parser's events, without a tree of nodes; stops if it is too deep or too large."""

    def __init__(self, parser: Any, file: str, most: int | None) -> None:
        self.out = Loaded(None, file)
        self.findings: list[SpecFinding] = []
        self._next = parser.get_event
        self._lenient = most is not None
        self._anchors: dict[str, tuple[Path, Plain]] = {}
        self._left = sys.maxsize if most is None else most

    def document(self) -> Plain:
        """Return the data of the only document, or None."""
        self._next()
        start = self._next()
        if isinstance(start, yaml.StreamEndEvent):
            return None
        data = self._value(self._next(), (), 0)
        self._next()
        behind = self._next()
        if not isinstance(behind, yaml.StreamEndEvent):
            problem, context = "but found another document", "expected a single document in the stream"
            raise yaml.MarkedYAMLError(context, start.start_mark, problem, behind.start_mark)
        return data

    def _value(self, event: Any, path: Path, depth: int) -> Plain:
        self.out.values[path] = self._place(event)
        known = self._is_known(event, depth)
        if isinstance(event, yaml.MappingStartEvent):
            data: Plain = self._mapping(event, path, depth)
        elif isinstance(event, yaml.SequenceStartEvent):
            data = self._sequence(path, depth)
        elif isinstance(event, yaml.ScalarEvent):
            data = self._scalar(event, path)
        elif known:
            return self._again(event, *self._anchors[event.anchor], path)
        else:
            data = None  # an alias, which is a finding already
        if event.anchor is not None:
            self._anchors[event.anchor] = path, data
        return data if known else None

    def _again(self, event: Any, first: Path, data: Plain, path: Path) -> Plain:
        """Repeat an anchor's value at another place; each of its values counts."""
        self._count(event, len(path))
        if first in self.out.sources:
            self.out.sources[path] = self.out.sources[first]
        if isinstance(data, dict):
            return {key: self._again(event, (*first, key), each, (*path, key)) for key, each in data.items()}
        if isinstance(data, list):
            return [self._again(event, (*first, at), each, (*path, at)) for at, each in enumerate(data)]
        return data

    def _count(self, event: Any, depth: int) -> None:
        """Count a value.

        Raises:
            MarkedYAMLError: it is too deep, or one too many.
        """
        self._left -= 1
        if depth > _DEEPEST or self._left < 0:
            problem = yaml_errors.TOO_DEEP if self._left >= 0 else yaml_errors.TOO_MUCH
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)

    def _is_known(self, event: Any, depth: int) -> bool:
        """Return whether a value has no tag of its own; an anchor or a tag is a finding.

        Raises:
            MarkedYAMLError: it is too deep, one too many, or repeats what is not there.
        """
        self._count(event, depth)
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                problem = f"found undefined alias '{event.anchor}'"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=cast("Any", event).start_mark)
            if self._lenient:
                return True
            self._find(event, "this repeats an anchor (`*name`); write the value out")
            return False
        self._note_anchor(event)
        if self._lenient or event.tag in (None, "!") or _IMPLICIT_TAG.fullmatch(event.tag):
            return True
        self._find(event, f"tags such as '{event.tag}' are not part of the language")
        return False

    def _note_anchor(self, event: Any) -> None:
        if event.anchor is not None and not self._lenient:
            self._anchors[event.anchor] = (), None
            self._find(event, f"the language has no anchors (`&{event.anchor}`); take it out")

    def _place(self, event: Any) -> Mark:
        return Mark(self.out.file, event.start_mark.line + 1, event.start_mark.column + 1)

    def _find(self, event: Any, message: str) -> None:
        self.findings.append(SpecFinding(self._place(event), message))

    def _sequence(self, path: Path, depth: int) -> list[Plain]:
        items: list[Plain] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            items.append(self._value(event, (*path, len(items)), depth + 1))
        return items

    def _mapping(self, start: Any, path: Path, depth: int) -> dict[str, Plain]:
        data: dict[str, Plain] = {}
        merged: list[tuple[Any, Plain]] = []
        number: Path = ()
        while not isinstance(key := self._next(), yaml.MappingEndEvent):
            name = self._key(key, path, depth)
            value = self._next()
            if name is None:
                self._value(value, (*path, ""), depth + 1)
                continue
            here = (*path, name)
            if name == _MERGE and self._lenient and not key.style:
                merged.append((key, self._value(value, (*path, "", _MERGE, len(merged)), depth + 1)))
                continue
            if number and _continues_number(key, value):
                self.out.cut[number] = f"{self.out.cut.get(number, self.out.sources[number])},{name}"
                continue
            plain = start.flow_style and isinstance(value, yaml.ScalarEvent) and not value.style
            number = here if plain and _FIRST_GROUP.fullmatch(value.value) else ()
            if name in data and self._lenient:
                again = self._place(key)
                there = (*path, "", name)
                data[name] = self._both(data[name], here, self._value(value, there, depth + 1), there, again)
                continue
            if name in data:
                self._find(key, f"'{name}' is already given on line {self.out.keys[here].line}")
                self._value(value, (*path, ""), depth + 1)
                continue
            self.out.keys[here] = self._place(key)
            data[name] = self._value(value, here, depth + 1)
        for at, (key, value) in enumerate(merged):
            self._merge(key, value, (*path, "", _MERGE, at), data, path)
        return data

    def _merge(self, key: Any, value: Plain, there: Path, data: dict[str, Plain], path: Path) -> None:
        """Add to a mapping what it lacks of other mappings (`<<`)."""
        several = value if isinstance(value, list) else [value]
        for at, each in enumerate(several):
            first = (*there, at) if isinstance(value, list) else there
            for name, one in (each if isinstance(each, dict) else {_MERGE: each}).items():
                if name not in data:
                    self.out.keys[*path, name] = self._place(key)
                    data[name] = self._again(key, (*first, name), one, (*path, name))

    def _both(self, first: Plain, here: Path, other: Plain, there: Path, again: Mark) -> Plain:
        """Merge the second value of a key into the first; `twice` notes where they differ."""
        if other is None or first == other:
            return first
        if first is None:
            for places in (self.out.values, self.out.keys, self.out.sources):
                moved = {
                    (*here, *path[len(there) :]): each for path, each in places.items() if path[: len(there)] == there
                }
                cast("dict[Path, Any]", places).update(moved)
            return other
        if isinstance(first, dict) and isinstance(other, dict):
            for key, each in other.items():
                place = self.out.keys.get((*there, key), again)
                first[key] = self._both(first.get(key), (*here, key), each, (*there, key), place)
        else:
            self.out.twice[here] = again
        return first

    def _key(self, event: Any, path: Path, depth: int) -> str | None:
        """Return a key's text; None with a finding if it is no text."""
        if isinstance(event, yaml.ScalarEvent):
            self._note_anchor(event)
            return str(event.value)
        if self._lenient or not isinstance(event, yaml.AliasEvent):
            self._find(event, "a key must be a word, not a list or a mapping")
        self._value(event, (*path, ""), depth + 1)
        return None

    def _scalar(self, event: Any, path: Path) -> Plain:
        self.out.sources[path] = event.value
        plain = not event.style  # quoted and block scalars are text
        return _resolve(event.value) if plain else str(event.value)


def _continues_number(key: Any, value: Any) -> bool:
    """Return whether a key is what a comma cut off a number, as `624` in `{total: 6,624,904}`."""
    if key.style or not isinstance(value, yaml.ScalarEvent) or value.style:
        return False
    return value.value == "" and bool(_NEXT_GROUP.fullmatch(key.value))


def _resolve(text: str) -> Plain:
    if _NULL.fullmatch(text):
        return None
    if _BOOL.fullmatch(text):
        return text.lower() == "true"
    if len(text) > _LONGEST_NUMBER:
        return text
    if _INT.fullmatch(text):
        bases = {"0o": 8, "0x": 16}
        return int(text[2:], bases[text[:2]]) if text[:2] in bases else int(text)
    if _FLOAT.fullmatch(text):
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return text
