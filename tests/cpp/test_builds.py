"""Real builds in the jail: once a content, contained whatever they try, and the first error in words."""

import shutil
import subprocess
from dataclasses import replace

import pytest
from helpers.handed_in import read

from labgrade.core.errors import FaultError
from labgrade.cpp import build as builds
from labgrade.cpp.sources import find
from labgrade.sandbox.requests import ProgramRun
from labgrade.sandbox.runner import Runner

pytestmark = pytest.mark.slow

needs_tools = pytest.mark.skipif(
    not all(map(shutil.which, ("cmake", "g++", "make"))), reason="needs cmake, g++ and make: apt install cmake g++ make"
)
CMAKE = "cmake_minimum_required(VERSION 3.0)\nproject(x CXX)\n"
HELLO = "#include <cstdio>\nint main() { puts(HELLO); }\n"


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    with Runner(secret=(tmp_path_factory.getbasetemp(),)) as runner:
        yield runner


class Counting:
    def __init__(self, runner):
        self.runner = runner
        self.built = []

    def execute(self, request):
        self.built += [request.name] if request.name else []
        return self.runner.execute(request)


@pytest.fixture
def build(tmp_path, runner, monkeypatch):
    monkeypatch.setattr(builds, "LIMITS", replace(builds.LIMITS, seconds=30.0, memory=1 << 30))
    counting = Counting(runner)

    def build(program="hello", **files):
        shutil.rmtree(tmp_path / "work", ignore_errors=True)
        for name, text in files.items():
            path = tmp_path / "work/hw" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        sources = find(read(tmp_path / "work", "anna"), "hw")
        return builds.Builder(counting, tmp_path / "builds").build(sources, program)

    build.counting = counting
    build.folder = tmp_path / "builds"
    return build


def said_by(built):
    (path,) = built.programs
    return subprocess.run([built.files[path]], capture_output=True, check=True, text=True).stdout


@needs_tools
def test_a_lone_file_a_makefile_and_cmake(build):
    said = HELLO.replace("HELLO", '"hello"')
    lone = build(**{"a.cpp": said})
    assert (lone.failed, lone.programs, said_by(lone)) == (None, (".build/hello",), "hello\n")
    made = build(**{"a.cpp": said, "Makefile": "out: a.cpp\n\tg++ a.cpp -o out\n"})
    assert (made.failed, made.programs, said_by(made)) == (None, ("out",), "hello\n")
    files = {"src/CMakeLists.txt": CMAKE + "add_library(l SHARED b.cpp)\nadd_executable(x a.cpp)\n", "src/b.cpp": ""}
    cmake = build(**files, **{"src/a.cpp": said})
    assert (cmake.failed, cmake.programs, said_by(cmake)) == (None, (".build/x",), "hello\n")
    assert set(cmake.files) == {".build/x", ".build/libl.so"}


@needs_tools
def test_the_same_content_is_built_once_and_another_again(build):
    first = build(**{"a.cpp": HELLO.replace("HELLO", '"1"')})
    again = build(**{"a.cpp": HELLO.replace("HELLO", '"1"')})
    assert (again, build.counting.built) == (first, ["building hw"])
    assert said_by(build(**{"a.cpp": HELLO.replace("HELLO", '"2"')})) == "2\n"
    broken = build(**{"a.cpp": "int main() { return x; }"})
    assert build(**{"a.cpp": "int main() { return x; }"}).failed.reason == broken.failed.reason
    assert build.counting.built == ["building hw"] * 3


@needs_tools
def test_what_is_damaged_is_built_again(build):
    built = build(**{"a.cpp": HELLO.replace("HELLO", '"1"')})
    built.files[".build/hello"].unlink()
    assert said_by(build(**{"a.cpp": HELLO.replace("HELLO", '"1"')})) == "1\n"


@needs_tools
def test_no_build_can_write_what_is_remembered(build):
    kept = build(**{"a.cpp": HELLO.replace("HELLO", '"1"')})
    # The scratch may stand where the folder does: then a file can be made by its name, and it is another file.
    spoil = (
        f'file(GLOB_RECURSE found "{build.folder}/*")\nmessage("sees ${{found}}.")\n'
        f'execute_process(COMMAND sh -c "mkdir -p {build.folder}; echo poison > {build.folder}/x")\n'
        'message(FATAL_ERROR "done")\n'
    )
    built = build(**{"CMakeLists.txt": CMAKE + spoil})
    assert b"sees ." in built.failed.stdout
    assert b"done" in built.failed.stdout
    assert not (build.folder / "x").exists()
    assert all(path.is_relative_to(build.folder) for path in kept.files.values())


