"""What a schema refuses, phrased for the author of a spec and put at file:line:column."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labgrade.core.did_you_mean import did_you_mean, offer
from labgrade.core.errors import SpecFinding
from labgrade.files import json_schema, yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.core.task import Plain, Schema
    from labgrade.files.json_schema import Problem
    from labgrade.files.yaml import Loaded, Path

_TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "nothing",
}
_ARTICLE = re.compile(r"^an? ")
_LISTED = 12
_HUGE = 10**18


def findings(schema: Schema, loaded: Loaded) -> list[SpecFinding]:
    """Everything in `loaded` that the schema does not allow, each at its place."""
    refused = (each for each in json_schema.problems(schema, loaded.data) if not _is_infinite(each.value))
    return [found for problem in refused for found in _phrase(problem, loaded)]


def _is_infinite(value: object) -> bool:
    """Return whether a value is infinite: `number_findings` refuses it anywhere, so that bounds need no mention."""
    return isinstance(value, float) and not math.isfinite(value)


def _phrase(problem: Problem, loaded: Loaded) -> Iterator[SpecFinding]:
    if problem.keyword == "additionalProperties":
        known = problem.schema.get("properties", {})
        for key in problem.value:
            if key not in known:
                yield SpecFinding(loaded.key_mark((*problem.path, key)), _unknown_key(problem, key, known))
    else:
        source = loaded.sources.get(problem.path, problem.value)
        yield SpecFinding(loaded.mark(problem.path), _one_value(problem, source))


def _unknown_key(problem: Problem, key: str, known: dict[str, Any]) -> str:
    if problem.title == "checker":
        return f"no checker is called '{key}'{did_you_mean(key, known)}"
    if known:
        return f"{problem.title} takes no '{key}'{offer(key, known, _LISTED)}"
    return f"{problem.title} takes no parameters, but '{key}' is given"


def _one_value(problem: Problem, source: object) -> str:
    value, wanted, what = problem.value, problem.wanted, problem.title
    match problem.keyword:
        case "required":
            return f"{what} needs '{wanted}'"
        case "enum":
            return _not_in_list(problem)
        case "type":
            return _wrong_type(problem, source)
        case "pattern":
            return f"'{value}' is not {_with_article(what)}"
        case "minProperties" | "minItems" | "minLength" | "maxItems" | "maxProperties":
            return f"{what} {_how_many(problem)}"
        case "minimum" | "exclusiveMinimum" | "maximum":
            side = {"minimum": "at least", "exclusiveMinimum": "more than", "maximum": "at most"}[problem.keyword]
            return f"{what} must be {side} {wanted}, not {_say(value)}"
        case "uniqueItems":
            return f"{what} names something twice"
        case "anyOf" if meant := _of_its_type(problem):
            return _one_value(meant, source)
    return f"{what} can't be {_say(value)}"


def _how_many(problem: Problem) -> str:
    """Phrase the finding about too few or too many parts."""
    value, wanted = problem.value, problem.wanted
    if problem.keyword == "maxProperties":
        return f"is one thing, not {len(value)}: {', '.join(value)}"
    if problem.keyword == "maxItems":
        return f"has {len(value)}, and takes {wanted}"
    return f"needs {wanted} or more, and has {len(value)}" if value else "is empty"


def _of_its_type(problem: Problem) -> Problem | None:
    """Return what the only alternative of the value's type refuses."""
    refused = [next(json_schema.problems(each, problem.value)) for each in problem.wanted]
    meant = [each for each in refused if each.keyword != "type" or each.path]
    if len(meant) != 1:
        return None
    return replace(meant[0], schema={**meant[0].schema, "title": problem.title}, path=problem.path)


def _not_in_list(problem: Problem) -> str:
    names = [name for name in problem.wanted if isinstance(name, str)]
    if isinstance(problem.value, str):
        what = _ARTICLE.sub("", problem.schema.get("title", "value"))
        return f"no {what} is called '{problem.value}'{offer(problem.value, names, _LISTED)}"
    return f"{problem.title} is one of {', '.join(map(str, problem.wanted))}, not {_say(problem.value)}"


def _wrong_type(problem: Problem, source: object) -> str:
    names = problem.wanted if isinstance(problem.wanted, list) else [problem.wanted]
    if "string" in names and isinstance(problem.value, int | float) and not isinstance(problem.value, bool):
        return f"{problem.title} is text, and this is a number: put it in quotes, '{source}'"
    if "string" in names and isinstance(problem.value, dict) and list(problem.value.values()) == [None]:
        text = "{" + next(iter(problem.value)) + "}"
        return f"{problem.title} is text, and braces make this a mapping: put it in quotes, '{text}'"
    if names == ["object"] and (example := _only_word(problem.schema)) and not isinstance(problem.value, list):
        said = "..." if problem.value is None else source
        return f"{problem.title} must be a mapping, not {_say(problem.value)}; write {{{example}: {said}}}"
    remedy = "; begin each of its items with '- '" if names == ["array"] and isinstance(problem.value, dict) else ""
    wanted = " or ".join(_TYPES[name] for name in names)
    return f"{problem.title} must be {wanted}, not {_say(problem.value)}{remedy}"


def _only_word(schema: Any) -> str:
    """Return the word that a mapping needs, or the only one it takes; "" if there are several."""
    words = schema.get("required") or list(schema.get("properties", ()))
    return words[0] if len(words) == 1 else ""


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


def number_findings(loaded: Loaded) -> list[SpecFinding]:
    """Find NaN and infinite numbers; only a checker's bound may be infinite."""
    found = [SpecFinding(loaded.mark(path), f"got '{text}': {yaml.CUT}") for path, text in loaded.cut.items()]
    for path, value in _floats(loaded.data, ()):
        if math.isnan(value) or (math.isinf(value) and "checker" not in path):
            found.append(SpecFinding(loaded.mark(path), f"'{loaded.sources[path]}' is no finite number"))
    return found


def _floats(value: Plain, path: Path) -> Iterator[tuple[Path, float]]:
    if isinstance(value, float):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _floats(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _floats(item, (*path, index))
