"""Each job that runs has a user id of the machine's to itself, and gives it back."""

import contextlib
import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest
from attacks.driver import HERE as ATTACKS
from attacks.driver import Holder
from attacks.driver import call as attack
from sandbox.test_together import LIGHT, at_once, call

from labgrade.sandbox.jail import users
from labgrade.sandbox.jail.layers import ALL, USERS
from labgrade.sandbox.jail.usage import family
from labgrade.sandbox.runner import Runner

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="there is a jail on Linux alone")]
WAITS = "import time\ndef f(model): time.sleep(600)"


@pytest.fixture(scope="module")
def runner():
    with Runner(zoo=LIGHT, fresh=False) as one:
        if USERS not in one.protection.layers:
            pytest.skip(f"jobs have no users of their own here: {one.protection.missing}")
        yield one


def ids_below(pid):
    """The process and the user id, as the machine knows them, of all below one."""
    found = {}
    for each in family(pid)[1:]:
        with contextlib.suppress(OSError):  # it has just ended
            found[each] = int(re.search(r"^Uid:\s+(\d+)", Path(f"/proc/{each}/status").read_text(), re.MULTILINE)[1])
    return found


def test_jobs_that_run_together_are_different_users_and_none_is_the_server(runner, tmp_path):
    first, count = runner._servers.get("students").state["users"]
    seen = {}

    def look():
        while len(set(seen.values())) < 3:
            time.sleep(0.01)
            seen.clear()
            seen.update({pid: user for pid, user in ids_below(os.getpid()).items() if first <= user < first + count})
        for pid in seen:
            os.kill(pid, signal.SIGKILL)

    with Runner(zoo=LIGHT, fresh=False) as another:
        call(another, tmp_path / "before", WAITS.replace("600", "0"))
        waiting = [
            lambda n=n, one=one: call(one, tmp_path / n, WAITS)
            for n, one in zip("abc", [runner, runner, another], strict=True)
        ]
        at_once(look, *waiting)
    assert len(seen) == len(set(seen.values())) == 3


def test_an_id_is_free_again_after_its_job(runner, tmp_path):
    server = runner._servers.get("students")
    with server.user() as one, server.user() as other:
        assert one != other
        taken = {one, other}
    with server.user() as one:
        assert one in taken


def test_what_a_job_finds_is_its_own(runner, tmp_path):
    source = """
import os
def f(model):
    open("new", "w").close()
    return [os.getuid(), os.getgid(), os.getgroups(), *(os.stat(p).st_uid for p in (".", "hw.py", "new", "../tmp"))]
"""
    assert call(runner, tmp_path / "own", source).value == [1000, 1000, [], 1000, 1000, 1000, 1000]


def test_without_ranges_jobs_share_and_the_report_says_why(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "getuid", lambda: 4711)
    monkeypatch.setattr(users.shutil, "which", lambda name: f"/usr/bin/{name}")
    with pytest.raises(OSError, match="/etc/subuid has no ids for user 4711"):
        users.of_this_machine()
    monkeypatch.setattr(users.shutil, "which", lambda name: None)
    with pytest.raises(OSError, match="there is no newuidmap"):
        users.of_this_machine()


def test_a_range_is_found_by_name_or_number(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 4711)
    table = tmp_path / "subuid"
    table.write_text("somebody:100000:65536\n4711:200000:70\n")
    assert users._range_of(str(table)) == (200000, 70)


def test_work_that_only_its_owner_may_read_keeps_jobs_from_having_users(monkeypatch, tmp_path):
    """Another user could not import it, and right work would fail."""
    (tmp_path / "package").mkdir(mode=0o700)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    users.check_reading(())
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != f"{tmp_path}/package")
    with pytest.raises(OSError, match=f"other users may not read {tmp_path}/package"):
        users.check_reading(())


def test_without_users_the_layer_is_missing_and_nothing_else(tmp_path):
    with Runner(zoo=LIGHT, fresh=False, layers=tuple(layer for layer in ALL if layer != USERS)) as one:
        assert one.protection.tier == "A"
        assert call(one, tmp_path / "plain", "def f(model): return 3").value == 3
        assert one._servers.get("students").state["users"] is None


LOADS = """
import torch
from torch.utils.data import DataLoader, TensorDataset

def beside():
    data = TensorDataset(torch.arange(64.0).reshape(16, 4))
    return sum(float(batch.sum()) for (batch,) in DataLoader(data, batch_size=4, num_workers=2))
"""


@pytest.mark.parametrize("apart", [True, False])
def test_a_classmates_right_data_loader_is_right_beside_who_fills_what_they_would_share(tmp_path, apart):
    layers = tuple(layer for layer in ALL if apart or layer != USERS)
    with Runner(zoo=LIGHT.parent / "zoo_small.py", fresh=False, layers=layers, spare_seconds=120.0) as one:
        for name in ("fills_the_flight_of_descriptors", "fills_all_pipes", "takes_all_watches_of_files"):
            folder, mate = tmp_path / name, tmp_path / f"beside-{name}"
            folder.mkdir()
            mate.mkdir()
            shutil.copy(ATTACKS / "gallery" / f"{name}.py", folder / "hw.py")
            (mate / "hw.py").write_text(LOADS)
            with Holder(one, folder):
                done = attack(one, mate, function="beside")
            assert (done.status, done.value) == ("returned", 2016.0), (name, done)
