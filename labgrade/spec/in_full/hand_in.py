"""How a lab is handed in, said once: the forms that an answer without `from` has. Works on a spec's plain data.

The order is that of judging: a function; a program that is handed the subject; the entry; a file; the output file; the
report; a program that says the same on every subject.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from labgrade.core.task import SCALAR_KINDS
from labgrade.spec.data import listed, mapping
from labgrade.spec.kinds import KINDS, WHERE
from labgrade.spec.rules_form import varies_with_subject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.files.yaml import Path

WAYS = ("call", "entry", "words", "file", "whole")  # the words of an answer that add to how its lab is handed in
_WHY_NOT = {
    "call": "write it as 'hw.py:total_macs(model)'",
    "entry": "'hand_in' names no place in answers.yaml ('entries: <number>'), or the type can't be written there",
    "words": "'hand_in' names no such place, or the type can't be written there",
    "file": "name a file, 'layers.csv'",
    "whole": "'hand_in' names none of these places, or the type is no table",
}
_CALL = re.compile(r"(?:(?P<file>[^:()]+\.py):)?(?P<function>[A-Za-z_]\w*)\((?P<given>[^()]*)\)")
_CUT = re.compile(r"[^()]*\([^()]*")
_NUMBER = re.compile(r"\d+(?:-\d+)*(?=-|$)")
_READ = {*SCALAR_KINDS, "histogram", "table", "time"}  # the types that a person can write down
_WHOLE = ("text", "histogram")


def of_task(data: dict[str, Any], lab: dict[str, Any], task: str) -> dict[str, Any]:
    """Return how a task is handed in: the lab's `hand_in`, overridden key by key by the task's."""
    match = _NUMBER.match(task)
    number = match[0] if match else task
    filled: dict[str, Any] = _filled({**lab, **mapping(data.get("hand_in"))}, number)
    return filled


def _filled(value: Any, number: str) -> Any:
    if isinstance(value, str):
        return value.replace("<number>", number)
    if isinstance(value, list):
        return [_filled(each, number) for each in value]
    if isinstance(value, dict):
        return {key: _filled(each, number) for key, each in value.items()}
    return value


def forms(name: str, answer: dict[str, Any], common: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the forms of an answer without `from`, each with the word it comes from, "" for the lab's."""
    kind = answer.get("type")
    word = kind if isinstance(kind, str) else next(iter(mapping(kind)), "")
    programs = [mapping(each) for each in _several(common.get("program"))]
    live = [each for each in programs if varies_with_subject({"run": each})]
    # A text is its section of the report, unless the answer itself says that it is a word that stands elsewhere.
    read = word in _READ and (word != "text" or "entry" in answer or "words" in answer)
    if isinstance(answer.get("call"), str):
        yield "call", parse_call(answer["call"], common)
    for program in live if read else ():
        yield from _of_program(program, name, answer, common, handed=True)
    if "entries" in common and read and (word != "text" or "entry" in answer):
        yield "entry", {"entry": f"{common['entries']}.{answer.get('entry', name)}"}
    if isinstance(answer.get("file"), str):
        yield "file", _file(answer["file"])
    yield from _in_text("output", word, answer, common, {"file": common.get("output")})
    for place in _several(common.get("report")):
        yield from _in_text("report", word, answer, common, {"report": place})
    for program in (each for each in programs if each not in live) if read or "file" in answer else ():
        yield from _of_program(program, name, answer, common, handed=False)


