"""How torchinfo and torchsummary name the rows of their tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import nn

if TYPE_CHECKING:
    from .trace import Call, Trace


@dataclass(slots=True)
class _ModulePlace:
    """Where a module is registered: torchinfo takes the last place of a module that has several."""

    module: nn.Module
    variable: str
    depth: int
    parent: _ModulePlace | None


@dataclass(slots=True)
class Printed:
    """A row of torchinfo's table. `call` is None for a container that is never called itself (a ModuleList)."""

    call: Call | None
    module: nn.Module
    names: tuple[str, ...]


def torchinfo_rows(trace: Trace) -> list[Printed]:
    """The rows of torchinfo 1.8's table in its order, with what it calls them.

    Rows stand in the order in which calls begin. A container that is not called gets a row before the first of its
    modules, and again when the run comes back to it; all its rows then have the last one's number. The number after
    the depth counts the rows of that depth; it is the same however deep the table is printed.
    """
    places = _places(trace.root)
    rows: list[tuple[Call | None, _ModulePlace]] = [
        (call, places[call.module]) for call in trace.calls if call.module in places
    ]
    _add_silent_containers(rows)
    seen: Counter[int] = Counter()
    numbers = []
    silent: dict[nn.Module, int] = {}
    for call, place in rows:
        seen[place.depth] += 1
        numbers.append(seen[place.depth])
        if call is None:
            silent[place.module] = seen[place.depth]
    printed = []
    for (call, place), count in zip(rows, numbers, strict=True):
        kind = type(place.module).__name__
        number = f"{place.depth}-{count if call else silent[place.module]}"
        names = (
            (f"{kind}: {number}", f"{kind} ({place.variable}): {number}") if place.depth else (kind, f"{kind} ({kind})")
        )
        printed.append(Printed(call, place.module, names))
    return printed


def torchsummary_names(trace: Trace) -> dict[int, str]:
    """What torchsummary 1.5 calls each call, by the call's id: its class and a number in order of completion.

    It leaves out the root, Sequential and ModuleList, and what derives from them.
    """
    listed = sorted(
        (
            call
            for call in trace.calls
            if call.module is not trace.root and not isinstance(call.module, nn.Sequential | nn.ModuleList)
        ),
        key=lambda call: call.finished,
    )
    return {id(call): f"{call.type}-{number}" for number, call in enumerate(listed, 1)}


def all_names(root: nn.Module) -> dict[nn.Module, list[str]]:
    """Every dotted name of every module; a module that is registered twice has two."""
    names: dict[nn.Module, list[str]] = defaultdict(list)
    for name, module in root.named_modules(remove_duplicate=False):
        names[module].append(name)
    return names


def _places(root: nn.Module) -> dict[nn.Module, _ModulePlace]:
    places: dict[nn.Module, _ModulePlace] = {}
    waiting = [_ModulePlace(root, "", 0, None)]
    while waiting:
        place = waiting.pop()
        places[place.module] = place
        children = [(name, child) for name, child in place.module._modules.items() if child is not None]  # noqa: SLF001 - named_children leaves out a module's second name
        waiting += [_ModulePlace(child, name, place.depth + 1, place) for name, child in reversed(children)]
    return places


def _add_silent_containers(rows: list[tuple[Call | None, _ModulePlace]]) -> None:
    """Put a row for each container around a row that is not shown around it yet, outermost first."""
    shown: dict[int, nn.Module] = {}
    at = 0
    while at < len(rows):
        place = rows[at][1]
        around = {}
        parent = place.parent
        while parent is not None and parent.depth > 0:
            around[parent.depth] = parent
            parent = parent.parent
        for depth in range(1, place.depth):
            if shown.get(depth) is not around[depth].module:
                rows.insert(at, (None, around[depth]))
                shown[depth] = around[depth].module
                at += 1
        shown = {depth: module for depth, module in shown.items() if depth < place.depth}
        shown[place.depth] = place.module
        at += 1
