"""Forms that no page sends: each field of each form of the desk absent, doubled, of another kind, too long, misencoded.

The cases are made of the forms themselves, so that a new field, and a new form, join them.
"""

from __future__ import annotations

import json
from html.parser import HTMLParser
from urllib.parse import quote_plus, urlencode

import pytest
from desk.opened import HOME, QUESTION, Opened, rulings, write_class

from labgrade.review import markers

pytestmark = pytest.mark.slow

SAID = "the first layer is bound by memory because its weights are read once for each row of the output"
TEXTS = [SAID, SAID, f"{SAID} and more", f"{SAID} or less", "| a |\n|---|\n| 1 |", "| b |\n|---|\n| 1 |", "other words"]
FORM = "application/x-www-form-urlencoded"
ODD = ("", "x", "[]", "{}", "-1", "1e400", "NaN", "true", "null", "../../etc", "9" * 30, "\0", "\ud800", "\u202e", "²")
LONG = "7" * (1 << 21)
FORMS = 6
MISENCODED = {"latin-1": "%e9", "overlong": "%c0%80", "surrogate": "%ed%a0%80", "raw": "\xe9", "half": "%e4%b8"}


class Forms(HTMLParser):
    """The forms of a page with what a browser sends of each."""

    def __init__(self, page):
        super().__init__()
        self.found, self._text = [], None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        own = dict(attrs)
        if tag == "form":
            self.found.append((own["action"], []))
        elif tag == "input" and (own.get("type") != "checkbox" or "checked" in own):
            self.found[-1][1].append((own["name"], own.get("value", "")))
        elif tag == "textarea":
            self._text = own["name"], ""

    def handle_data(self, data):
        if self._text is not None:
            self._text = self._text[0], self._text[1] + data

    def handle_endtag(self, tag):
        if tag == "textarea":
            self.found[-1][1].append(self._text)
            self._text = None


@pytest.fixture
def desks(course, monkeypatch):
    monkeypatch.setattr("labgrade.review.markers.sampled", lambda _: True)
    folder = course / "results"
    write_class(folder, TEXTS)
    ann, bob = Opened(folder), Opened(folder, by="bob")
    page = ann.page("s00")
    ann.send(page, points=["3", "0"], comment="a word")
    return ann, bob


def forms(desks):
    """Every form of every page, each once, with the desk that it is of."""
    ann, bob = desks
    pages = {
        "queue": (ann, "/", {}),
        "answer": (ann, "/answer", {**QUESTION, "who": "s02"}),
        "all": (ann, "/all", QUESTION),
        "whole class": (ann, "/all", {}),
        "wordless": (ann, "/all", {**QUESTION, "nothing": "1"}),
        "comments": (ann, "/comments", QUESTION),
        "second": (bob, "/answer", {**QUESTION, "who": "s00", "second": "1"}),
    }
    found = {}
    for name, (desk, path, query) in pages.items():
        there = Forms(desk.client.get(path, params=query).text).found
        assert there, name
        for number, (action, pairs) in enumerate(there):
            sent = [(field, "1" if field == "points" else value) for field, value in pairs]
            kind = action, tuple(field for field, _ in pairs)
            found.setdefault(kind, (f"{name} {number}", desk, action, [*sent, ("in_place", "1")]))
    return list(found.values())


def field_cases(pairs):
    """What becomes of a form whose field is not as it was: what, and the pairs. `None` is a field that is absent."""
    names = list(dict.fromkeys(name for name, _ in pairs))
    for name in names:
        at = next(number for number, (other, _) in enumerate(pairs) if other == name)
        value = pairs[at][1]
        if name not in {"in_place", "row", "second"}:  # which other forms of the desk have not
            yield f"{name} absent", [pair for pair in pairs if pair[0] != name]
        yield f"{name} doubled", [*pairs, (name, value)]
        yield f"{name} too long", replaced(pairs, at, value + LONG)
        for odd in odd_values(name, value):
            yield f"{name} as {odd[:40]!r}", replaced(pairs, at, odd)
    yield "a field that no form has", [*pairs, ("more", "1")]


def replaced(pairs, at, value):
    return [*pairs[:at], (pairs[at][0], value), *pairs[at + 1 :]]


def odd_values(name, value):
    if name == "row":
        return odd_rows(json.loads(value))
    if name in {"comment", "new"}:  # any other text is one
        return ["\ud800", f"{value}\ud800"]
    if name == "points":  # no points at one line of two are none
        return [odd for odd in ODD if odd]
    if name == "who":  # of nobody: the form of a list
        return [odd for odd in ODD if odd]
    return [odd for odd in ODD if odd != value]


