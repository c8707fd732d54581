"""Right work that needs more of the machine than Python: each function returns True where it got what it needs."""

import os
import shutil
import subprocess


def _run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def draws_with_fonts():
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import font_manager, pyplot

    pyplot.plot([1, 2, 3])
    pyplot.title("MACs je Schicht: größer")
    pyplot.savefig("plot.png")
    pyplot.savefig("plot.pdf")
    return os.path.getsize("plot.png") > 5_000 and os.path.exists(font_manager.findfont("DejaVu Sans"))


def finds_the_systems_fonts():
    return shutil.which("fc-list") is None or not os.path.isdir("/usr/share/fonts") or bool(_run("fc-list"))


def knows_time_zones():
    import datetime
    import zoneinfo

    noon = datetime.datetime(2026, 7, 1, 12, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))
    return noon.utcoffset() == datetime.timedelta(hours=2)


def keeps_a_database():
    import sqlite3

    with sqlite3.connect("kept.db") as database:
        database.execute("create table macs (layer text, count integer)")
        database.executemany("insert into macs values (?, ?)", [("conv1", 3), ("fc", 4)])
    with sqlite3.connect("kept.db") as database:
        return database.execute("select sum(count) from macs").fetchone() == (7,)


def keeps_a_database_in_two_processes():
    import sqlite3

    with sqlite3.connect("kept.db") as database:
        database.execute("create table macs (count integer)")
    if os.fork() == 0:
        with sqlite3.connect("kept.db") as database:
            database.execute("insert into macs values (5)")
        os._exit(0)
    os.wait()
    with sqlite3.connect("kept.db") as database:
        return database.execute("select count from macs").fetchone() == (5,)


def locks_files():
    import fcntl

    with open("lock", "w") as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(file, fcntl.LOCK_UN)
    return True


def keeps_versions():
    _run("git", "init", "-q", ".")
    with open("new.txt", "w") as file:
        file.write("new")
    _run("git", "add", "new.txt")
    _run("git", "-c", "user.name=me", "-c", "user.email=me@here", "commit", "-q", "-m", "first")
    return "first" in _run("git", "log", "--oneline")


def compiles():
    with open("own.cpp", "w") as file:
        file.write(
            "#include <vector>\n#include <iostream>\nint main() { std::vector<int> v(42); std::cout << v.size(); }"
        )
    _run("g++", "-O2", "-o", "own", "own.cpp")
    return _run("./own") == "42"


def builds_with_cmake():
    with open("CMakeLists.txt", "w") as file:
        file.write("cmake_minimum_required(VERSION 3.10)\nproject(own CXX)\nadd_executable(own own.cpp)\n")
    with open("own.cpp", "w") as file:
        file.write('#include <cstdio>\nint main() { std::puts("built"); }')
    _run("cmake", "-S", ".", "-B", "build")
    _run("cmake", "--build", "build")
    return _run("build/own") == "built\n"


def works_in_processes():
    import concurrent.futures
    import multiprocessing

    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        first = list(pool.map(abs, [-1, -2]))
    with multiprocessing.Manager() as manager:
        shared = manager.list(first)
        return list(shared) == [1, 2]


def works_with_coroutines():
    import asyncio

    async def main():
        process = await asyncio.create_subprocess_exec("echo", "here", stdout=asyncio.subprocess.PIPE)
        said, _ = await process.communicate()
        return said

    return asyncio.run(main()) == b"here\n"


def compiles_against_python_and_torch():
    """What torch.compile does with what it generates."""
    import sysconfig

    from torch.utils.cpp_extension import include_paths

    with open("own.cpp", "w") as file:
        file.write("#include <Python.h>\n#include <ATen/cpu/vec/vec.h>\nint own() { return 42; }")
    folders = [f"-I{folder}" for folder in (*include_paths(), sysconfig.get_path("include"))]
    _run("g++", "-std=c++20", "-fsyntax-only", *folders, "own.cpp")
    return True


def exports_a_program():
    import torch

    program = torch.export.export(torch.nn.Linear(3, 2).eval(), (torch.ones(1, 3),))
    return program.module()(torch.ones(1, 3)).shape == (1, 2)


def reads_the_machine():
    return os.cpu_count() > 0 and open("/proc/meminfo").readline().startswith("MemTotal") and bool(os.getloadavg())
