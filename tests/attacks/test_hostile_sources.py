"""C++ sources, CMake files and makefiles that reach for what is not theirs while they are built: each gets nothing.

Harmless: each reads a file of this test's, or writes beside one. No input is made to hang or to break a compiler.
"""

import shutil
import sys
from dataclasses import replace

import pytest
from attacks.driver import PROJECT
from attacks.world import World
from helpers.handed_in import read

from labgrade.cpp import build
from labgrade.cpp.sources import find
from labgrade.sandbox.jail.layers import NAMESPACES
from labgrade.sandbox.runner import Runner

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="there is a jail on Linux alone"),
    pytest.mark.skipif(not all(map(shutil.which, ("cmake", "g++", "make"))), reason="apt install cmake g++ make"),
]
MAIN = '#include <cstdio>\nint main() {{ {} puts("built"); }}\n'
READS = {  # one file that the compiler is given; ANSWERS is the path of a secret
    "includes a file": '#include "ANSWERS"\n',
    "includes a file by a path of many steps": '#include "../../../../../../../../ANSWERS"\n',
    "includes what a macro names": '#define WHERE "ANSWERS"\n#include WHERE\n',
    "asks whether a file is there": '#if __has_include("ANSWERS")\n#error it is there\n#endif\n',
    "takes a file in as an assembler does": 'asm(".incbin \\"ANSWERS\\"");\n',
    "includes a file as an assembler does": 'asm(".include \\"ANSWERS\\"");\n',
    "embeds a file": 'const unsigned char taken[] = {\n#embed "ANSWERS"\n};\n',
    "includes what its process has open": '#include "/proc/self/environ"\n',
    "includes what another process has open": '#include "/proc/1/environ"\n',
    "includes an empty device": '#include "/dev/null"\n',
    "includes the terminal": '#include "/dev/tty"\n',
    "includes a folder": '#include "/"\n',
    "takes more room than there is": 'asm(".data\\n.fill 700000000, 1, 1\\n");\n',
}
STEPS = {  # a CMakeLists.txt; FOLDER is a folder that every user may write to
    "reads a file": "file(READ ANSWERS taken)\nmessage(${taken})",
    "reads its lines": "file(STRINGS ANSWERS taken)\nmessage(${taken})",
    "copies a file to its own": "configure_file(ANSWERS ${CMAKE_BINARY_DIR}/taken COPYONLY)",
    "links to a file": "file(CREATE_LINK ANSWERS ${CMAKE_BINARY_DIR}/x SYMBOLIC)",
    "links hard to a file": "file(CREATE_LINK ANSWERS ${CMAKE_BINARY_DIR}/x)",
    "runs a file as its own": "include(ANSWERS)",
    "adds a folder": "add_subdirectory(FOLDER ${CMAKE_BINARY_DIR}/other)",
    "lists the machine": 'file(GLOB_RECURSE there FOLDER/*)\nmessage("there: ${there}")',
    "writes a file": "file(WRITE FOLDER/kept.txt changed)",
    "appends to a file": "file(APPEND FOLDER/kept.txt changed)",
    "removes a file": "file(REMOVE_RECURSE FOLDER)",
    "renames a file": "file(RENAME FOLDER/kept.txt FOLDER/gone.txt)",
    "installs a file": "file(INSTALL ${CMAKE_SOURCE_DIR}/a.cpp DESTINATION FOLDER)",
    "says its surroundings": 'file(READ /proc/1/environ taken)\nmessage("$ENV{LABGRADE_TOKEN} $ENV{HOME} ${taken}")',
    "asks for a file of the network": "file(DOWNLOAD http://127.0.0.1:PORT/x ${CMAKE_BINARY_DIR}/x TIMEOUT 2)",
    "runs a shell": 'execute_process(COMMAND sh -c "cat ANSWERS; echo changed > FOLDER/kept.txt")',
    "registers itself for others": "export(PACKAGE x)\nfile(WRITE $ENV{HOME}/.cmake/packages/x/y FOLDER)",
    "sets the compiler of the next build": 'file(WRITE /usr/local/bin/g++ "#!/bin/sh")',
    "leaves a line to read for ever": "execute_process(COMMAND mkfifo ${CMAKE_BINARY_DIR}/x)",
    "leaves a file of a terabyte without content": "execute_process(COMMAND truncate -s 1T ${CMAKE_BINARY_DIR}/x)",
    "leaves a folder in the program's place": "file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/x)",
}
MAKEFILES = {
    "reads a file": "$(info $(file < ANSWERS))\nx: ; touch x\n",
    "runs a shell": "$(info $(shell cat ANSWERS; echo changed > FOLDER/kept.txt))\nx: ; touch x\n",
    "includes a file": "include ANSWERS\nx: ; touch x\n",
    "writes a file": "x: ; echo changed > FOLDER/kept.txt\n",
    "gives a file away as its program": "x: ; ln -s ANSWERS x\n",
    "has more jobs than there are": "x: ; $(MAKE) -j1000 -f /dev/null FOLDER/kept.txt; touch x\n",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    folder.chmod(0o755)
    world = World(folder, PROJECT)
    yield world
    world.close()


@pytest.fixture(scope="module")
def runner():
    with Runner(zoo=PROJECT / "tests/sandbox/zoo_light.py", fresh=False, spare_seconds=5.0) as runner:
        if NAMESPACES not in runner.protection.layers:
            pytest.skip("this machine has no namespaces")
        yield runner


def made(runner, tmp_path, world, files):
    """What came of a build: all that it left, and all that it said."""
    told = world.told()
    folder = tmp_path / "hw"
    folder.mkdir()
    for name, text in files.items():
        whole = text.replace("ANSWERS", told["answers"]).replace("FOLDER", told["folder"])
        (folder / name).write_text(whole.replace("PORT", str(told["tcp"])))
    return build.Builder(runner, tmp_path / "builds").build(find(read(tmp_path, "anna"), "hw"), "x")


def gets_nothing(built, world, tmp_path):
    said = "".join(
        [*built.notes, built.hint, built.failed.reason + built.failed.stdout.decode() if built.failed else ""]
    )
    kept = [path.read_bytes() for path in (tmp_path / "builds").rglob("*") if path.is_file() and not path.is_symlink()]
    assert not any(path.is_symlink() for path in (tmp_path / "builds").rglob("*"))
    whole = said + "".join(data.decode("latin-1") for data in kept)
    assert not world.damage(whole)
    assert "it is there" not in said
    assert str(world.file) not in said.partition("there: ")[2]
    for halves in world.marks.values():
        assert "".join(halves) not in whole
    return said


@pytest.mark.promise("builds-are-contained")
@pytest.mark.parametrize("what", READS)
def test_a_source_file_that(what, runner, world, tmp_path):
    built = made(runner, tmp_path, world, {"a.cpp": READS[what] + MAIN.format("")})
    gets_nothing(built, world, tmp_path)
    assert built.failed is not None or "ANSWERS" not in READS[what] or "__has_include" in READS[what]


@pytest.mark.parametrize("what", STEPS)
def test_a_cmake_file_that(what, runner, world, tmp_path, monkeypatch):
    monkeypatch.setattr(build, "LIMITS", replace(build.LIMITS, seconds=20.0))
    lists = f"cmake_minimum_required(VERSION 3.10)\nproject(x NONE)\n{STEPS[what]}\n"
    built = made(runner, tmp_path, world, {"CMakeLists.txt": lists, "a.cpp": MAIN.format("")})
    gets_nothing(built, world, tmp_path)
    assert not built.files  # nothing that it left is a program


@pytest.mark.parametrize("what", MAKEFILES)
def test_a_makefile_that(what, runner, world, tmp_path):
    built = made(runner, tmp_path, world, {"Makefile": MAKEFILES[what], "a.cpp": MAIN.format("")})
    gets_nothing(built, world, tmp_path)
    assert not built.files


def test_an_honest_program_is_built_after_all_of_these(runner, world, tmp_path):
    built = made(runner, tmp_path, world, {"a.cpp": MAIN.format("")})
    assert built.failed is None
    assert len(built.programs) == 1