@needs_tools
@pytest.mark.parametrize("notes", ["{}", "\0", "5\n" * 100_000, "[" * 100_000])
def test_what_a_build_makes_of_our_notes_is_no_fault_of_ours(build, notes):
    made = {"Makefile": "out: a.cpp\n\tg++ a.cpp -o out\n\tcp notes .build.notes\n", "notes": notes}
    built = build(**made, **{"a.cpp": HELLO.replace("HELLO", '"made"')})
    assert (built.failed, said_by(built)) == (None, "made\n")
    assert sum(map(len, built.notes)) < 5_000  # lines of the student's, shown as such


class Forged:
    """A sandbox whose collector a build has tampered with."""

    def execute(self, request):
        names = ("../../escaped", "/escaped", "a/../../b", "a//b", "", "nul\0", "good")
        files = dict.fromkeys(names, b"\x7fELF") if request.name else {}
        return ProgramRun(status="returned", code=0, stdout=b"version 1\n", files=files)


def test_files_of_a_build_stay_below_its_sources(tmp_path):
    (tmp_path / "hw").mkdir()
    (tmp_path / "hw/a.cpp").write_text("")
    sources = find(read(tmp_path, "anna"), "hw")
    assert builds.Builder(Forged(), tmp_path / "builds").build(sources, "x").programs == ("good",)


@needs_tools
def test_release_without_assertions_whatever_the_files_say(build):
    source = "#include <cassert>\n#include <cstdio>\n"
    source += '#ifdef NDEBUG\nint main() { puts("off"); }\n#else\nint main() { puts("on"); }\n#endif\n'
    debug = CMAKE + 'set(CMAKE_BUILD_TYPE Debug)\nset(CMAKE_CXX_FLAGS "-g -Werror -Wall")\nadd_executable(x a.cpp)\n'
    assert said_by(build(**{"a.cpp": source + "static int unused;\n", "CMakeLists.txt": debug})) == "off\n"
    assert said_by(build(**{"a.cpp": source})) == "off\n"


@needs_tools
def test_binaries_that_were_handed_in_are_not_run(build):
    fake = b"\x7fELF not built here"
    files = {"a.cpp": HELLO.replace("HELLO", '"new"'), "Makefile": "out: a.cpp\n\tg++ a.cpp -o out\n", "out": fake}
    assert said_by(build(**files)) == "new\n"


@needs_tools
def test_paths_to_a_libtorch_elsewhere_lead_to_the_one_that_is_here(build):
    source = '#include <c10/macros/Macros.h>\n#include <cstdio>\nint main() { puts("found"); }\n'
    for place in ("/opt/libtorch", "~/lab/libtorch-2.2.0", "/usr/lib/python3/dist-packages/torch", "./libtorch"):
        rule = f"out: a.cpp\n\tg++ -std=c++17 -I{place}/include a.cpp -o out\n\ttest -d {place}/share/cmake/Torch\n"
        built = build(**{"a.cpp": source, "Makefile": rule})
        assert built.failed is None, (place, built.failed)
        assert said_by(built) == "found\n"
        if place.startswith("."):
            assert built.notes == ()
        else:
            assert built.notes == (f"Makefile: LibTorch is not in '{place}' here; its path was replaced",)


@needs_tools
@pytest.mark.parametrize(
    "place", ["C:/libtorch", "/Users/Ming Wang/Desktop/libtorch", "~/lab/libtorch-2.2.0", "/home/me/libtorch"]
)
def test_a_path_between_quotation_marks_is_replaced_with_its_drive_and_spaces(build, place):
    lines = f'file(STRINGS "{place}/share/cmake/Torch/TorchConfig.cmake" found)\nadd_executable(x a.cpp)\n'
    built = build(**{"a.cpp": "int main() {}", "CMakeLists.txt": CMAKE + lines})
    assert built.failed is None, built.failed
    assert built.notes == (f"CMakeLists.txt: LibTorch is not in '{place}' here; its path was replaced",)


@needs_tools
@pytest.mark.parametrize("compiler", ["/usr/bin/g++", "clang++", "/opt/llvm/bin/clang++-15", "g++-9", "gcc"])
@pytest.mark.parametrize("standard", ["-std=c++14", "--std=gnu++11", "-std=c++2a"])
def test_any_compiler_that_a_makefile_names_is_the_one_that_is_here(build, compiler, standard):
    source = "#include <c10/macros/Macros.h>\n#include <cassert>\n#include <optional>\n#include <cstdio>\n"
    source += 'int main() { assert(false); std::optional<int> x = 1; printf("%d\\n", *x); }\n'
    rule = f"CXX={compiler}\nout: a.cpp\n\t$(CXX) {standard} -stdlib=libc++ -D_GLIBCXX_USE_CXX11_ABI=0 a.cpp -o out"
    built = build(**{"a.cpp": source, "Makefile": f"\ufeff{rule} -lstdc++\n".replace("\n", "\r\n")})
    assert built.failed is None, built.failed
    assert said_by(built) == "1\n"


