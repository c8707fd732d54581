"""The first error of what build tools say, with the student's own line, and what to do about it."""

import pytest

from labgrade.cpp.log import broken_limit, first_error, remedy

INSIDE = """\
In file included from /venv/torch/include/torch/script.h:3,
                 from /scratch/handin/analyze.cpp:1:
/venv/torch/include/c10/Foo.h:40:2: error: static assertion failed
"""
REQUIRED = """\
/usr/include/c++/12/bits/stl.h: In instantiation of 'f()':
/scratch/handin/src/main.cpp:9:5:   required from here
/usr/include/c++/12/bits/stl.h:100:7: error: no match for 'operator<'
"""


@pytest.mark.parametrize(
    ("log", "first"),
    [
        ("a.cpp:3:1: warning: unused\na.cpp:4:5: error: 'x' was not declared\nb.cpp:1:1: error: y\n", "a.cpp:4:5: 'x'"),
        ("/scratch/handin/src/a.cpp:4:5: fatal error: x.h: No such file or directory\n", "src/a.cpp:4:5: x.h"),
        (INSIDE, "analyze.cpp:1: in Foo.h:40:2: static assertion failed"),
        (REQUIRED, "src/main.cpp:9:5: in stl.h:100:7: no match for 'operator<'"),
        (
            "CMake Error at CMakeLists.txt:7 (find_package):\n  By not providing x this\n  one has asked\n\n  Else\n",
            "CMakeLists.txt:7: CMake: By not providing x this one has asked",
        ),
        ("CMake Error: The source directory is empty\n", "CMake: The source directory"),
        (
            "/usr/bin/ld: a.o: in function `main':\na.cpp:(.text+0x9): undefined reference to `f()'\n",
            "the linker: undef",
        ),
        ("/usr/bin/ld: cannot find -lfoo: No such file\n", "the linker: cannot find -lfoo"),
        ("make: *** No targets.  Stop.\n", "make: No targets.  Stop."),
        ("something\nelse\n\n", "else"),
        ("", "nothing was said about why"),
    ],
)
def test_the_first_error(log, first):
    said = first_error(log)
    assert said.startswith(first)
    assert "\n" not in said
    assert "Else" not in said


def test_limits_that_tools_run_into_are_told():
    assert broken_limit("as: final close failed: File too large") == "disk"
    assert broken_limit("cc1plus: out of memory allocating 65536 bytes") == "memory"
    assert broken_limit("a.cpp:1:1: error: x") == ""


def test_what_to_do():
    assert "has no network access" in remedy("fatal: unable to access 'https://github.com/x': Could not resolve")
    outside = "a.cpp:1:10: fatal error: /home/me/x.h: No such file or directory"
    assert remedy(outside).startswith("hand in the included file, too")
    unlinked = "undefined reference to `torch::jit::load(...)'"
    assert remedy(unlinked).startswith("link LibTorch: -ltorch")
    configured = "-- Configuring done (1.2s)\n-- Build files have been written to: /x\n" + unlinked
    assert remedy(configured).startswith("LibTorch is not looked for: find_package(Torch REQUIRED)")
    assert "target_link_libraries(... " in remedy("-- Found Torch: /x/libtorch.so\n" + configured)
    own = "g++ -I/venv/torch/include\n/usr/bin/ld: a.o: undefined reference to `count(torch::jit::Module&)'\n"
    assert remedy(own).startswith("it is declared and used, but no file that is built defines it")
    assert remedy("crt1.o: undefined reference to `main'").startswith("no file that is built has a main()")
    assert "the CPU's here" in remedy("/usr/bin/ld: cannot find -ltorch_cuda: No such file")
    assert remedy("a.cpp:1:1: error: expected ';'") == ""