def odd_rows(row):
    """JSON that is none of the desk's: each value absent, of another kind, nested without end."""
    yield from (
        "",
        "x",
        "5",
        "[]",
        "{}",
        "null",
        "[" * 50_000,
        '{"a":' * 20_000,
        json.dumps([row]),
        json.dumps(row)[:-1],
    )
    yield json.dumps(row | {"more": 1})
    for name, value in row.items():
        yield json.dumps({other: own for other, own in row.items() if other != name})
        odd = [
            None,
            5,
            1.5,
            True,
            {},
            {"a": 1},
            [[]],
            [None],
            [{}],
            [1.5],
            [True],
            float("inf"),
            "\ud800",
            ["\0"],
            ["\ud800"],
        ]
        odd += ["x", "\0"] if isinstance(value, list) or name == "old" else []
        odd += [[*value, "x"], [*value, 10**30], value * 2, ["x"] * 2] if isinstance(value, list) else [["x"], []]
        for each in odd:
            if name != "points" or each != [*value, "x"]:
                yield json.dumps(row | {name: each})
        yield json.dumps(row | {name: "HERE"}).replace('"HERE"', "[1e400]")


def encoded(pairs):
    return "&".join(f"{quote_plus(n)}={quote_plus(v.encode('utf-8', 'surrogatepass'))}" for n, v in pairs).encode()


def cases(pairs):
    """All odd forms of one: what is odd, the body and its type."""
    for what, odd in field_cases(pairs):
        yield what, encoded(odd), FORM
    good = urlencode(pairs)
    for name in dict.fromkeys(name for name, _ in pairs):
        for how, piece in MISENCODED.items():
            yield f"{name} in {how}", f"{good}&{name}={piece}".encode("latin-1"), FORM
    for charset in ("utf-16", "latin-1", "utf-7", "big5"):
        yield (
            f"all of it as {charset}",
            good.encode(charset if charset != "utf-7" else "ascii"),
            f"{FORM}; charset={charset}",
        )
    yield "all of it in UTF-16", good.encode("utf-16"), FORM
    yield "JSON", json.dumps(pairs).encode(), "application/json"
    yield "text", good.encode(), "text/plain"
    parts = "".join(f'--x\r\ncontent-disposition: form-data; name="{n}"\r\n\r\n{v}\r\n' for n, v in pairs)
    yield "in parts", f"{parts}--x--\r\n".encode(), "multipart/form-data; boundary=x"
    yield "nothing", b"", FORM
    yield "many fields", good.encode() + b"&more=1" * 30_000, FORM


def everything(folder):
    return rulings(folder), markers.seconds(folder)


@pytest.mark.promise("odd-forms-save-nothing")
def test_odd_forms_are_answered_in_words_and_save_nothing(desks):
    before, count, wrong = everything(desks[0].folder), 0, []
    for form, desk, action, pairs in forms(desks):
        for what, body, kind in cases(pairs):
            count += 1
            found = desk.client.post(action, content=body, headers={"origin": HOME, "content-type": kind})
            if not 400 <= found.status_code < 500 or len(found.text) < 20 or everything(desk.folder) != before:
                wrong.append((form, what, found.status_code, found.text[:80]))
                before = everything(desk.folder)
    assert wrong == []
    assert count > 1200


@pytest.mark.parametrize("number", range(FORMS))
def test_the_same_forms_as_they_are_save(desks, number):
    """What the cases above differ from by one thing."""
    found = forms(desks)
    assert len(found) == FORMS, [name for name, *_ in found]
    _, desk, action, pairs = found[number]
    before = everything(desk.folder)
    reply = desk.client.post(action, content=encoded(pairs), headers={"origin": HOME, "content-type": FORM})
    assert reply.status_code == 200
    assert everything(desk.folder) != before


ANSWER = (*QUESTION, "who")
ASKED = {
    "/question": (*QUESTION, "second", "after"),
    "/answer": (*ANSWER, "second"),
    "/all": (*QUESTION, "nothing"),
    "/differ": tuple(QUESTION),
    "/comments": tuple(QUESTION),
    "/pictures": ANSWER,
    "/picture": (*ANSWER, "number"),
    "/student": ("who",),
    "/alike": ("one", "other"),
}


def test_odd_addresses_lead_to_a_page_or_are_said_to_lead_nowhere(desks):
    """Every page with each word of an address absent, odd, too long or misencoded."""
    ann = desks[0]
    before, good = everything(ann.folder), {**QUESTION, "who": "s02", "number": "0", "one": "s00", "other": "s01"}
    odd = [quote_plus(each.encode("utf-8", "surrogatepass")) for each in ("", "../../etc", "\0", "\ud800")] + [
        "9" * 5000,
        MISENCODED["latin-1"],
    ]
    for path, names in ASKED.items():
        for name in names:
            rest = urlencode({other: value for other, value in good.items() if other != name})
            for each in ("", *(f"&{name}={value}" for value in odd), f"&{name}=s00&{name}=s01"):
                found = ann.client.get(f"{path}?{rest}{each}")
                assert found.status_code in {200, 404}, (path, name, each[:40])
    assert everything(ann.folder) == before
