"""What a forge's API knows and git can't: when branches were pushed to, and who else may read a repository.

`Forge` is the interface. python-gitlab and PyGithub speak to the servers; they are loaded where lab.yaml names a forge.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, urlsplit

from labgrade.core.errors import UsageError
from labgrade.submissions import git_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

GITLAB, GITHUB = "gitlab", "github"
_NEEDED = {GITLAB: "gitlab", GITHUB: "github"}  # what the packages are called when they are imported
_SECONDS = 30
_MOST = 5_000
_READS = 20  # GitLab's access levels: from "reporter" on, who can read a private project's code
_BRANCH = "refs/heads/"
_NONE = "0" * 40


class NotToldError(Exception):
    """The API gave no answer; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Push:
    """A push as the server recorded it: the branch's commit before and after, "" if it did not exist."""

    at: datetime
    branch: str
    before: str = ""
    after: str = ""


class Forge(Protocol):
    """A server's API, asked for a repository by its path (`nn26/annalee/lab2`)."""

    def pushes(self, path: str) -> Iterator[Push]:
        """The pushes to branches, in any order."""

    def members(self, path: str) -> Iterator[str]:
        """The logins of all who may read it."""


def ask_forge(forge: Forge, path: str) -> tuple[list[Push], list[str]]:
    """The pushes, oldest first, and the members.

    Raises:
        NotToldError: it can't be had.
    """
    try:
        pushes = list(itertools.islice(forge.pushes(path), _MOST))
        members = {each.casefold() for each in itertools.islice(forge.members(path), _MOST)}
    except Exception as error:  # of two libraries, and of what a server sends
        message = f"{type(error).__name__}: {error}"
        raise NotToldError(message) from error
    return sorted(pushes, key=lambda each: each.at), sorted(members)


def path_of(address: str, api: str) -> str:
    """The path of a repository on its server, as APIs want it."""
    path = urlsplit(address).path if "://" in address else address.partition(":")[2]
    around = urlsplit(api).path.strip("/") if "://" in address and not address.startswith("ssh:") else ""
    return path.strip("/").removesuffix(".git").removeprefix(f"{around}/" if around else "")


def forge_of(rules: Mapping[str, Any]) -> tuple[Forge, str] | None:
    """Return the API that lab.yaml names and its address, or None.

    Raises:
        UsageError: it can't be asked.
    """
    if not (kind := rules.get("forge")):
        return None
    if find_spec(_NEEDED[kind]) is None:
        message = f"'forge: {kind}' needs what is not installed: python -m pip install 'labgrade[forges]'"
        raise UsageError(message)
    if not (token := git_run.token()):
        message = f"'forge: {kind}' needs a token that may read the API: ${git_run.TOKEN} or ${git_run.TOKEN_FILE}"
        raise UsageError(message)
    api = rules.get("api") or _api(kind, rules.get("repository", ""))
    place = urlsplit(api)
    if place.scheme != "https" and (place.scheme, place.hostname in git_run.LOOPBACK) != ("http", True):
        message = f"the token would be sent to '{api}', which is no https://: say collect.api in lab.yaml"
        raise UsageError(message)
    return (_GitLab(api, token) if kind == GITLAB else _GitHub(api, token)), api


def _api(kind: str, repository: str) -> str:
    place = urlsplit(repository if "://" in repository else f"ssh://{repository.replace(':', '/', 1)}")
    if place.scheme == "ssh":
        site = f"https://{place.hostname}"
    else:
        site = f"{place.scheme}://{place.netloc.rpartition('@')[2]}"
    if kind == GITLAB:
        return site
    return "https://api.github.com" if place.hostname == "github.com" else f"{site}/api/v3"


class _GitLab:
    """GitLab by python-gitlab: the project's events, and its members with those of the groups around it."""

    def __init__(self, api: str, token: str) -> None:
        import gitlab
        import requests

        session = requests.Session()
        session.max_redirects = 0  # the token goes to this server alone
        self._quick: dict[str, Any] = {"iterator": True, "obey_rate_limit": False}
        # As a bearer: GitLab takes tokens of all kinds so.
        self._server = gitlab.Gitlab(
            api, oauth_token=token, timeout=_SECONDS, per_page=100, session=session, keep_base_url=True
        )

    def pushes(self, path: str) -> Iterator[Push]:
        """The pushes; one push of many branches at once is recorded without commits, and left out."""
        project = self._server.projects.get(path, lazy=True)
        for event in project.events.list(action="pushed", sort="asc", **self._quick):
            data = event.push_data
            if data["ref_type"] == "branch" and data["ref"]:
                moment = datetime.fromisoformat(event.created_at)
                sides = {"before": data["commit_from"] or "", "after": data["commit_to"] or ""}
                yield Push(at=moment, branch=data["ref"], **sides)

    def members(self, path: str) -> Iterator[str]:
        project = self._server.projects.get(path, lazy=True)
        found: Iterable[Any] = project.members_all.list(**self._quick)
        yield from (each.username for each in found if each.access_level >= _READS)


class _GitHub:
    """GitHub by PyGithub: the repository's activities, which it has no method for, and its collaborators."""

    def __init__(self, api: str, token: str) -> None:
        import github

        auth = github.Auth.Token(token)
        self._server = github.Github(base_url=api, auth=auth, timeout=_SECONDS, per_page=100, retry=None, lazy=True)

    def pushes(self, path: str) -> Iterator[Push]:
        from github.PaginatedList import PaginatedList

        def plain(_: object, __: object, attributes: dict[str, Any], *___: object) -> dict[str, Any]:
            return attributes

        pages: Any = PaginatedList  # typed for classes of its own alone
        found = pages(plain, self._server.requester, f"/repos/{quote(path)}/activity", {"direction": "asc"})
        for each in found:
            if each["ref"].startswith(_BRANCH):
                sides = {side: "" if each[side] == _NONE else each[side] for side in ("before", "after")}
                moment = datetime.fromisoformat(each["timestamp"])
                yield Push(at=moment, branch=each["ref"].removeprefix(_BRANCH), **sides)

    def members(self, path: str) -> Iterator[str]:
        repository = self._server.get_repo(path)
        yield from (each.login for each in repository.get_collaborators())
