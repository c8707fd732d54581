"""What both pages share: the templates, the style, what may be shown as it is, and a policy that lets nothing load."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from labgrade.report import sums
from labgrade.report.html.words import KINDS, LOOKS
from labgrade.report.seen import seen
from labgrade.values import show

if TYPE_CHECKING:
    from fractions import Fraction

_CUT = 4000  # characters of one text; a report is read by people


def render(template: str, script: str = "", **values: Any) -> str:
    """A page from its template. `script` is the only code on it.

    Every text is escaped by Jinja2, and shown without characters that can't be seen.
    """
    environment = Environment(
        loader=PackageLoader("labgrade.report.html", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    environment.filters |= {"points": sums.points, "number": show, "moment": sums.moment}
    page = environment.get_template(template)
    ours = Markup(script)  # noqa: S704 - a file of ours
    return page.render(style=_own("style.css"), script=ours, csp=_policy(script), looks=LOOKS, kinds=KINDS, **values)


def own_script(name: str) -> str:
    """A script of ours, as it stands in the page."""
    return str(_own(name))


def percent(share: Fraction | float) -> str:
    """A share as a number for CSS: `32.4`."""
    return f"{100 * min(1.0, max(0.0, float(share))):.1f}"


def _visible(value: object) -> object:
    """A text as a reader may see it; markup that we made stays what it is."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    text = value if len(value) <= _CUT else f"{value[:_CUT]}... ({len(value) - _CUT:,} more characters)"
    return seen(text)


def _own(name: str) -> Markup:
    text = files("labgrade.report.html").joinpath("templates", name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704 - a file of ours


def _policy(script: str) -> str:
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
