"""A class at any moment of a kill or crash of the machine (`tests/soak/crashes.py`); LABGRADE_CRASHES: of how many."""

import os
import random
import shutil
import sys

import pytest

from tests.soak.crashes import COMMANDS, FIGURES, Disk, applied, row, tried

NOTED = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="what is written is noted on Linux, with a compiler"
)


@NOTED
@pytest.mark.slow
@pytest.mark.promise("nothing-is-lost-by-a-crash")
def test_nothing_is_lost_doubled_or_different():
    moments = int(os.environ.get("LABGRADE_CRASHES", "0"))
    found = list(tried(moments, only=tuple(COMMANDS)) if moments else tried(3, only=("mark",)))
    assert len(found) >= 2
    assert all(count.tried for _, count in found)
    said = "\n".join(row(*each) for each in found)
    assert not any(getattr(count, name) for _, count in found for name in FIGURES[1:]), said


def left(folder, records, tries=60):
    """All that a crash after these records leaves, as often as it takes to see it."""
    found = set()
    for seed in range(tries):
        disk = Disk(folder)
        for record in records:
            disk.take(*(str(folder / each) if at in (2, 3) and each else each for at, each in enumerate(record)))
        place = folder.parent / "left"
        place.mkdir(exist_ok=True)
        disk.sure = {name.replace(str(folder), str(place)): number for name, number in disk.sure.items()}
        disk.moves = [{name.replace(str(folder), str(place)): n for name, n in each.items()} for each in disk.moves]
        disk.left(place, random.Random(seed))  # noqa: S311 - no secret
        found.add(tuple((path.name, path.read_bytes()) for path in sorted(place.iterdir())))
    return found


def test_what_is_not_synced_may_be_lost_or_half_there(tmp_path):
    folder = tmp_path / "kept"
    folder.mkdir()
    (folder / "a").write_bytes(b"old")
    aside = [("open", 0, "a.new", "", b""), ("write", 0, "a.new", "", b"1" * 1000)]
    named = ("rename", 0, "a.new", "a", b"")
    old = (("a", b"old"),)
    careless = left(folder, [*aside, named])
    assert careless >= {old, (("a", b""),), (("a", b"1" * 512),), (("a", b"1" * 1000),)}
    careful = left(folder, [*aside, ("sync", 0, "a.new", "", b""), named])
    assert careful == {(("a", b"old"), ("a.new", b"1" * 1000)), (("a", b"1" * 1000),)}


def test_a_change_may_reach_the_disk_before_an_earlier_one(tmp_path):
    folder = tmp_path / "kept"
    folder.mkdir()
    (folder / "a").write_bytes(b"..")
    found = left(folder, [("write", 0, "a", "", b"1"), ("write", 1, "a", "", b"2")])
    assert {dict(each)["a"] for each in found} == {b"..", b"1.", b".2", b"12"}


def test_a_file_that_is_cut_or_has_a_gap():
    assert applied(b"abc", [(1, None), (3, b"d")]) == b"a\0\0d"
