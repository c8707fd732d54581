"""What a spec says in few words, said in full: forms, slips, questions asked again, answers of other tasks.

Rules, the parser and students' kits see the long form alone. Each part of it knows the place that it came of.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from labgrade.core.did_you_mean import did_you_mean
from labgrade.core.errors import SpecFinding
from labgrade.core.task import Check
from labgrade.files.yaml import Loaded
from labgrade.spec.data import OTHER_VALUES, listed, mapping, with_inherited
from labgrade.spec.in_full import hand_in, slips
from labgrade.spec.language import KNOWN, WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from labgrade.core.errors import Mark
    from labgrade.files.yaml import Path
    from labgrade.spec.registry import Entry

_INHERITED = ("answer", "checker", "measured", "expected", *OTHER_VALUES)
_RIGHT, _ = OTHER_VALUES
_BY_SHARE = "by share"  # beside an entry of a list, until its place is known
_DEFAULTS: Mapping[str, Any] = {"options": {}, "seed": 0}  # else a row of another task inherits this task's


@dataclass(frozen=True, slots=True)
class Expanded(Loaded):
    """A spec said in full. `moved`: where a part stands in the file that stands elsewhere here.

    `slips`: the places of misconceptions that are a library's, which are left out where they fit nothing; `shared`: of
    those whose credit falls with how much of the work is right. `implied`: by check, other conventions that are right.
    `cut_call`: a comma cut a call up, so that what is behind it looks like a word of the language.
    """

    moved: dict[Path, Path] = field(default_factory=dict)
    slips: frozenset[Path] = frozenset()
    shared: frozenset[Path] = frozenset()
    implied: dict[Path, list[dict[str, Any]]] = field(default_factory=dict)
    cut_call: bool = False
    findings: tuple[SpecFinding, ...] = ()

    def mark(self, path: Path) -> Mark:
        """Return the place in the file that a value comes from, or the nearest around it."""
        return Loaded.mark(self, self._origin(path))

    def key_mark(self, path: Path) -> Mark:
        """Return the place in the file that a key comes from."""
        return Loaded.key_mark(self, self._origin(path))

    def _origin(self, path: Path) -> Path:
        for length in range(len(path), 0, -1):
            if path[:length] in self.moved:
                return (*self.moved[path[:length]], *path[length:])
        return path


def expanded(
    loaded: Loaded,
    task: str,
    common: dict[str, Any],
    quantities: Mapping[str, Entry],
    other: Callable[[str], dict[str, Any] | str],
) -> Expanded:
    """The spec in full. `common` is the lab's `hand_in`; `other` gives another task in full, or why there is none.

    Tolerant of data that the schema refuses.
    """
    return _Expander(loaded, task, common, quantities, other).whole()


class _Expander:
    def __init__(
        self,
        loaded: Loaded,
        task: str,
        common: dict[str, Any],
        quantities: Mapping[str, Entry],
        other: Callable[[str], dict[str, Any] | str],
    ) -> None:
        self._loaded, self._quantities, self._task = loaded, quantities, other
        self._data = mapping(loaded.data)
        self._common = hand_in.of_task(self._data, common, task)
        self._moved: dict[Path, Path] = {}
        self._slips: set[Path] = set()
        self._shared: set[Path] = set()
        self._implied: dict[Path, list[dict[str, Any]]] = {}
        self._found: list[SpecFinding] = []
        self._cut_call = False
        self._answers: dict[str, Any] = {}
        self._checks: list[Any] = []

    def whole(self) -> Expanded:
        """Return the whole spec in full."""
        data = {key: value for key, value in self._data.items() if key != "hand_in"}
        if isinstance(data.get("answers"), dict):
            self._answers = {name: self._answer(name, each) for name, each in data["answers"].items()}
            data["answers"] = self._answers
        if isinstance(data.get("checks"), list):
            for index, check in enumerate(data["checks"]):
                self._add(check, ("checks", index))
            data["checks"] = self._checks
        known = {each.name: getattr(self._loaded, each.name) for each in fields(Loaded)}
        known["data"] = data if isinstance(self._loaded.data, dict) else self._loaded.data
        return Expanded(
            **known,
            moved=self._moved,
            slips=frozenset(self._slips),
            shared=frozenset(self._shared),
            implied=self._implied,
            cut_call=self._cut_call,
            findings=tuple(self._found),
        )

    def _find(self, path: Path, message: str) -> None:
        self._found.append(SpecFinding(self._loaded.mark(path), message))

    # ---- answers ---------------------------------------------------------------------------------------------------

    def _answer(self, name: str, answer: Any) -> Any:
        if not isinstance(answer, dict):
            return answer
        here = ("answers", name)
        for path, message in hand_in.problems(name, answer, self._common):
            self._find(path, message)
        self._cut_call |= "from" not in answer and bool(hand_in.cut_call(answer))
        if "from" in answer:
            given = answer["from"]
            if isinstance(given, list):
                given = [self._form(form, (*here, "from", at)) for at, form in enumerate(given)]
            return {**answer, "from": given}
        made: list[dict[str, Any]] = []
        for word, form in hand_in.forms(name, answer, self._common):
            self._moved[(*here, "from", len(made))] = (*here, word) if word in answer else here
            made.append(form)
        left = {key: value for key, value in answer.items() if key not in hand_in.WAYS and key != "type"}
        return {**({"type": answer["type"]} if "type" in answer else {}), "from": made, **left}

    def _form(self, form: Any, path: Path) -> Any:
        if not isinstance(form, dict) or not isinstance(form.get("call"), str):
            return form
        if meant := hand_in.cut_call(form):
            self._find((*path, "call"), hand_in.quote_call(meant))
            self._cut_call = True
            return form
        if "given" in form:
            return form
        full = hand_in.parse_call(form["call"], self._common)
        if "given" not in full:
            self._find(path, "a call needs 'given', or what it is given in parentheses: 'hw.py:total_macs(model)'")
        return {**form, **full}

    # ---- checks ----------------------------------------------------------------------------------------------------

    def _add(self, check: Any, here: Path) -> None:
        """Add a check, and those that `again` derives from it."""
        if not isinstance(check, dict):
            self._moved[("checks", len(self._checks))] = here
            self._checks.append(check)
            return
        self._check({word: (value, (*here, word)) for word, value in check.items() if word != "again"}, here)
        for index, row in enumerate(listed(check.get("again"))):
            if isinstance(row, dict):
                place = (*here, "again", index)
                self._check(self._asked_again(check, here, row, place), place)

    def _asked_again(
        self, check: dict[str, Any], here: Path, row: dict[str, Any], place: Path
    ) -> dict[str, tuple[Any, Path]]:
        """Merge a row of `again` with what it inherits; each part keeps its place."""
        words = {word: (check[word], (*here, word)) for word in _INHERITED if word in check}
        if "expected" in row:
            words = {word: each for word, each in words.items() if word not in OTHER_VALUES}
        elif "quantity" in mapping(check.get("expected")):
            plain = {key: value for key, value in check["expected"].items() if key != "published"}
            words["expected"] = plain, (*here, "expected")
        elif "answer" not in mapping(check.get("expected")):
            words.pop("expected", None)
        for word in OTHER_VALUES:
            if isinstance(value := words.get(word, (None,))[0], list):
                words[word] = [None if self._is_literal(each) else each for each in value], (*here, word)
        words |= {word: (value, (*place, word)) for word, value in row.items()}
        if row.get("hidden") is True and "needs" not in row and "id" in check:
            words["needs"] = [check["id"]], here
        order = [each.name for each in WORDS[Check] if each.name in words]
        return {word: words[word] for word in (*order, *(each for each in words if each not in order))}

    def _is_literal(self, entry: Any) -> bool:
        if not isinstance(entry, dict) or "value" not in entry:
            return False
        value = entry["value"]
        return not {"quantity", "answer"} & set(value) if isinstance(value, dict) else self._slip(value) is None

    def _check(self, words: dict[str, tuple[Any, Path]], here: Path) -> None:
        at: Path = ("checks", len(self._checks))
        self._moved[at] = here
        made: dict[str, Any] = {}
        for word, (value, place) in words.items():
            self._moved[(*at, word)] = place
            made[word] = value
        for word in OTHER_VALUES:
            if word in made:
                made[word] = self._alternatives(made, word, words[word][1], (*at, word))
        self._implied[at] = self._right_anyway(made)
        if isinstance(made.get("beside"), list):
            made["beside"] = [self._beside(row, (*words["beside"][1], n)) for n, row in enumerate(made["beside"])]
        self._checks.append(made)

    # ---- other values ----------------------------------------------------------------------------------------------

    def _alternatives(self, check: dict[str, Any], word: str, here: Path, there: Path) -> Any:
        given = check[word]
        if given == KNOWN:
            given = [KNOWN]
        if not isinstance(given, list):
            return given
        expected = mapping(check.get("expected"))
        own = [self._other(each, expected, (*here, at)) for at, each in enumerate(given)]
        said = [mapping(each).get("value") for each in own]
        right = [mapping(each).get("value") for each in listed(check.get("also_right"))]
        made: list[Any] = []
        for at, each in enumerate(own):
            known = self._known(check, expected, (*here, at)) if each == KNOWN else [each]
            for entry in known:
                if each == KNOWN and entry["value"] in (*said, *right):
                    continue  # said otherwise in the list, or another right convention
                if each is not None:
                    self._moved[(*there, len(made))] = (*here, at)
                    if each == KNOWN or self._may_be_right(given[at]):
                        self._slips.add((*there, len(made)))
                    if isinstance(entry, dict) and entry.pop(_BY_SHARE, False):
                        self._shared.add((*there, len(made)))
                    made.append(entry)
        return made

    def _right_anyway(self, check: dict[str, Any]) -> list[dict[str, Any]]:
        """The conventions that are right in any task, of the expected quantity and of each that is right here."""
        made: list[dict[str, Any]] = []
        for entry in ({"value": check.get("expected")}, *map(mapping, listed(check.get(_RIGHT)))):
            of = mapping(entry.get("value"))
            known = self._quantities.get(str(of.get("quantity")))
            given = mapping(of.get("with"))
            for changed, says in known.right if known else ():
                if not changed.keys() & given.keys():
                    said = f"{entry['says']}, and {says}" if "says" in entry else says
                    value = {"quantity": of["quantity"], "with": {**given, **changed}}
                    made.append({**entry, "value": value, "says": said})
        return made

    def _known(self, check: dict[str, Any], expected: dict[str, Any], place: Path) -> list[dict[str, Any]]:
        name = str(expected.get("quantity"))
        found = list(slips.slips_of(self._quantities, name))
        single = slips.halved_quantity(self._quantities, name)
        if not found and not single and name in self._quantities:
            self._find(place, f"no slip of '{name}' is known; write misconceptions as {{value, says, credit}}")
        elif "quantity" not in expected:
            self._find(place, "'known' are the slips of the expected quantity, and no quantity is expected")
        own = [self._of_slip(each, expected, said, check) for said, each in self._ways(found, check)]
        return own + (self._of_single(single, expected, check) if single else [])

    def _ways(self, found: list[Entry], check: dict[str, Any]) -> list[tuple[dict[str, Any], Entry]]:
        """Return the slips, also with their variants and under other conventions that are right.

        Where a library of slips stands beside the quantity, it is asked for what it makes of each convention.
        """
        ways: list[tuple[dict[str, Any], Entry]] = [({}, each) for each in found]
        ways += [({"with": also}, each) for each in found if each.slip for also in each.slip.also_with]
        rights = [mapping(mapping(each).get("value")) for each in listed(check.get("also_right"))]
        expected = mapping(check.get("expected"))
        if f"{expected.get('quantity')}_slips" in self._quantities:
            return ways
        others = [mapping(each.get("with")) for each in rights if each.get("quantity") == expected.get("quantity")]
        own = mapping(expected.get("with"))
        changed = [{key: value for key, value in each.items() if own.get(key) != value} for each in others]
        return ways + [
            ({"with": each}, slip)
            for each in changed
            if each
            for slip in found
            if each.keys() <= slip.parameters.keys()
        ]

    def _of_single(self, single: str, expected: dict[str, Any], check: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the slips of a quantity for its double: each doubled, each not doubled, and the quantity itself."""
        there = slips.of_expected(self._quantities[single], mapping(expected.get("with")))
        credit = {} if "counterexample" in check else {"credit": slips.SINGLE_CREDIT}
        made: list[dict[str, Any]] = [{"value": there, "says": slips.SINGLE, **credit}]
        found = [each for each in slips.slips_of(self._quantities, single) if each.name != expected.get("quantity")]
        for said, each in self._ways(found, check):
            once = self._of_slip(each, expected, said, check)
            twice = {**once, "value": {**once["value"], "times": 2}}
            earned = {"credit": once["credit"] * slips.SINGLE_CREDIT} if "credit" in once else {}
            made += [twice, {**once, **earned, "says": f"{slips.SINGLE} {slips.BESIDES} {once['says']}"}]
        return made

    def _of_slip(
        self, entry: Entry, expected: dict[str, Any], said: dict[str, Any], check: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """A slip as an entry of the list; `said` changes what it says of itself. A counterexample earns nothing."""
        if entry.slip is None:
            return said
        value = slips.of_expected(entry, {**mapping(expected.get("with")), **mapping(said.get("with"))})
        credit = {} if not entry.slip.credit or "counterexample" in (check or {}) else {"credit": entry.slip.credit}
        left = {key: each for key, each in said.items() if key not in ("value", "with")}
        shared = {_BY_SHARE: True} if entry.slip.by_share and "credit" not in said else {}
        return {"value": value, "says": entry.slip.hint, **credit, **shared, **left}

    def _other(self, entry: Any, expected: dict[str, Any], place: Path) -> Any:
        """Return an entry of `also_right` or `misconceptions` in full; None if `again` does not inherit it."""
        if isinstance(entry, str):
            slip = self._slip(entry)
            return self._of_slip(slip, expected, {}) if slip else entry
        if not isinstance(entry, dict):
            return entry
        slip = self._slip(entry.get("value"))
        if slip is not None:
            return self._of_slip(slip, expected, entry)
        if "value" not in entry:
            if not isinstance(entry.get("with"), dict):
                self._find(place, "another value needs 'value', or 'with': the conventions that differ")
            elif "quantity" not in expected:
                self._find(place, "'with' changes conventions of the expected quantity, and no quantity is expected")
            changed = {**mapping(expected.get("with")), **mapping(entry.get("with"))}
            entry = {"value": {"quantity": expected.get("quantity"), "with": changed}, **entry}
        elif "with" in entry:
            self._find((*place, "with"), "conventions stand within the value: 'value: {quantity: ..., with: {...}}'")
        if "says" not in entry:
            self._find(place, "another value needs 'says'")
        return {key: value for key, value in entry.items() if key != "with"}

    def _may_be_right(self, entry: Any) -> bool:
        """Return whether an entry may give the right value on some subjects, as slips and conventions do."""
        changed = isinstance(entry, dict) and "value" not in entry
        return changed or self._slip(entry if isinstance(entry, str) else mapping(entry).get("value")) is not None

    def _slip(self, name: Any) -> Entry | None:
        entry = self._quantities.get(name) if isinstance(name, str) else None
        return entry if entry is not None and entry.slip is not None else None

    # ---- other tasks -----------------------------------------------------------------------------------------------

    def _beside(self, row: Any, place: Path) -> Any:
        """Return a row of `beside` in full; another task's check brings its answer, subject and right value."""
        if not isinstance(row, dict):
            return row
        if not isinstance(row.get("check"), str):
            for word in ("says", "answer", "expected"):
                if word not in row:
                    self._find(place, f"a row of 'beside' needs '{word}', or 'check: TASK.CHECK'")
            return row
        extra = [word for word in row if word not in ("check", "says")]
        if extra:
            self._find((*place, extra[0]), f"'check' says which answer it is and what is right: take out '{extra[0]}'")
        task, _, name = row["check"].partition(".")
        found = self._task(task)
        if isinstance(found, str):
            self._find((*place, "check"), found)
            return row
        return self._of_other(row, found, task, name, (*place, "check"))

    def _of_other(self, row: dict[str, Any], found: dict[str, Any], task: str, name: str, place: Path) -> Any:
        checks = {str(each.get("id")): each for each in found["checks"]}
        check = checks.get(name)
        if check is None or "expected" not in check:
            why = "has nothing that is right" if check else f"is not there{did_you_mean(name, checks)}"
            self._find(place, f"the check '{name}' of '{task}' {why}")
            return row
        key = f"{task}-{check['answer']}"
        self._answers[key] = found["answers"][check["answer"]]
        self._moved[("answers", key)] = place
        main, own = mapping(found.get("subject")), mapping(self._data.get("subject"))
        subject = with_inherited(next(iter(listed(check.get("cases"))), {}), main)
        subject = {**{word: default for word, default in _DEFAULTS.items() if word in own}, **subject}
        says = row.get("says", f"{task}.{name}: {found.get('title')}")
        shown = {"says": says, "answer": key, "expected": check["expected"]}
        return {**shown, **(subject if subject != own else {})}
