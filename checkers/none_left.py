"""The checker for findings: whatever was found to be wrong with a file is one too many."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labgrade.values import Finding, Findings, Table
from labgrade.verdict import Outcome, TileGrid, Verdict, correct, incorrect, without_value

from ._wording import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labgrade.values import Artifact, Value


def none_left(answer: Table | Findings | Artifact, expected: Value | None) -> Verdict:
    """Right where nothing is found; else the findings are the reason, a line each, with a picture where there is one.

    Findings that are not certain cost nothing by themselves: the verdict waits for a person, with what evidence there
    is.
    """
    del expected  # nothing is what is expected
    if isinstance(answer, Table):
        answer = Findings(found=tuple(Finding(says=row.name) for row in answer.rows))
    if not isinstance(answer, Findings):
        return incorrect(f"got {shown(answer)}, which is no list of findings")
    if not answer.found:
        return correct("nothing wrong was found: this holds for every input")
    certain = [finding for finding in answer.found if finding.certain]
    if certain:
        picture = next((finding.picture for finding in certain if finding.picture), ())
        said = incorrect("\n".join([*(finding.says for finding in certain), *picture]))
        return replace(said, grids=_grids(certain))
    facts = {}
    evidence = next((finding.opinion for finding in answer.found if finding.opinion), "")
    if evidence:
        facts["second opinion"] = evidence
    reason = "\n".join(["a person has to look:", *(finding.says for finding in answer.found)])
    waits = without_value(Outcome.MANUAL, reason, hint="no points are lost meanwhile", **facts)
    return replace(waits, grids=_grids(answer.found))


def _grids(found: Iterable[Finding]) -> tuple[TileGrid, ...]:
    """The tiles of each layer that has wrong ones."""
    return tuple(
        TileGrid(
            layer=grid.layer,
            block=grid.block,
            tiles=grid.tiles,
            scale=grid.scale,
            lines=grid.lines,
            picture=finding.picture,
        )
        for finding in found
        if (grid := finding.grid) is not None
    )
