"""Tiers follow from layers, and each missing layer says what to do."""

import os
import sys
from pathlib import Path

import pytest

from labgrade.sandbox.host import protection
from labgrade.sandbox.host.protection import Protection
from labgrade.sandbox.jail.layers import LANDLOCK, LAYERS, NAMESPACES, OUTER, SECCOMP, USERS
from labgrade.sandbox.runner import Runner

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
ALL = set(LAYERS)
linux = pytest.mark.skipif(sys.platform != "linux", reason="there is a jail on Linux alone")


@pytest.mark.parametrize(
    ("layers", "tier"),
    [
        (ALL, "A"),
        (ALL - {LANDLOCK}, "A"),
        (ALL - {SECCOMP}, "D"),
        (ALL - {NAMESPACES} | {OUTER}, "B"),
        (ALL - {NAMESPACES}, "C"),
        (ALL - {NAMESPACES, LANDLOCK}, "D"),
        (ALL - {NAMESPACES, LANDLOCK} | {OUTER}, "D"),
        (set(), "D"),
    ],
)
def test_a_tier_is_what_its_layers_come_to(layers, tier):
    assert Protection(layers=tuple(layers)).tier == tier


def test_the_lines_name_the_tier_and_each_missing_layer_with_its_remedy(monkeypatch, tmp_path):
    switch = tmp_path / "max_user_namespaces"
    switch.write_text("0\n")
    monkeypatch.setattr(protection, "_SWITCHES", ((str(switch), "0", "sudo sysctl user.max_user_namespaces=10000"),))
    state = {"layers": [*(ALL - {NAMESPACES})], "missing": {NAMESPACES: "unshare: No space left on device"}}
    assert protection.detect(state).lines == (
        "protection: tier C, landlock and seccomp around each job; names and sizes of the machine's files can be seen",
        "missing: namespaces (unshare: No space left on device); sudo sysctl user.max_user_namespaces=10000",
    )


def test_jobs_that_share_a_user_are_told_of_with_what_to_do():
    state = {"layers": [*ALL], "missing": {USERS: "there is no newuidmap"}}
    _, line = protection.detect(state).lines
    assert line.startswith("shared: students' jobs have one user id, so that one may use up pipes")
    assert line.endswith("(there is no newuidmap); " + protection.remedy(USERS, ""))
    assert protection.detect({"layers": [*ALL, USERS], "missing": {}}).lines[1:] == ()


@pytest.mark.parametrize(
    ("layer", "why", "says"),
    [
        (LANDLOCK, "", "use Linux 5.13 or newer"),
        (SECCOMP, "", "use Linux on x86-64 or aarch64"),
        (NAMESPACES, "the user 64999 may not run /root/python", "install Python where every user may read it"),
    ],
)
def test_remedies(layer, why, says):
    assert protection.remedy(layer, why).startswith(says)


@pytest.mark.parametrize(("platform", "remedy"), [("linux", "unset LABGRADE_FRESH"), ("darwin", "use Linux, or WSL 2")])
def test_where_no_server_is_tried_the_line_says_what_to_do(monkeypatch, platform, remedy):
    with Runner(zoo=HERE / "zoo_light.py", fresh=True) as runner:
        monkeypatch.setattr("labgrade.sandbox.host.servers.sys.platform", platform)
        _, line, *_ = runner.protection.lines
    assert line.startswith("missing: ")
    assert f"); {remedy}" in line


@linux
def test_a_runner_tells_its_protection_before_anything_is_run():
    with Runner(zoo=HERE / "zoo_light.py", fresh=False) as runner:
        found = runner.protection
        assert set(found.layers) | set(found.missing) == ALL | {USERS}
        assert "students" not in runner._servers._running
        assert set(found.layers) == set(runner._servers.get("students").state["layers"])


def test_plain_processes_are_tier_d():
    with Runner(fresh=True) as runner:
        assert runner.protection.tier == "D"
        assert NAMESPACES in runner.protection.missing


@linux
def test_nothing_of_a_students_runs_as_root():
    with Runner(zoo=HERE / "zoo_light.py", fresh=False) as runner:
        if NAMESPACES not in runner.protection.layers:
            pytest.skip("this machine has no namespaces")
        process = runner._servers.get("light")._process
        users = {line for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if line[:4] == "Uid:"}
    (line,) = users
    assert set(line.split()[1:]) == {str(os.getuid() or 64999)}
