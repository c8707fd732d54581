"""The written part that a link names, beside a submission: each download is kept, and the deadline's counts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from labgrade.collect import documents
from labgrade.collect.counting import stamp
from labgrade.collect.documents import NoDocumentError, Rules
from labgrade.review.late import due_for
from labgrade.spec import lab as late_rules
from labgrade.submissions.collected import TAKEN
from labgrade.submissions.standing import NOBODY_WAITS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from labgrade.collect.taking import CollectRequest, Entry

NONE = "no report"  # of who has no repository, and whose report can't be had
_SOON = timedelta(hours=1)  # what is downloaded so soon after the deadline is what was there at the deadline


def with_document(asked: CollectRequest, entry: Entry, folder: Path) -> Entry:
    """The entry with the document that its link names, if it has one. It is taken in without a repository, too."""
    link = _link(asked, entry)
    if not link:
        return entry
    limit = _limit(asked, entry)
    trouble = _download(asked, link, folder, limit)
    versions = [each for each in asked.mirror.documents if each["link"] == link]
    chosen = _chosen(versions, limit)
    if entry["state"] != TAKEN:
        if chosen is None:
            said = f"{entry['said']}; the report by its link: {trouble}" if entry["said"] else trouble
            return {**entry, "said": said}
        entry = _entry_of_report(entry, datetime.fromisoformat(chosen["at"]), limit)
    found = {**entry, "document": {**(chosen or {"link": link}), "trouble": trouble}}
    if others := sorted({each.document for each in asked.repository.owners} - {link, ""}):
        found["document"]["others"] = f"the report at {link} was taken; the roster names another, {', '.join(others)}"
    if chosen is not None and limit is not None and (at := datetime.fromisoformat(chosen["at"])) > limit + _SOON:
        found["document"]["late"] = f"the report was first downloaded at {stamp(at)}, after the deadline"
    return found


def _entry_of_report(entry: Entry, at: datetime, limit: datetime | None) -> Entry:
    """Return the entry of a report without a repository. Nobody knows when a late one was written."""
    known = limit is None or at <= limit + _SOON
    moment = at if limit is None else min(at, limit)
    found = {
        **{key: value for key, value in entry.items() if key != "basis"},
        "state": TAKEN,
        "said": "",
        "handed_in": moment.isoformat() if known else None,
        "by": f"the download of its report at {stamp(at)}" if known else "",
        "days_late": 0,
        "left_out": [],
        "staff": [],
    }
    if entry["state"] in NOBODY_WAITS:
        found["staff"] = [f"the report by its link is all that was taken in; of the repository: {entry['said']}"]
    elif entry["state"] != NONE:
        found["trouble"] = f"{entry['said']}; the report by its link was taken in alone"
    return found


def _link(asked: CollectRequest, entry: Entry) -> str:
    """Return the report's link, from the roster or from a file of the commit that counts."""
    if asked.repository.link or not asked.rules.get("document") or "commit" not in entry:
        return asked.repository.link
    path = f"{asked.folder}/{asked.rules['document']}".lstrip("/")
    return documents.link_in(asked.mirror.text(entry["commit"], path))


def _limit(asked: CollectRequest, entry: Entry) -> datetime | None:
    if asked.deadline is None:
        return None
    rule = asked.deadline.rule
    grace = rule.grace if rule is not None else timedelta(0)
    return late_rules.last_moment(due_for(asked.deadline, asked.repository.group), entry.get("days_late", 0), grace)


def _download(asked: CollectRequest, link: str, folder: Path, limit: datetime | None) -> str:
    """Download a report unless the version that counts is there; return why that failed, or ""."""
    versions = [datetime.fromisoformat(each["at"]) for each in asked.mirror.documents if each["link"] == link]
    if limit is not None and any(at > limit for at in versions):
        return ""
    rules = Rules(hosts=tuple(asked.rules.get("hosts", ())), local=bool(asked.rules.get("local", False)))
    try:
        text = documents.download(link + asked.rules.get("download", ""), rules)
    except NoDocumentError as error:
        return str(error)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    asked.mirror.note({"document": {"link": link, "digest": documents.keep(text, folder), "at": at}})
    return ""


def _chosen(versions: Sequence[Mapping[str, str]], limit: datetime | None) -> Mapping[str, str] | None:
    """Return the last version before the deadline, or else the first after it."""
    if limit is None:
        return versions[-1] if versions else None
    in_time = [each for each in versions if datetime.fromisoformat(each["at"]) <= limit + _SOON]
    return in_time[-1] if in_time else versions[0] if versions else None
