"""Values and folders on disk: made once, put in place as a whole, and made again where they were damaged."""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
import threading
import time

import pytest
from helpers import kept

from labgrade.files.cache import Cache, key_of, version_of


def make_two(made):
    def make(folder):
        made.append(folder)
        (folder / "one.bin").write_bytes(b"1")
        (folder / "two.txt").write_text("zwei", encoding="utf-8")

    return make


def test_a_folder_is_made_once(tmp_path):
    made = []
    place = Cache(tmp_path).get("ab12", make_two(made))
    assert Cache(tmp_path).get("ab12", make_two(made)) == place
    assert len(made) == 1
    assert (place / "two.txt").read_text(encoding="utf-8") == "zwei"
    assert Cache(tmp_path).get("cd34", make_two(made)) != place
    assert len(made) == 2
    assert {path.name for path in tmp_path.glob("*/*")} == {"ab12", "cd34"}


def damage_content(place):
    (place / "one.bin").write_bytes(b"2")


def damage_content_and_keep_its_times(place):
    before = (place / "one.bin").stat()
    (place / "one.bin").write_bytes(b"2")
    os.utime(place / "one.bin", ns=(before.st_atime_ns, before.st_mtime_ns))


def take_away(place):
    (place / "one.bin").unlink()


def add(place):
    (place / "three").write_text("")


def forget(place):
    (place / ".contents.json").unlink()


def scramble(place):
    (place / ".contents.json").write_text('{"one.bin": 3, "two.txt": []}')


def cut(place):
    (place / ".contents.json").write_text('{"one')


@pytest.mark.parametrize(
    "damage", [damage_content, damage_content_and_keep_its_times, take_away, add, forget, scramble, cut]
)
def test_a_damaged_folder_is_made_again(tmp_path, damage):
    made = []
    place = Cache(tmp_path).get("ab12", make_two(made))
    damage(place)
    assert Cache(tmp_path).get("ab12", make_two(made)) == place
    assert len(made) == 2
    assert (place / "one.bin").read_bytes() == b"1"
    assert not (place / "three").exists()


def test_a_copy_of_a_whole_cache_is_taken_by_its_digests(tmp_path):
    made = []
    place = Cache(tmp_path / "a").get("ab12", make_two(made))
    copy = tmp_path / "b/ab/ab12"
    copy.mkdir(parents=True)
    for path in place.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    assert Cache(tmp_path / "b").get("ab12", make_two(made)) == copy
    assert len(made) == 1


def test_what_fails_leaves_nothing(tmp_path):
    def fail(folder):
        (folder / "half").write_text("half")
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - raised above
        Cache(tmp_path).get("ab12", fail)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.skipif(os.name == "nt", reason="no locks there")
def test_two_at_once_make_it_once(tmp_path):
    made, begun, go_on = [], threading.Event(), threading.Event()

    def slow(folder):
        begun.set()
        go_on.wait(30)
        make_two(made)(folder)

    first = threading.Thread(target=Cache(tmp_path).get, args=("ab12", slow))
    second = threading.Thread(target=Cache(tmp_path).get, args=("ab12", make_two(made)))
    first.start()
    begun.wait(30)
    second.start()
    go_on.set()
    first.join(30)
    second.join(30)
    assert len(made) == 1


def test_values_are_read_back_and_damage_is_told(tmp_path):
    cache = Cache(tmp_path)
    key = key_of("a", [1, {"b": 2}])
    assert cache.read(key) is None
    cache.write(key, {"b": [1, 2.5, None]})
    assert cache.read(key) == ({"b": [1, 2.5, None]},)
    (path,) = tmp_path.glob("*/*.json")
    path.write_text(path.read_text().replace("2.5", "3.5"))
    assert cache.read(key) is None
    path.write_text(json.dumps({"value": 1}))
    assert cache.read(key) is None


def test_a_value_that_is_too_large_is_none(tmp_path):
    Cache(tmp_path).write("ab12", "x" * 100)
    assert Cache(tmp_path, most=200).read("ab12") == ("x" * 100,)
    assert Cache(tmp_path, most=100).read("ab12") is None


def test_keys_follow_from_all_parts():
    assert key_of("a", {"b": 1, "c": 2}) == key_of("a", {"c": 2, "b": 1})
    assert len({key_of("a"), key_of("b"), key_of("a", None), key_of(["a"]), key_of()}) == 5


def test_a_version_is_what_the_library_itself_says(monkeypatch, tmp_path):
    for each in importlib.metadata.distributions():
        assert version_of(each.name) == each.version
    (tmp_path / "other_way.egg-info").write_text("Metadata-Version: 1.0\nName: other-way\nVersion: 0.5\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert version_of("other-way") == "0.5"
    assert version_of("Ruamel_Nothing") == ""
    (tmp_path / "Ruamel.Nothing-0.1.dist-info").mkdir()
    assert version_of("Ruamel_Nothing") == "0.1"  # installed since it was last asked for


def test_of_what_tests_left_the_newest_files_stay(tmp_path):
    for age in range(5):
        path = tmp_path / str(age % 2) / f"{age}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
        os.utime(path, (100 - age, 100 - age))
    kept.forget_oldest(tmp_path, 3)
    assert sorted(path.name for path in tmp_path.rglob("*.json")) == ["0.json", "1.json", "2.json"]
    kept.forget_oldest(tmp_path / "none", 3)


def test_what_nobody_used_for_long_is_deleted(tmp_path):
    memory = Cache(tmp_path)
    for key in ("old", "read", "new"):
        memory.write(key, 1)
    written = {path.stem: path for path in tmp_path.glob("*/*.json")}
    long_ago = time.time() - 91 * 24 * 3600
    os.utime(written["old"], (long_ago, long_ago))
    os.utime(written["read"], (time.time(), long_ago))
    memory.watch()
    assert {path.stem for path in tmp_path.glob("*/*.json")} == {"read", "new"}
    assert memory.discard_changes({}) == []
