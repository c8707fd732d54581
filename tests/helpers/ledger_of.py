"""A report as the ledger of a folder of results, for tests of what reads one."""

import json
import shutil
import tempfile
from functools import cache
from pathlib import Path

from labgrade.core import serialise
from labgrade.ledger import rows
from labgrade.ledger.database import Ledger, dump
from labgrade.review import handed_in_times


@cache
def _scratch():
    return tempfile.TemporaryDirectory(prefix="labgrade-tests-")


_MADE = {}  # by report: the folder that was written once, of which each new one is a copy


def write(folder, report):
    """Let the folder hold this report and no other, as if it had been graded."""
    if folder.exists():
        _write(folder, report)
        return
    key = json.dumps(serialise.plain(report), sort_keys=True)
    if key not in _MADE:
        place = Path(_scratch().name) / str(len(_MADE))
        _write(place, report)
        _MADE[key] = place
    shutil.copytree(_MADE[key], folder)


def _write(folder, report):
    folder.mkdir(parents=True, exist_ok=True)
    with Ledger(folder, write=True) as ledger:
        run = rows.begin(ledger, {})
        with ledger.transaction():
            ledger.write("DELETE FROM graded")
            ledger.write("DELETE FROM submission")
            for each in report.submissions:
                ledger.write("INSERT INTO submission VALUES (?, ?, ?, ?)", each.name, "", dump(each.remarks), run)
                for task in each.tasks:
                    for number, check in enumerate(task.checks):
                        standing = rows.CheckRow(
                            place=number,
                            title=task.title,
                            points=str(task.points),
                            judged=None,
                            at=rows.now(),
                            plain=serialise.plain(check),
                        )
                        rows.write_standing(ledger, each.name, (task.lab, task.id, check.id), standing, run)
        rows.end(ledger, run, report.notes)
    moments = {each.name: {"at": each.handed_in, "by": each.handed_in_by, "remarks": []} for each in report.submissions}
    (folder / handed_in_times.FILE).write_text(json.dumps(moments))
