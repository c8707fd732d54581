"""jsonschema's errors, phrased for the author of a spec and put at file:line:column."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labgrade.errors import Finding, did_you_mean
from labgrade.schema_words import RESERVED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jsonschema import ValidationError

    from labgrade.registry import Schema
    from labgrade.yamlfile import Loaded, Path

_TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "nothing",
}
_LISTED = 12
_HUGE = 10**18


def findings(schema: Schema, loaded: Loaded) -> list[Finding]:
    """Everything in `loaded` that the schema does not allow, each at its place."""
    import jsonschema

    validator = jsonschema.Draft202012Validator(schema)
    errors = (error for error in validator.iter_errors(loaded.data) if not _is_infinite(error.instance))
    return [found for error in errors for found in _phrase(_problem(error), loaded)]


def _is_infinite(value: object) -> bool:
    """Refused wherever it stands (`spec_numbers`), so that its bounds need not be mentioned."""
    return isinstance(value, float) and not math.isfinite(value)


@dataclass(frozen=True, slots=True)
class _Problem:
    """What a jsonschema error says: the keyword and what it wants, the value and where it is."""

    keyword: str
    wanted: Any
    value: Any
    schema: dict[str, Any]
    path: Path
    message: str

    @property
    def title(self) -> str:
        """The schema's title for the value, or the nearest key in quotes."""
        key = next((part for part in reversed(self.path) if isinstance(part, str)), "the file")
        return str(self.schema.get("title") or f"'{key}'")


def _problem(error: ValidationError) -> _Problem:
    schema: Any = error.schema
    keyword = "anyOf" if error.context else str(error.validator)
    return _Problem(keyword, error.validator_value, error.instance, schema, tuple(error.absolute_path), error.message)


def _phrase(problem: _Problem, loaded: Loaded) -> Iterator[Finding]:
    if problem.keyword == "additionalProperties":
        known = problem.schema.get("properties", {})
        for key in problem.value:
            if key not in known:
                yield Finding(loaded.key_mark((*problem.path, key)), _unknown_key(problem, key, known))
    else:
        source = loaded.sources.get(problem.path, problem.value)
        yield Finding(loaded.mark(problem.path), _one_value(problem, source))


def _unknown_key(problem: _Problem, key: str, known: dict[str, Any]) -> str:
    if key in RESERVED:
        return f"'{key}' is a word of the spec language that this version of labgrade does not know yet"
    if problem.title == "checker":
        return f"no checker is called '{key}'{did_you_mean(key, known)}"
    if known:
        return f"{problem.title} takes no '{key}'{did_you_mean(key, known) or _there_is(known)}"
    return f"{problem.title} takes no parameters, but '{key}' is given"


def _one_value(problem: _Problem, source: object) -> str:
    value, wanted, what = problem.value, problem.wanted, problem.title
    match problem.keyword:
        case "required":
            missing = next(key for key in wanted if key not in value and repr(key) in problem.message)
            return f"{what} needs '{missing}'"
        case "enum":
            return _not_in_list(problem)
        case "type":
            return _wrong_type(problem, source)
        case "pattern":
            return f"'{value}' is not {_with_article(what)}"
        case "minProperties" | "minItems" | "minLength":
            return f"{what} is empty"
        case "maxProperties":
            return f"{what} is one thing, not {len(value)}: {', '.join(value)}"
        case "minimum" | "exclusiveMinimum" | "maximum":
            side = {"minimum": "at least", "exclusiveMinimum": "more than", "maximum": "at most"}[problem.keyword]
            return f"{what} must be {side} {wanted}, not {_say(value)}"
        case "uniqueItems":
            return f"{what} names something twice"
    return f"{what} can't be {_say(value)}"


def _not_in_list(problem: _Problem) -> str:
    names = [name for name in problem.wanted if isinstance(name, str)]
    if isinstance(problem.value, str):
        what = problem.schema.get("title", "value")
        return f"no {what} is called '{problem.value}'{did_you_mean(problem.value, names) or _there_is(names)}"
    return f"{problem.title} is one of {', '.join(map(str, problem.wanted))}, not {_say(problem.value)}"


def _wrong_type(problem: _Problem, source: object) -> str:
    names = problem.wanted if isinstance(problem.wanted, list) else [problem.wanted]
    if "string" in names and isinstance(problem.value, int | float) and not isinstance(problem.value, bool):
        return f"{problem.title} is text, and this is a number: put it in quotes, '{source}'"
    return f"{problem.title} must be {' or '.join(_TYPES[name] for name in names)}, not {_say(problem.value)}"


def _there_is(known: object) -> str:
    names = list(known) if isinstance(known, list | dict) else []
    more = ", ..." if len(names) > _LISTED else ""
    return f"; there is {', '.join(names[:_LISTED])}{more}" if names else ""


def _with_article(what: str) -> str:
    if what.startswith(("a ", "an ", "'")):
        return what
    return f"an {what}" if what[0] in "aeiou" else f"a {what}"


def _say(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return f"the text '{value[:40]}'"
    if isinstance(value, int) and abs(value) >= _HUGE:
        return f"a number of {len(str(abs(value)))} digits"
    return str(value).lower() if isinstance(value, bool) else str(value)
