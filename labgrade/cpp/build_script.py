"""Builds a C++ program within a jail: run there by its own copy, in the folder of the sources, with a plan as JSON.

Needs nothing of labgrade. LibTorch is the one inside of the installed torch; students' files name it in many ways, so
all that CMake, make and the compiler look at lead to it, and paths to a libtorch elsewhere are changed in the copy.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

BUILT = ".build"  # where CMake builds, and a lone file's program lies
SAID = ".build.notes"  # what this leaves beside the sources: notes for the report, one on a line
_LOG_BYTES = 512 << 10
_ELF = b"\x7fELF"
_ROOT = r"(?:/(?!/)|~/|\$ENV\{HOME\}/|\$\{HOME\}/|\$\(HOME\)/|\$HOME/|[A-Za-z]:[/\\]+)"
_NAME = r"(?:libtorch(?:-[\w.%+-]+)?|(?:site|dist)-packages/torch)(?=[/\\\s\"');:]|$)"
_LIBTORCH = re.compile(
    rf"(?<=[\"']){_ROOT}[^\"';\n]*?{_NAME}|"  # between quotation marks there may be spaces
    rf"(?:^|(?<=[\s=,;:(])|(?<=-[IL])|(?<=-isystem)){_ROOT}[^\s\"'();:,=]*?{_NAME}",
    re.MULTILINE,
)
_SETTINGS = ("CMakeLists.txt", "*.cmake", "[Mm]akefile", "GNUmakefile", "*.mk")
_FAMILIES = {"g++": ("g++", "c++", "clang++"), "gcc": ("gcc", "cc", "clang")}
_VERSIONS = ("", *(f"-{version}" for version in range(7, 23)))
_ABSOLUTE = re.compile(
    r"""(?:^|(?<=[\s"'=(]))/(?:[\w.+-]+/)+(?P<name>(?:g\+\+|c\+\+|clang\+\+|gcc|cc|clang)(?:-\d+)?)(?=[\s"')]|$)""",
    re.MULTILINE,
)
# Without NDEBUG a class of RecordFunction's differs from that of libtorch's build, and it never fires.
# Headers of today's torch need C++17, whatever an older tutorial says. The first error tells, so that five are enough.
_COMPILER = """#!/bin/sh
for word do
  shift
  case $word in
    -std=*++0x|-std=*++11|-std=*++14|-std=*++1y|--std=*++0x|--std=*++11|--std=*++14|--std=*++1y) word=-std=gnu++17 ;;
    -stdlib=*|-fcolor-diagnostics|-ferror-limit=*|-Weverything) continue ;; # clang's alone
    -D_GLIBCXX_USE_CXX11_ABI=0) continue ;; # of LibTorch before 2.7
  esac
  set -- "$@" "$word"
done
exec {compiler} "$@" -DNDEBUG -Wno-error -g0 -fmax-errors=5 {rpath}
"""


def main() -> int:
    """Build. The tools' output goes to stdout; the exit code is that of the step that failed, else 0."""
    plan = json.loads(sys.argv[1])
    torch = _without_blanks(plan["torch"])
    here = Path.cwd()
    notes = _changed_settings(here, torch)
    (here / SAID).write_text("\n".join(notes), encoding="utf-8")
    _forget_binaries(here)
    source = here / plan["source"]
    for place in (here.parent, here, source, here / BUILT):
        _link(place / "libtorch", torch)
    environment = _environment(torch, _compilers(plan["torch"]))
    code = 0
    for command in _commands(plan, source, torch, environment):
        code = _said(command, here, environment)
        if code:
            break
    shutil.rmtree(here / BUILT / "CMakeFiles", ignore_errors=True)
    for left in (*here.rglob("*.o"), *here.rglob("*.a")):
        left.unlink(missing_ok=True)
    return code


def _without_blanks(torch: str) -> str:
    """Return a path to LibTorch without blanks, which no build file has to quote.

    It lasts as long as the build; what a program finds its libraries by is the real one.
    """
    if not re.search(r"\s", torch):
        return torch
    place = Path(os.environ["TMPDIR"]) / "libtorch"
    place.symlink_to(torch)
    return str(place)


def _commands(plan: dict[str, str], source: Path, torch: str, environment: dict[str, str]) -> list[list[str]]:
    jobs = plan["jobs"]
    if plan["kind"] == "make":
        return [["make", "-C", str(source), "-j", jobs]]
    if plan["kind"] == "file":
        made = str(Path(BUILT) / plan["program"])
        libraries = ["-Wl,--no-as-needed", f"-L{torch}/lib", "-ltorch", "-ltorch_cpu", "-lc10"]
        return [[environment["CXX"], "-std=gnu++17", "-O2", plan["file"], "-o", made, *libraries]]
    configure = ["cmake", "-S", str(source), "-B", BUILT, "-Wno-dev"]
    if shutil.which("make") is None:
        configure += ["-G", "Ninja"]
    settings = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_PREFIX_PATH": f"{torch}/share/cmake",
        "Torch_DIR": f"{torch}/share/cmake/Torch",
        "CMAKE_CXX_COMPILER": environment["CXX"],
        "CMAKE_BUILD_RPATH_USE_ORIGIN": "ON",
        "CMAKE_POLICY_VERSION_MINIMUM": "3.5",  # CMake 4 refuses files that ask for less
    }
    configure += [f"-D{name}={value}" for name, value in settings.items()]
    return [configure, ["cmake", "--build", BUILT, "--config", "Release", "-j", jobs]]


def _environment(torch: str, tools: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "LC_ALL": "C",
        "CXX": str(tools / "g++"),
        "CXXFLAGS": "-DNDEBUG",
        "CPATH": f"{torch}/include{os.pathsep}{torch}/include/torch/csrc/api/include",
        "LIBRARY_PATH": f"{torch}/lib",
        "CMAKE_PREFIX_PATH": f"{torch}/share/cmake",
        "Torch_DIR": f"{torch}/share/cmake/Torch",
        "Torch_ROOT": torch,
    }


def _compilers(torch: str) -> Path:
    """Make a folder of compilers that add the flags that every program needs. It comes first in the search path.

    Every compiler that files may name is GNU's, in the version that is here.
    """
    tools = Path(os.environ["TMPDIR"]) / "tools"
    tools.mkdir()
    for compiler, family in _FAMILIES.items():
        if path := shutil.which(compiler):
            text = _COMPILER.format(compiler=shlex.quote(path), rpath=shlex.quote(f"-Wl,-rpath,{torch}/lib"))
            (tools / compiler).write_text(text, encoding="utf-8")
            (tools / compiler).chmod(0o755)
            for name in {f"{member}{version}" for member in family for version in _VERSIONS} - {compiler}:
                (tools / name).symlink_to(compiler)
    return tools


def _said(command: list[str], here: Path, environment: dict[str, str]) -> int:
    """Run a command and pass on the beginning of its output: the errors of one template can fill a disk."""
    process = subprocess.Popen(
        command, cwd=here, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    room = _LOG_BYTES
    while process.stdout is not None and (chunk := os.read(process.stdout.fileno(), 1 << 16)):
        os.write(1, chunk[:room])
        room -= len(chunk[:room])
    return abs(process.wait())


def _changed_settings(here: Path, torch: str) -> list[str]:
    """Rewrite settings that name LibTorch or a compiler of another machine to those of this one.

    Line ends become Unix's: make would hand the others on to the compiler.
    """
    notes = []
    for pattern in _SETTINGS:
        for file in sorted(here.rglob(pattern)):
            raw = file.read_bytes() if file.is_file() else b""
            text = raw.decode("utf-8", "surrogateescape")
            found = sorted({path for path in _LIBTORCH.findall(text) if not path.startswith(torch)})
            changed = _ABSOLUTE.sub(r"\g<name>", _LIBTORCH.sub(lambda _: torch, text))
            changed = changed.removeprefix("\ufeff").replace("\r\n", "\n")
            if changed != text:
                file.write_bytes(changed.encode("utf-8", "surrogateescape"))
            if found:
                notes.append(f"{file.relative_to(here)}: LibTorch is not in '{found[0]}' here; its path was replaced")
    return notes


def _forget_binaries(here: Path) -> None:
    """Remove binaries that were handed in: they may be newer than the sources, which then would not be built."""
    for file in here.rglob("*"):
        with contextlib.suppress(OSError):
            if file.is_file() and (file.suffix in (".o", ".a") or file.open("rb").read(4) == _ELF):
                file.unlink()


def _link(place: Path, torch: str) -> None:
    with contextlib.suppress(OSError):  # of a folder that is the sandbox's own
        place.parent.mkdir(exist_ok=True)
        place.symlink_to(torch)


if __name__ == "__main__":
    sys.exit(main())
