"""What both pages share: the templates, the style, what may be shown as it is, and a policy that lets nothing load."""

from __future__ import annotations

import base64
import functools
import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from labgrade.core.text import escaped
from labgrade.reports import summary
from labgrade.values import show
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

# sign, word, class of its colour
LOOKS = {
    Outcome.CORRECT: ("✓", "right", "right"),
    Outcome.PARTIAL: ("~", "partly right", "partly"),
    Outcome.INCORRECT: ("✗", "wrong", "wrong"),
    Outcome.MISSING: ("-", "not handed in", "missing"),
    Outcome.CRASHED: ("!", "crashed", "wrong"),
    Outcome.TIMEOUT: ("!", "took too long", "wrong"),
    Outcome.MEMORY: ("!", "needed too much memory", "wrong"),
    Outcome.OUTPUT: ("!", "printed too much", "wrong"),
    Outcome.SKIPPED: ("·", "not tried yet", "missing"),
    Outcome.MANUAL: ("?", "waits for a person", "waiting"),
    Outcome.FAULT: ("#", "failed on our side", "waiting"),
}
# What a row of tiles counts, and the outcomes that it sums up.
KINDS = {
    "right": ("right", {Outcome.CORRECT}),
    "partly": ("partly right", {Outcome.PARTIAL}),
    "wrong": ("wrong", {o for o, (_, _, kind) in LOOKS.items() if kind == "wrong"}),
    "missing": ("missing", {Outcome.MISSING}),
    "skipped": ("not tried yet", {Outcome.SKIPPED}),
    "waiting": ("waiting", {Outcome.MANUAL, Outcome.FAULT}),
}


_CUT = 4000  # characters of one text; a report is read by people


def render(template: str, script: str = "", **values: Any) -> str:
    """A page from its template. `script` is the only code on it."""
    trusted = Markup(script)  # noqa: S704 - a file of labgrade's
    page = _environment().get_template(template)
    return page.render(style=_own("style.css"), script=trusted, csp=policy(script), **values)


def fragment(template: str, **values: Any) -> Markup:
    """A part of a page from its template."""
    return Markup(_environment().get_template(template).render(**values))  # noqa: S704 - escaped by Jinja2


@functools.cache
def _environment() -> Environment:
    found = environment("labgrade.reports.html", _visible)
    found.globals |= {"looks": LOOKS, "kinds": KINDS}
    found.filters |= {"whole": _uncut, "points": summary.points, "number": show, "moment": summary.moment}
    return found


def environment(package: str, visible: Callable[[object], object]) -> Environment:
    """Return the templates of a package. Every text is made `visible`, then escaped by Jinja2."""
    return Environment(
        loader=PackageLoader(package, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=visible,
    )


def own_script(name: str) -> str:
    """A script of labgrade's, as it stands in the page."""
    return str(_own(name))


def percent(share: Fraction | float) -> str:
    """A share as a number for CSS: `32.4`."""
    return f"{100 * min(1.0, max(0.0, float(share))):.1f}"


def _visible(value: object) -> object:
    """Make a text's invisible characters visible; our own markup stays as it is."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    text = value if len(value) <= _CUT else f"{value[:_CUT]}... ({len(value) - _CUT:,} more characters)"
    return escaped(text)


def _uncut(text: str) -> Markup:
    """Return a person's text in full."""
    return Markup.escape(escaped(text))


def _own(name: str) -> Markup:
    text = files("labgrade.reports.html").joinpath("templates", name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704 - a file of labgrade's


def policy(script: str) -> str:
    """Content-Security-Policy: nothing is loaded from anywhere, and no other script runs than ours, by its digest."""
    rules = [
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    if script:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        rules.append(f"script-src 'sha256-{digest}'")
    return "; ".join(rules)