def _in_text(
    place: str, word: str, answer: dict[str, Any], common: dict[str, Any], where: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the forms that read the output file or the report."""
    if place not in common or word not in _READ:
        return
    for each in _words_before(answer, place):
        yield "words", {"after": each, **where}
    if word == "text" and place == "report":
        yield "", where
    elif place in listed(answer.get("whole")) or (place == "report" and word in _WHOLE):
        yield "whole", where


def _of_program(
    program: dict[str, Any], name: str, answer: dict[str, Any], common: dict[str, Any], *, handed: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the forms of a program: entries if it is handed the subject, and always the file and the words."""
    run = {"run": program}
    words, output = _words_before(answer, "program"), common.get("output")
    if handed:
        yield "entry", {**run, "entry": str(answer.get("entry", name)).rpartition(".")[2]}
    if isinstance(answer.get("file"), str):
        yield "file", {**run, **_file(answer["file"])}
    if output and not handed:
        yield from (("words", {**run, "after": each, "file": output}) for each in words)
        if "program" in listed(answer.get("whole")):
            yield "whole", {**run, "file": output}
    yield from (("words", {**run, "after": each}) for each in words)


def parse_call(text: str, common: dict[str, Any]) -> dict[str, Any]:
    """Parse `hw.py:total_macs(model, input_size)` to a form; the file is `hand_in`'s if none is named."""
    match = _CALL.fullmatch(text)
    if match is None:
        return {"call": text}
    file = match["file"] or common.get("code", "")
    given = _arguments(match["given"])
    more = {"notebooks": common["notebooks"]} if "notebooks" in common else {}
    return {"call": f"{file}:{match['function']}", "given": given, **more}


def _arguments(text: str) -> list[Any]:
    """Parse a call's arguments: names, and values as Python writes them."""
    try:
        parsed: Any = ast.parse(f"f({text})", mode="eval").body
        return [each.id if isinstance(each, ast.Name) else _literal(ast.literal_eval(each)) for each in parsed.args]
    except (SyntaxError, ValueError):
        return [each.strip() for each in text.split(",") if each.strip()]  # said of each to be no argument


def _literal(value: Any) -> Any:
    return {"literal": value} if isinstance(value, str) else value


def problems(name: str, answer: dict[str, Any], common: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield what does not fit together in how an answer is handed in, with places."""
    here = ("answers", name)
    extra = [word for word in WAYS if word in answer]
    if "from" in answer:
        if extra:
            yield (*here, extra[0]), f"'from' says all ways of handing it in: give it or '{extra[0]}', not both"
        return
    if meant := cut_call(answer):
        yield (*here, "call"), quote_call(meant)
        return
    call = answer.get("call")
    match = _CALL.fullmatch(call) if isinstance(call, str) else None
    if match and not match["file"] and "code" not in common:
        yield (
            (*here, "call"),
            f"say which file holds the function: 'hw.py:{call}', or 'hand_in: {{code: hw.py}}' in lab.yaml or here",
        )
    for place in (*WHERE, "all"):
        words = [each.casefold() for each in _words_before(answer, place)]
        if twice := [at for at, each in enumerate(words) if each in words[:at]]:
            within = (place,) if isinstance(answer["words"], dict) else ()
            yield (
                (*here, "words", *within, twice[0]),
                "these words stand here already, and are found in any case: the second is never looked at",
            )
            break
    yield from _without_effect(name, answer, common)


def _without_effect(name: str, answer: dict[str, Any], common: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """Find answers that nobody can hand in, and words that lead to no form."""
    here, kind = ("answers", name), answer.get("type")
    made = {word for word, _ in forms(name, answer, common)}
    if not (kind in KINDS or isinstance(kind, dict)):
        return
    if not made:
        yield here, "say how it is handed in: 'from', 'call', or 'hand_in' in lab.yaml or at the top of the task"
    for word in WAYS if made else ():
        # Words also say how a value is called: a course may give them before it takes reports.
        named = word == "words" and kind in SCALAR_KINDS and not isinstance(answer.get(word), dict)
        if word in answer and word not in made and not named:
            yield (*here, word), f"'{word}' has no effect: {_WHY_NOT[word]}"


def cut_call(data: dict[str, Any]) -> str:
    """Rejoin a call that a comma within { } has cut up (`{call: hw.py:f(a, b)}`); "" for any other."""
    call = data.get("call")
    if not isinstance(call, str) or not _CUT.fullmatch(call) or call.endswith(")"):
        return ""
    rest = [key for key, value in data.items() if value is None]
    return f"{call}, {', '.join(rest)}" if rest and rest[-1].endswith(")") else ""


def quote_call(meant: str) -> str:
    """Return the message about a call that a comma has cut up."""
    return f"a comma ends a value inside {{ }}: quote the call, '{meant}'"


def _file(named: str) -> dict[str, str]:
    return {"files" if "*" in named else "file": named}


def _words_before(answer: dict[str, Any], place: str) -> list[str]:
    words = answer.get("words")
    if isinstance(words, dict):
        words = words.get(place, words.get("all"))
    return [each for each in _several(words) if isinstance(each, str)]


def _several(value: object) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
