"""YAML 1.2 core schema -> plain data, with the place of every key and value.

PyYAML's default is YAML 1.1, in which `1e-3` is text, `2:4` is 124, `no` is false and `010` is 8. Here they are a
number, text, text and 10 (https://yaml.org/spec/1.2.2/#103-core-schema). There are no tags, anchors or merges, and a
key that stands twice is an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import yaml

from labgrade import yaml_errors
from labgrade.errors import Finding, Mark, SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.model import Plain

Path: TypeAlias = "tuple[str | int, ...]"

_NULL = re.compile(r"null|Null|NULL|~|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_IMPLICIT_TAG = re.compile(r"tag:yaml\.org,2002:(map|seq|str|int|float|bool|null|timestamp|merge|value)")
_LONGEST_NUMBER = 400  # characters; longer ones stay text, so that no million-digit integer is ever built
_DEEPEST = 60
_NEXT_GROUP = re.compile(r"[0-9]{3}(?:\.[0-9]+)?(?: ?[A-Za-z]{1,10})?")
_FIRST_GROUP = re.compile(r"[-+]?[0-9]{1,3}")
CUT = "a comma ends a value inside { }: quote the number or write it without commas"


@dataclass(frozen=True, slots=True)
class Loaded:
    """Plain data with, for each path into it, where its key and its value stand and how a scalar was written.

    `cut` has the numbers that their thousands separators cut up (`{total: 6,624,904}`), as they were written.
    """

    data: Plain
    file: str
    values: dict[Path, Mark] = field(default_factory=dict)
    keys: dict[Path, Mark] = field(default_factory=dict)
    sources: dict[Path, str] = field(default_factory=dict)
    cut: dict[Path, str] = field(default_factory=dict)

    def mark(self, path: Path) -> Mark:
        """Where the value at `path` stands, or the nearest thing around it that has a place."""
        while path not in self.values and path:
            path = path[:-1]
        return self.values.get(path, Mark(self.file, 1, 1))

    def key_mark(self, path: Path) -> Mark:
        """Where the key at the end of `path` stands; the value's place where there is no key."""
        return self.keys.get(path) or self.mark(path)


def load(text: str, file: str) -> Loaded:
    """Parse one YAML document.

    Raises:
        SpecError: with every finding: a syntax error, a duplicate key, a tag, an anchor.
    """
    reader = _Reader(Loaded(None, file))
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        raise SpecError([yaml_errors.finding(error, text, file)]) from None
    except yaml.reader.ReaderError as error:
        before = text[: error.position].splitlines() or [""]
        place = Mark(file, len(before), len(before[-1]) + 1)
        raise SpecError([Finding(place, "a control character stands here; remove it")]) from None
    reader.findings += [Finding(Mark(file, at.line + 1, at.column + 1), said) for at, said in loader.refused]
    data = None if root is None else reader.build(root, ())
    if reader.findings:
        raise SpecError(reader.findings)
    return replace(reader.out, data=data)


class _Loader(yaml.SafeLoader):
    """Stops at what is nested too deeply, before PyYAML spends seconds on it; keeps the places of anchors."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = 0
        self.refused: list[tuple[Any, str]] = []

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if self.depth > _DEEPEST:
            raise yaml.MarkedYAMLError(problem=yaml_errors.TOO_DEEP, problem_mark=event.start_mark)
        if isinstance(event, yaml.AliasEvent):
            self.refused.append((event.start_mark, "this repeats an anchor (`*name`); write the value out"))
        elif getattr(event, "anchor", None) is not None:
            self.refused.append((event.start_mark, f"the language has no anchors (`&{event.anchor}`); take it out"))
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


class _Reader:
    def __init__(self, out: Loaded) -> None:
        self.out = out
        self.findings: list[Finding] = []
        self._seen: set[int] = set()

    def _place(self, node: yaml.Node) -> Mark:
        return Mark(self.out.file, node.start_mark.line + 1, node.start_mark.column + 1)

    def build(self, node: yaml.Node, path: Path) -> Plain:
        self.out.values[path] = self._place(node)
        if id(node) in self._seen:  # an alias, which is a finding already
            return None
        self._seen.add(id(node))
        if not _IMPLICIT_TAG.fullmatch(node.tag):
            self._find(node, f"tags such as '{node.tag}' are not part of the language")
            return None
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(cast("yaml.ScalarNode", node), path)

    def _find(self, node: yaml.Node, message: str) -> None:
        self.findings.append(Finding(self._place(node), message))

    def _mapping(self, node: yaml.MappingNode, path: Path) -> Plain:
        data: dict[str, Plain] = {}
        number: Path = ()
        for key, value in self._keys(node):
            here = (*path, key.value)
            if number and _goes_on(key, value):
                self.out.cut[number] = f"{self.out.cut.get(number, self.out.sources[number])},{key.value}"
                continue
            number = here if node.flow_style and _FIRST_GROUP.fullmatch(str(value.value)) else ()
            if key.value in data:
                self._find(key, f"'{key.value}' is already given on line {self.out.keys[here].line}")
                continue
            self.out.keys[here] = self._place(key)
            data[key.value] = self.build(value, here)
        return data

    def _keys(self, node: yaml.MappingNode) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                yield key, value
            else:
                self._find(key, "a key must be a word, not a list or a mapping")

    def _scalar(self, node: yaml.ScalarNode, path: Path) -> Plain:
        self.out.sources[path] = node.value
        plain = not node.style  # quoted and block scalars are text
        return _resolve(node.value) if plain else node.value


def _goes_on(key: yaml.ScalarNode, value: yaml.Node) -> bool:
    """Whether `624` in `{total: 6,624,904}` is what a comma cut off a number: digits that nothing is said of."""
    return (
        not key.style
        and value.value == ""
        and not cast("yaml.ScalarNode", value).style
        and bool(_NEXT_GROUP.fullmatch(key.value))
    )


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
