"""Every attack of the gallery is stopped in every tier and by every user, and works once what stops it is switched off.

A new attack is one more file in `gallery/`: a function `attack` that returns something true where it succeeds, and a
docstring with lines that say what is required of it. Where the file has a function `beside`, too, the attack takes
something, prints "holding" and holds it until it is ended; it succeeds where `beside`, which another job calls
meanwhile, does not return what it returns alone.

    stopped by: the layers of which each one alone stops it; or `design`, `copy`, `keeper`, `clock`, `collector`
    outcome:    the statuses that its call may have (default: returned, crashed)
    leaks in:   the tiers that cannot stop it, which docs/security.md names
    off:        the layers that are switched off to see it succeed (default: those of `stopped by`); `none`: it would
                harm the machine, or takes rights that no test has
    plant:      what lies beside it: symlink, hardlink
"""

import json
import os
import pwd
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from attacks.driver import HERE, headers

from labgrade.sandbox.host.cgroups import Groups
from labgrade.sandbox.jail.layers import ALL, CGROUP, LANDLOCK, LAYERS, METER, NAMESPACES, OUTER, SECCOMP, USERS

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="there is a jail on Linux alone")]

NAMES = sorted(path.stem for path in (HERE / "gallery").glob("*.py"))
HEADERS = {name: headers(name) for name in NAMES}
TIERS = {
    "A": frozenset(LAYERS) | {USERS},
    "B": frozenset(LAYERS) - {NAMESPACES} | {OUTER},
    "C": frozenset(LAYERS) - {NAMESPACES},
}
ACCOUNTS = ("root", "user") if os.getuid() == 0 else ("user",)
ROOT_ONLY_PYTHON = "no Python here that an ordinary user may run"


def listed(name, key, default=""):
    return [word.strip() for word in HEADERS[name].get(key, default).split(",") if word.strip()]


@cache
def interpreter():
    """A Python that anybody may run: this one, or the system's."""
    again = (
        "import sys, subprocess; assert sys.version_info >= (3, 11); subprocess.check_call([sys.executable, '-c', ''])"
    )
    for path in (sys.executable, "/usr/bin/python3"):
        # It starts itself once more, because setpriv's first program is still found with root's rights.
        prefix = as_nobody() if os.getuid() == 0 else []
        if subprocess.run([*prefix, path, "-c", again], check=False, capture_output=True, cwd="/").returncode == 0:
            return path
    return None


def as_nobody():
    nobody = pwd.getpwnam("nobody").pw_uid
    return ["setpriv", f"--reuid={nobody}", f"--regid={nobody}", "--clear-groups"]


def prefix_in(folder, python):
    """An environment that is the folder in which all else lies, as `python -m venv .` makes it."""
    (folder / "bin").mkdir()
    (folder / "bin/python").symlink_to(python)
    (folder / "pyvenv.cfg").write_text(f"home = {Path(python).parent}\n")
    return str(folder / "bin/python")


@cache
def results(user, layers, names, place):
    """What came of some attacks as that user with those layers."""
    folder = Path(place)
    folder.mkdir()
    python, prefix = sys.executable, []
    if user == "user":
        python = interpreter()
        if python is None:
            pytest.skip(ROOT_ONLY_PYTHON)
        if os.getuid() == 0:
            prefix = as_nobody()
            os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
    elif NAMESPACES not in layers:  # without a private root, what root becomes must reach the interpreter itself
        python = interpreter()
    folder.chmod(0o755)
    python = prefix_in(folder, os.path.realpath(python))
    command = [*prefix, python, str(HERE / "driver.py"), str(folder), ",".join(sorted(layers)), *names]
    environment = {"PATH": os.defpath, "TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["PYTHONPATH"] = str(Path(np.__file__).parent.parent)  # which the grader needs and the jail does not
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=2000)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def place():
    """A folder that every user can reach, which pytest's own are not."""
    folder = Path("/var/tmp") / f"labgrade-attacks-{os.getpid()}"  # noqa: S108
    folder.mkdir(mode=0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


STOPPED_IN = {tier: tuple(name for name in NAMES if tier not in listed(name, "leaks in")) for tier in sorted(TIERS)}


@pytest.mark.parametrize("user", ACCOUNTS)
@pytest.mark.parametrize(("tier", "name"), [(tier, name) for tier, names in STOPPED_IN.items() for name in names])
def test_is_stopped(name, tier, user, place):
    if user == "user" and interpreter() is None:
        pytest.skip(ROOT_ONLY_PYTHON)
    if tier != "A" and user == "root" and "LABGRADE_SOAK" not in os.environ:
        pytest.skip("takes long: part of `make soak`; the same attacks of an ordinary user are tried")
    found = results(user, TIERS[tier], STOPPED_IN[tier], f"{place}/{tier}-{user}")
    missing = TIERS[tier] - {USERS} - set(found["layers"])
    if missing:
        why = found.get("why", "").strip().splitlines()[-1:]
        pytest.skip(f"this machine has no {', '.join(sorted(missing))} {why}")
    came = found["attacks"][name]
    if listed(name, "stopped by") == [USERS] and USERS not in found["layers"]:
        pytest.skip("jobs have one user id here, which docs/security.md names")
    assert not came["damage"]
    assert not came["hit"], came["value"]
    assert came["status"] in listed(name, "outcome", "returned, crashed"), came["value"]


def switched_off(name):
    named = listed(name, "off", HEADERS[name]["stopped by"])
    return frozenset(layer for layer in named if layer in ALL)


CAN_SUCCEED = [name for name in NAMES if switched_off(name)]


@pytest.mark.parametrize("name", CAN_SUCCEED)
def test_succeeds_once_what_stops_it_is_off(name, place):
    if interpreter() is None:
        pytest.skip(ROOT_ONLY_PYTHON)
    off = switched_off(name)
    together = tuple(other for other in CAN_SUCCEED if switched_off(other) == off)
    found = results("user", (frozenset(LAYERS) | {USERS}) - off, together, f"{place}/off-{'-'.join(sorted(off))}")
    if not found["attacks"]:
        pytest.skip(found["why"])
    came = found["attacks"][name]
    assert came["hit"] or came["damage"], came


HOARDS = {"takes_memory_in_many_processes": frozenset({METER}), "takes_nameless_memory": frozenset({METER, SECCOMP})}


@pytest.mark.parametrize("tier", sorted(TIERS))
@pytest.mark.parametrize("name", HOARDS)
def test_a_control_group_alone_stops_who_takes_memory(name, tier, place):
    try:
        Groups()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    layers = TIERS[tier] - HOARDS[name] | {CGROUP}
    found = results("root" if os.getuid() == 0 else "user", layers, (name,), f"{place}/group-{name}-{tier}")
    if not layers - {CGROUP} <= set(found["layers"]):
        pytest.skip(f"this machine has no tier {tier}")
    assert found["attacks"][name]["status"] == "memory", found["attacks"][name]


def test_each_attack_says_what_stops_it():
    known = {*LAYERS, USERS, "design", "copy", "keeper", "clock", "collector"}
    for name in NAMES:
        assert listed(name, "stopped by"), name
        assert set(listed(name, "stopped by")) <= known, name
        assert set(HEADERS[name]) <= {"stopped by", "outcome", "leaks in", "off", "plant"}, name


def test_no_layer_is_there_for_nothing():
    stopping = {layer for name in CAN_SUCCEED for layer in switched_off(name)}
    assert {NAMESPACES, LANDLOCK, SECCOMP, USERS} <= stopping
