"""Tables of what somebody measured: what no measurement can be."""

from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_THOUSAND = 1000.0
_LEAST_OF_ROOF = 1e-4  # of what the roof allows: slower than that is a unit, or another machine
_LIKELY = 0.03  # of the roof, so that nothing else explains it
_AS_PRINTED = 0.05  # by how much a rate may differ from what it is made of, with few digits
_NEAR = 0.1
_MOST_ROWS = 10_000
_MOST_SAID = 4


def roofline_findings(artifact: Path, *, peak: float, bandwidth: float) -> list[dict[str, Any]]:
    """What physics forbids in a .csv of measured kernels with the columns kernel, flops, bytes and seconds.

    No number is negative or zero, and no kernel is faster than the least of `peak` and `bandwidth` * flops / bytes.
    Where all are far above it, and a thousandth of each is not, a unit is off by a thousand; where each is below a
    ten-thousandth of it, and a thousand times as much is not, a person looks. A column gflops has to be
    flops / seconds / 1e9.

    Raises:
        ValueError: the file is no such table.
    """
    try:
        rows = list(_read(artifact))
    except csv.Error as error:
        message = f"this is no table in .csv: {error}"
        raise ValueError(message) from None
    bad = [
        f"'{name}': {column} is {value:g}, and it has to be above 0"
        for name, own in rows
        for column, value in own.items()
        if value <= 0
    ]
    if bad:
        return [{"says": said} for said in bad[:_MOST_SAID]]
    if against := [said for name, own in rows if (said := _against_its_rate(name, own))]:
        return [{"says": said} for said in against[:_MOST_SAID]]
    shares = {name: _share(own, peak, bandwidth) for name, own in rows}
    above = {name: share for name, share in shares.items() if share > 1}
    if above and all(_LIKELY <= share / _THOUSAND <= 1 for share in shares.values()):
        says = "all rows are above the roof, and a thousandth is not: the unit of flops or seconds is off by a thousand"
        return [{"says": says}]
    if not above and all(share < _LEAST_OF_ROOF <= share * _THOUSAND <= 1 for share in shares.values()):
        says = (
            "each row is below a ten-thousandth of the roof: are the seconds milliseconds, or the FLOPs in thousands?"
        )
        return [{"says": says, "certain": False}]
    return [
        {"says": f"'{name}' is {share:.3g} times as fast as the roof allows: no kernel is above it"}
        for name, share in list(above.items())[:_MOST_SAID]
    ]


def _share(own: dict[str, float], peak: float, bandwidth: float) -> float:
    return own["flops"] / own["seconds"] / min(peak, bandwidth * own["flops"] / own["bytes"])


def _against_its_rate(name: str, own: dict[str, float]) -> str:
    """What is wrong with a rate that stands beside what it is made of."""
    rate = own["flops"] / own["seconds"] / 1e9
    if "gflops" not in own or abs(own["gflops"] / rate - 1) <= _AS_PRINTED:
        return ""
    times = own["gflops"] / rate
    thousands = min(abs(times / _THOUSAND - 1), abs(times * _THOUSAND - 1)) < _NEAR
    unit = ": a unit is off by a thousand" if thousands else ""
    return f"'{name}': gflops is {own['gflops']:g}, and flops / seconds / 1e9 is {rate:.3g}{unit}"


def _read(artifact: Path) -> Iterator[tuple[str, dict[str, float]]]:
    text = artifact.read_text(encoding="utf-8-sig", errors="replace")
    table = csv.DictReader(text.splitlines())
    wanted = ("flops", "bytes", "seconds")
    heads = {str(each).strip().lower(): each for each in table.fieldnames or ()}
    if lacking := [name for name in ("kernel", *wanted) if name not in heads]:
        message = f"the first line names no column '{lacking[0]}': kernel,flops,bytes,seconds"
        raise ValueError(message)
    count = 0
    for row in table:
        count += 1
        name = str(row[heads["kernel"]]).strip()
        there = [*wanted, *(["gflops"] if "gflops" in heads and str(row[heads["gflops"]] or "").strip() else [])]
        yield name, {column: _number(row[heads[column]], name, column) for column in there}
    if not 0 < count <= _MOST_ROWS:
        message = f"the table has {count:,} rows; one for each kernel is asked for"
        raise ValueError(message)


def _number(text: str | None, name: str, column: str) -> float:
    try:
        value = float(str(text).strip())
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        message = f"'{name}': {column} is '{str(text)[:40]}', which is no number"
        raise ValueError(message)
    return value
