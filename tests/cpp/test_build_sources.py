"""Where the sources of a program are looked for, and what says how they are built."""

import pytest
from helpers.handed_in import read

from labgrade.cpp.sources import find


@pytest.fixture
def found(tmp_path):
    def look(*files, folder="hw2-4"):
        for name in files:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)
        return find(read(tmp_path, "anna"), folder)

    return look


def test_cmake_comes_before_make_and_make_before_a_lone_file(found):
    assert found("hw2-4/a.cpp").kind == "file"
    assert found("hw2-4/Makefile").kind == "make"
    sources = found("hw2-4/CMakeLists.txt")
    assert (sources.kind, sources.where, sources.name) == ("cmake", "", "hw2-4")
    assert sources.files == ("CMakeLists.txt", "Makefile", "a.cpp")


def test_the_folder_may_lie_deeper_and_hold_the_project_deeper(found):
    sources = found("lab02/HW2-4/analyzer/CMakeLists.txt", "lab02/HW2-4/analyzer/x/CMakeLists.txt")
    assert sources.folder.parts[-2:] == ("lab02", "HW2-4")
    assert sources.where == "analyzer"


def test_nobodys_name_is_in_what_is_remembered_of_a_build(found):
    """What came of it is told to whoever hands in the same."""
    assert found("top/a.cpp", folder="").name == "the program"


def test_what_can_t_be_told_is_said(found):
    assert found("a/hw2-4/x.cpp", "b/hw2-4/x.cpp") == "2 folders could be 'hw2-4': 'a/hw2-4', 'b/hw2-4'; keep one"
    several = found("two/a/CMakeLists.txt", "two/b/CMakeLists.txt", folder="two")
    assert several.startswith("several files say how to build 'two': 'a/CMakeLists.txt', 'b/CMakeLists.txt'")
    loose = found("loose/a.cpp", "loose/b.cc", folder="loose")
    assert loose == "there are 2 C++ files in 'loose' ('a.cpp', 'b.cc') and no CMakeLists.txt or Makefile"


def test_a_file_of_the_folder_s_name_stands_for_it(found):
    sources = found("lab/HW2-4.cc", "lab/main.cpp")
    assert (sources.kind, sources.file, sources.files, sources.folder.name) == (
        "file",
        "HW2-4.cc",
        ("HW2-4.cc",),
        "lab",
    )
    assert found("hw2-4.cpp").startswith("2 files could be 'hw2-4': 'hw2-4.cpp', 'lab/HW2-4.cc'; keep one")
    assert found("hw2-4/a.cpp").file == "a.cpp"


def test_no_sources_are_no_answer(found):
    assert found("hw2-4/notes.md") is None
    assert found("other/a.cpp") is None


def test_what_was_built_elsewhere_is_left_out(found):
    sources = found(
        "hw2-4/CMakeLists.txt",
        "hw2-4/CMakeCache.txt",
        "hw2-4/build/CMakeCache.txt",
        "hw2-4/build/analyze",
        "hw2-4/libtorch/include/torch.h",
        "hw2-4/a.cpp",
    )
    assert sources.files == ("CMakeLists.txt", "a.cpp")


def test_the_digest_is_of_names_and_contents(found, tmp_path):
    before = found("hw2-4/a.cpp").digest()
    assert found("hw2-4/a.cpp").digest() == before
    (tmp_path / "hw2-4/a.cpp").write_text("other")
    changed = find(read(tmp_path, "anna"), "hw2-4").digest()
    (tmp_path / "hw2-4/a.cpp").rename(tmp_path / "hw2-4/b.cpp")
    assert len({before, changed, find(read(tmp_path, "anna"), "hw2-4").digest()}) == 3
