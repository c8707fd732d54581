"""Addresses of git repositories, as lab.yaml and the roster name them: of a server, and without any secret."""

from __future__ import annotations

import re
import string
from urllib.parse import urlsplit

FIELDS = ("login", "id", "group", "lab")
_SCHEMES = ("https", "http", "ssh")
_SHORT = re.compile(r"(?:[A-Za-z0-9._~-]+@)?[A-Za-z0-9][A-Za-z0-9.-]*:(?!/)[^:]+")  # git@host:path
_PLAIN = re.compile(r"[A-Za-z0-9_~][A-Za-z0-9._~+@-]*")
_NOT_IN_BRANCHES = ("..", "//", "/.", "@{", "\\", *" ~^:?*[")
_LIKE = "write https://host/path.git, ssh://git@host/path.git or git@host:path.git"


class NoAddressError(ValueError):
    """There is no address for a student; the message says why."""


def problem(text: str) -> str:
    """What is wrong with an address, or nothing.

    >>> problem("https://me:secret@host/lab.git")
    "this address holds a password: leave it out, and say it by $LABGRADE_GIT_TOKEN or a credential helper"
    """
    if not text.isprintable() or " " in text or text.startswith("-"):
        return f"'{text}' is no address of a repository: {_LIKE}"
    try:
        names = [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]
        place = urlsplit(text)
        host, password = place.hostname, place.password
        _ = place.port if "{" not in place.netloc else None
    except ValueError:
        return f"'{text}' is no address of a repository: {_LIKE}"
    unknown = next((name for name in names if name not in FIELDS), None)
    if unknown is not None:
        return f"nothing is filled in for '{{{unknown}}}'; there is {', '.join(f'{{{name}}}' for name in FIELDS)}"
    if password is not None:
        return "this address holds a password: leave it out, and say it by $LABGRADE_GIT_TOKEN or a credential helper"
    if place.scheme in _SCHEMES and place.netloc:
        return "" if host and not host.startswith("-") else f"'{text}' names no server: {_LIKE}"
    return "" if "://" not in text and _SHORT.fullmatch(text) else f"'{text}' is no address of a server: {_LIKE}"


def branch_problem(text: str) -> str:
    """What is wrong with the name of a branch, or nothing; git has these rules (`git check-ref-format`).

    >>> branch_problem("--output=x")
    "'--output=x' is no name of a branch: write main, or feature/x"
    """
    wrong = not text.isprintable() or text.startswith(("-", "/", ".")) or text.endswith(("/", ".", ".lock"))
    if wrong or any(each in text for each in _NOT_IN_BRANCHES):
        return f"'{text}' is no name of a branch: write main, or feature/x"
    return ""


def path_problem(text: str) -> str:
    """What is wrong with the place of something in a repository, or nothing."""
    if not text.isprintable() or text.startswith(("/", "-")) or "\\" in text or ".." in text.split("/"):
        return f"'{text}' is no place in a repository: write lab2, or labs/lab2"
    return ""


def filled_in(template: str, values: dict[str, str]) -> str:
    """The address of one student.

    Raises:
        NoAddressError: it asks for what the student does not have, or what can't stand in an address.
    """
    for _, name, _, _ in string.Formatter().parse(template):
        if name is None:
            continue
        value = values.get(name, "")
        if not value:
            message = f"the address asks for '{{{name}}}', and the roster has none"
            raise NoAddressError(message)
        if not _PLAIN.fullmatch(value) or ".." in value:
            message = f"the {name} '{value}' can't stand in an address; give this student a 'repository' in the roster"
            raise NoAddressError(message)
    return template.format(**values)
