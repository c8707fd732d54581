"""What a student's function sees around it is the same whether it is checked or graded, but for limits of time."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="there is a jail on Linux alone")]
ROOT = Path(__file__).parents[2]
TASK = "llm-kv-cache"
LOOKS = """
import hashlib, json, os, resource, socket, sys

def cache_bytes(config):
    seen = {
        "environment": sorted(os.environ.items()), "arguments": sys.argv, "path": sys.path, "folder": os.getcwd(),
        "files": sorted(os.listdir(".")), "root": sorted(os.listdir("/")), "host": socket.gethostname(),
        "modules": sorted(sys.modules), "pids": [os.getpid(), os.getppid()], "open": len(os.listdir("/proc/self/fd")),
        "command": open("/proc/self/cmdline").read(), "mounts": open("/proc/self/mountinfo").read().count(chr(10)),
        "limits": [resource.getrlimit(each) for each in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE)],
    }
    print(json.dumps({name: hashlib.sha256(repr(each).encode()).hexdigest()[:12] for name, each in seen.items()}))
    return len(config)
"""


def labgrade(*words):
    subprocess.run(
        [Path(sys.executable).parent / "labgrade", *map(str, words)],
        cwd=ROOT,
        check=False,
        capture_output=True,
        timeout=300,
    )


def seen(path):
    report = json.loads(path.read_text(encoding="utf-8"))
    checks = [check for each in report["submissions"] for task in each["tasks"] for check in task["checks"]]
    return {check["id"]: json.loads(check["printed"]) for check in checks if check["printed"]}


def test_a_function_sees_the_same_whether_it_is_checked_or_graded(tmp_path):
    work = tmp_path / "class" / "eve"
    work.mkdir(parents=True)
    (work / "accounting.py").write_text(LOOKS, encoding="utf-8")
    labgrade("check", work, "--task", TASK, "--json", tmp_path / "check.json")
    labgrade("grade", tmp_path / "class", "--task", TASK, "--out", tmp_path / "results")
    labgrade("export", "--results", tmp_path / "results", "--format", "json", "--out", tmp_path)
    checked, graded = seen(tmp_path / "check.json"), seen(tmp_path / "report.json")
    assert checked
    for name, what in checked.items():
        assert graded[name] == what