@needs_tools
@pytest.mark.parametrize(
    ("files", "reason", "hint"),
    [
        ({"a.cpp": "int main() {\n  return x;\n  return y;\n}\n"}, "hw does not build: a.cpp:2:10: 'x' was not", ""),
        ({"a.cpp": '#include "/etc/shadow"\n'}, "hw does not build: a.cpp:1:10: /etc/shadow: No such", "hand in the"),
        (
            {"a.cpp": '#include "../other/hw.cpp"\n'},
            "hw does not build: a.cpp:1:10: ../other/hw.cpp: No",
            "hand in the",
        ),
        (
            {"CMakeLists.txt": CMAKE + "find_package(Nothing REQUIRED)\n"},
            "hw does not build: CMakeLists.txt:3: CMake",
            "",
        ),
        (
            {
                "CMakeLists.txt": CMAKE + "execute_process(COMMAND git clone https://example.invalid/pytorch x\n"
                "  RESULT_VARIABLE r ERROR_VARIABLE e)\n"
                'if(NOT r EQUAL 0)\nmessage(FATAL_ERROR "no clone: ${e} Could not resolve host")\nendif()\n'
            },
            "hw does not build: CMakeLists.txt:6: CMake: no clone",
            "the build has no network access",
        ),
    ],
)
def test_an_error_is_the_student_s_with_file_and_line(build, files, reason, hint):
    failed = build(**files)
    assert failed.failed.status == "crashed"
    assert failed.failed.reason.startswith(reason), failed.failed
    assert failed.hint.startswith(hint)


@needs_tools
def test_a_download_in_a_build_fails_and_is_named(build):
    fetch = (
        "file(DOWNLOAD https://example.invalid/ ${CMAKE_BINARY_DIR}/x STATUS s TIMEOUT 5)\nmessage(FATAL_ERROR ${s})\n"
    )
    failed = build(**{"CMakeLists.txt": CMAKE + fetch})
    assert failed.failed.reason.startswith("hw does not build: CMakeLists.txt:4: CMake: 6")
    assert "resolve host" in failed.failed.reason.lower()
    assert failed.hint.startswith("the build has no network access")


BOMB = """
template <int N, unsigned long M> struct B {
  static constexpr unsigned long v = B<N - 1, M * 2>::v + B<N - 1, M * 2 + 1>::v;
};
template <unsigned long M> struct B<0, M> { static constexpr unsigned long v = M; };
int main() { return B<30, 1>::v > 0; }
"""


@needs_tools
@pytest.mark.parametrize(
    ("source", "statuses", "words"),
    [
        (BOMB, {"memory", "timeout", "waited"}, "building hw "),
        ("char big[4L << 30] = {1};\nint main() { return big[5]; }\n", {"crashed", "memory"}, "building hw "),
    ],
)
def test_a_build_that_takes_too_much_is_contained_and_named(build, monkeypatch, source, statuses, words):
    monkeypatch.setattr(builds, "LIMITS", replace(builds.LIMITS, memory=512 << 20))
    failed = build(**{"a.cpp": source})
    assert failed.failed.status in statuses, failed.failed
    assert failed.failed.reason.startswith(words), failed.failed


@needs_tools
def test_a_build_that_never_ends_is_stopped_and_not_remembered(build, monkeypatch):
    monkeypatch.setattr(builds, "LIMITS", replace(builds.LIMITS, seconds=1.0))
    files = {"a.cpp": "", "Makefile": "all:\n\twhile true; do :; done\n"}
    assert build(**files).failed.reason == "building hw used more than 1 s of computing time"
    build(**files)
    assert build.counting.built == ["building hw"] * 2


class Without:
    """A machine that lacks a tool, as the sandbox tells it."""

    def __init__(self, missing):
        self.missing = missing

    def execute(self, request):
        if request.command[0] in self.missing:
            return ProgramRun(status="missing", reason="no such file")
        return ProgramRun(status="returned", code=0, stdout=b"version 1\n")


def test_a_missing_compiler_is_a_fault_of_ours_with_its_remedy(tmp_path):
    (tmp_path / "hw").mkdir()
    (tmp_path / "hw/CMakeLists.txt").write_text("")
    sources = find(read(tmp_path, "anna"), "hw")
    for missing in ("cmake", "g++"):
        with pytest.raises(
            FaultError, match=rf"'{missing[:1]}.*' is needed to build C\+\+ programs.*apt install cmake g"
        ):
            builds.Builder(Without({missing}), tmp_path / "builds").build(sources, "x")
    with pytest.raises(FaultError, match="'make' is needed"):
        builds.Builder(Without({"make", "ninja"}), tmp_path / "builds").build(sources, "x")
