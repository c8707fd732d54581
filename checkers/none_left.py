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


def none_left(
    answer: Table | Findings | Artifact,
    expected: Value | None,
    *,
    says: str = "nothing wrong was found: this holds for every input",
) -> Verdict:
    """Right where nothing is found; else the findings are the reason, a line each, with a picture where there is one.

    `says`: what a student reads where nothing is.

    Findings that are not certain cost nothing by themselves: the verdict waits for a person, with what evidence there
    is. A finding that is labgrade's own failure is a FAULT, and a finding that nothing is there is MISSING.
    """
    del expected  # nothing is what is expected
    if isinstance(answer, Table):
        answer = Findings(found=tuple(Finding(says=row.name) for row in answer.rows))
    if not isinstance(answer, Findings):
        return incorrect(f"got {shown(answer)}, which is no list of findings")
    if not answer.found:
        return correct(says)
    fault = next((finding for finding in answer.found if finding.fault), None)
    if fault is not None:
        reason = "labgrade contradicts itself about this file. That is its fault, not yours; a person will look at it"
        return without_value(Outcome.FAULT, reason, fault=fault.says)
    absent = next((finding for finding in answer.found if finding.absent), None)
    if absent is not None:
        return without_value(Outcome.MISSING, absent.says)
    certain = [finding for finding in answer.found if finding.certain]
    if certain:
        picture = next((finding.picture for finding in certain if finding.picture), ())
        first, *others = (finding.says for finding in certain)
        return replace(incorrect(first), lines=tuple(others), picture=picture, grids=_grids(certain))
    facts = {}
    evidence = next((finding.opinion for finding in answer.found if finding.opinion), "")
    if evidence:
        facts["execution"] = evidence
    waits = without_value(Outcome.MANUAL, "a person has to look:", hint="no points are lost meanwhile", **facts)
    return replace(waits, lines=tuple(finding.says for finding in answer.found), grids=_grids(answer.found))


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
