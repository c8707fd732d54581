"""The command `labgrade doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labgrade import doctor
from labgrade.sandbox.runner import Runner

if TYPE_CHECKING:
    import argparse

_LOOKS = {True: ("+", "green"), False: ("x", "red"), None: ("-", "yellow")}


def run(options: argparse.Namespace) -> int:
    """Print every finding as it comes. 0 where nothing is wrong, else 1."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    findings = []
    with Runner() as runner:
        for finding in doctor.examine(runner):
            findings.append(finding)
            if options.json:
                continue
            mark, style = _LOOKS[finding.good]
            console.print(
                Text.assemble((f"{mark} ", style), (finding.what, "bold"), f": {finding.found}"), soft_wrap=True
            )
            if finding.remedy:
                console.print(Text(f"    {finding.remedy}", "dim"), soft_wrap=True)
    if options.json:
        print(doctor.as_json(findings))  # noqa: T201
    return int(any(finding.good is False for finding in findings))
