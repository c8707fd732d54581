"""The numbers of calls are those of the kernel's own headers, for both architectures; the filters are well formed."""

import re
import struct
import sys
from pathlib import Path

import pytest

from labgrade.sandbox.jail import seccomp, syscalls

HEADERS = {
    0: [Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), Path("/usr/include/asm/unistd_64.h")],
    1: [Path("/usr/include/asm-generic/unistd.h")],
}
TABLES = {name: table for name, table in vars(syscalls).items() if name.isupper() and hasattr(table, "items")}
ALL = {call: pair for table in (*TABLES.values(), syscalls._SINGLE) for call, pair in table.items()}
_ALLOW = 0x7FFF_0000


def of_the_header(machine):
    for path in HEADERS[machine]:
        if path.exists():
            found = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)\b", path.read_text())
            return {name: int(number) for name, number in found}
    pytest.skip("the kernel's headers are not installed")


@pytest.mark.parametrize("machine", [0, 1], ids=["x86-64", "aarch64"])
def test_numbers_are_the_kernels(machine):
    known = of_the_header(machine)
    mine = {name: pair[machine] for name, pair in ALL.items() if pair[machine] is not None}
    newer = set(mine) - set(known)
    assert {name: mine[name] for name in mine if name in known} == {name: known[name] for name in mine if name in known}
    assert all(mine[name] > max(known.values()) - 5 or name in OLD_NAMES for name in newer), newer


OLD_NAMES = {"umount2", "lookup_dcookie", "nfsservctl", "_sysctl"}  # of calls that are gone, or named otherwise


@pytest.mark.skipif(sys.platform != "linux", reason="there is no seccomp elsewhere")
@pytest.mark.parametrize("namespaces", [True, False])
@pytest.mark.parametrize("shared_memory", [True, False])
def test_every_jump_stays_within_the_program_and_every_path_ends(namespaces, shared_memory):
    steps = seccomp.program(namespaces=namespaces, shared_memory=shared_memory, group=7)
    program = [struct.unpack_from("<HBBI", steps, place) for place in range(0, len(steps), 8)]
    assert 100 < len(program) < 4096
    for place, (code, if_so, if_not, _) in enumerate(program):
        if code & 7 == 5:
            assert place + 1 + max(if_so, if_not) < len(program)
    assert program[-1] == (6, 0, 0, _ALLOW)


@pytest.mark.skipif(sys.platform != "linux", reason="there is no seccomp elsewhere")
def test_what_a_filter_answers():
    """A small machine runs the program, as the kernel does."""
    private = seccomp.program(namespaces=True, shared_memory=False)
    shared = seccomp.program(namespaces=False, shared_memory=True, group=7)
    number = {name: next(syscalls.numbers({name: pair}), None) for name, pair in ALL.items()}
    assert answer(private, 1) == "allowed"
    assert answer(private, number["mount"]) == 1
    assert answer(private, 469 + 1) == 38
    assert answer(private, syscalls.CLONE3) == 38
    assert answer(private, number["clone"], 0x10000000 | 17) == 1
    assert answer(private, number["clone"], 17) == "allowed"
    assert answer(private, number["socket"], 1) == "allowed"
    assert answer(private, number["socket"], 2) == 1
    assert answer(private, number["flock"]) == 0
    assert answer(private, number["memfd_create"]) == 1
    assert answer(shared, number["memfd_create"]) == "allowed"
    assert answer(shared, number["socket"], 1) == 1
    assert answer(shared, number["kill"], 7) == "allowed"
    assert answer(shared, number["kill"], 0) == "allowed"
    assert answer(shared, number["kill"], 8) == 1
    assert answer(private, number["kill"], 8) == "allowed"
    assert answer(shared, number["prlimit64"], 8) == 1
    assert answer(shared, number["fchmodat"]) == 0
    assert answer(private, number["ioctl"], 0, 0x5412) == 1
    assert answer(private, number["fcntl"], 0, 1024) == 1
    assert answer(private, number["fcntl"], 0, 3) == "allowed"
    # Whom the kernel signals when a file can be read: landlock keeps that in since its version 6 alone.
    assert {answer(private, number["fcntl"], 0, command) for command in (8, 15)} == {1}
    assert {answer(private, number["ioctl"], 0, command) for command in (0x8901, 0x8902)} == {1}
    assert answer(private, 1, architecture=0x40000003) == "killed"


@pytest.mark.skipif(sys.platform != "linux", reason="there is no seccomp elsewhere")
def test_what_one_job_could_take_from_all_is_not_to_be_had():
    number = {name: next(syscalls.numbers({name: pair}), None) for name, pair in ALL.items()}
    apart = seccomp.program(namespaces=True, shared_memory=False, apart=True)
    together = seccomp.program(namespaces=True, shared_memory=False)
    for program in (apart, together):
        assert {answer(program, number[name]) for name in ("inotify_init1", "io_setup")} == {38}
        assert answer(program, number["mmap"], fourth=0x22) == "allowed"
        assert answer(program, number["mmap"], fourth=0x40022) == 12, "the machine has one pool of huge pages"
    # Descriptors in flight are counted by user: who shares its user may put none there.
    assert {answer(together, number[name]) for name in ("sendmsg", "sendmmsg")} == {1}
    assert {answer(apart, number[name]) for name in ("sendmsg", "sendmmsg")} == {"allowed"}


@pytest.mark.skipif(sys.platform != "linux", reason="there is no seccomp elsewhere")
def test_a_lock_seems_to_be_had_and_no_other_is_seen():
    program = seccomp.program(namespaces=True, shared_memory=False)
    fcntl = next(syscalls.numbers({"fcntl": ALL["fcntl"]}))
    assert {answer(program, fcntl, 0, command) for command in (6, 7, 37, 38)} == {0}
    assert {answer(program, fcntl, 0, command) for command in (5, 36)} == {37}
    assert {answer(program, fcntl, 0, command) for command in (1036, 1038)} == {1}


def answer(steps, number, first=0, second=0, fourth=0, architecture=seccomp._OURS):
    data = {0: number, 4: architecture, 16: first, 24: second, 40: fourth}
    value = place = 0
    while True:
        code, if_so, if_not, operand = struct.unpack_from("<HBBI", steps, place * 8)
        place += 1
        match code:
            case 0x20:
                value = data[operand]
            case 0x06:
                return {_ALLOW: "allowed", 0x8000_0000: "killed"}.get(operand, operand & 0xFFFF)
            case 0x15:
                place += if_so if value == operand else if_not
            case 0x35:
                place += if_so if value >= operand else if_not
            case 0x45:
                place += if_so if value & operand else if_not
