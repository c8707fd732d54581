"""What `labgrade regrade` repeats: all that any run asked for, of each submission as it was taken last."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade.core.errors import UsageError
from labgrade.core.text import encodable
from labgrade.ledger import read
from labgrade.sandbox.runner import Runner
from labgrade.spec import load
from labgrade.submissions import find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from labgrade.ledger.database import Ledger
    from labgrade.run.plan import RunRequest
    from labgrade.spec.course import Course

_ORIGIN = ("source", "root", "torch_home")


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """A run that repeats earlier ones, and the specs that it reads."""

    request: RunRequest
    choose: Callable[[Course], list[Path]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plans:
    """The runs, one for each place of submissions. `gone`: submissions that no place holds any more."""

    runs: tuple[Again, ...]
    gone: tuple[str, ...] = ()


def plans(ledger: Ledger, how: RunRequest) -> Plans:
    """Return what to repeat for a folder of results, with the options of `how`. Newcomers are graded, too.

    Where the place of a later hand-in is gone, an earlier one never takes its place.

    Raises:
        UsageError: none of the places is there any more.
    """
    runs, seen = read.run_requests(ledger), read.handed_in(ledger)
    asked = {number: plain for number, plain in runs.items() if not plain.get("again")}
    taken: set[str] = set()
    names: dict[tuple[Any, ...], list[str]] = {}
    missing: dict[str, str] = {}
    for number, plain in asked.items():
        try:
            with Runner() as runner:
                there = find.names_in(Path(plain["source"]), plain["names"], opening=runner.open)
        except UsageError as error:
            missing.setdefault(plain["source"], str(error))
            continue
        mine = [
            name
            for name in dict.fromkeys(there)
            if encodable(name) not in taken and _has_it(number, plain, seen.get(encodable(name)), runs)
        ]
        taken.update(map(encodable, mine))
        if mine:
            names.setdefault(tuple(plain.get(key) for key in _ORIGIN), []).extend(mine)
    if missing and not names:
        raise UsageError("\n".join(missing.values()))
    return Plans(
        runs=tuple(
            Again(
                request=replace(how, names=tuple(sorted(own)), again=True, **_origin(origin)),
                choose=_chooser([plain for plain in asked.values() if plain["root"] == origin[1]]),
            )
            for origin, own in names.items()
        ),
        gone=tuple(sorted(seen.keys() - taken)),
    )


def _has_it(number: int, plain: dict[str, Any], since: int | None, runs: Mapping[int, dict[str, Any]]) -> bool:
    """Return whether a run took a submission as it is now (seen `since` then), not an earlier hand-in."""
    return since is None or number >= since or plain["source"] == runs[since]["source"]


def _origin(origin: tuple[Any, ...]) -> dict[str, Any]:
    source, root, torch_home = origin
    return {
        "source": Path(source),
        "root": Path(root) if root else None,
        "torch_home": Path(torch_home) if torch_home else None,
    }


def _chooser(asked: Iterable[dict[str, Any]]) -> Callable[[Course], list[Path]]:
    """Return a chooser of all specs that any of these runs asked for."""
    wanted = [(plain["lab"], plain["tasks"]) for plain in asked]

    def choose(found: Course) -> list[Path]:
        return [
            path
            for path in load.files(found.specs)
            if any(lab in (None, path.parent.name) and (not tasks or path.stem in tasks) for lab, tasks in wanted)
        ]

    return choose
