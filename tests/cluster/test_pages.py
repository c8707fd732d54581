"""What Dask serves beside its work, pages and figures, nobody else in the network gets to see."""

import gc
import os
import subprocess
import sys
import warnings

import pytest

pytest.importorskip("dask_jobqueue", reason="the queues need dask-jobqueue")

from labgrade.cluster import connect
from labgrade.core.errors import UsageError

pytestmark = pytest.mark.slow

# Runs a job's script as Slurm does, and leaves its process number behind, so that the test ends it.
SBATCH = """#!/bin/sh
sh "$1" >/dev/null 2>&1 &
echo $! >> {folder}/jobs
echo Submitted batch job $!
"""
FILE = """
jobs: 1
cores: 1
processes: 1
memory: 1GB
job_directives_skip: ["-A"]
python: {python}
shared_temp_directory: {keys}
"""


@pytest.fixture
def queue(tmp_path, monkeypatch):
    """A queue of one job that runs here."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in {"sbatch": SBATCH.format(folder=tmp_path), "scancel": "#!/bin/sh\n"}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    file = tmp_path / "cluster.yaml"
    file.write_text(FILE.format(python=sys.executable, keys=tmp_path))
    yield file
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()  # dask-jobqueue leaves the files of its keys to it
    for number in (tmp_path / "jobs").read_text().split() if (tmp_path / "jobs").exists() else ():
        subprocess.run(["kill", number], check=False, capture_output=True)


def sockets(dask_scheduler=None, dask_worker=None):
    """Where the pages of the scheduler, or of the worker, listen: the addresses of the sockets themselves."""
    return [each.getsockname()[0] for each in (dask_scheduler or dask_worker).http_server._sockets.values()]


@pytest.mark.promise("no-page-for-the-network")
def test_no_page_of_a_queues_jobs_is_served_to_the_network(queue):
    with connect.connected(f"slurm:{queue}") as client:
        client.wait_for_workers(1, timeout=60)
        assert {*client.run_on_scheduler(sockets)} == {"127.0.0.1"}
        (of_worker,) = client.run(sockets).values()
        assert {*of_worker} == {"127.0.0.1"}


@pytest.mark.parametrize("line", ["scheduler_options: [1]", "scheduler_options: x", "worker_extra_args: {a: 1}"])
def test_an_option_of_a_queue_of_another_kind_is_named(queue, line):
    queue.write_text(f"{queue.read_text()}\n{line}\n")
    with pytest.raises(UsageError, match=r"is a (mapping|list)"), connect.connected(f"slurm:{queue}"):
        pass
