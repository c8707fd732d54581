"""How the tests are shared among workers (a file stays with one, those that take longest come first) and drawn."""

import contextlib
import gc
import logging
import os
import sys
from pathlib import Path

import pytest
from helpers import forked, kept, warm
from hypothesis import settings

# Compiled once for all processes that tests start, as in the Makefile: compiling labgrade takes each half a second.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Workers share the cores: a second thread of one of them waits, busily, for a core that another has.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The same examples each time, so that a change alone turns a test red; `make soak` draws new ones. A slow machine is no
# failure, so that no example has a deadline.
settings.register_profile("steady", derandomize="LABGRADE_SOAK" not in os.environ, deadline=None)
settings.load_profile("steady")


_WORKER_BYTES = 4 << 30  # with the processes that it starts


@pytest.hookimpl(wrapper=True)
def pytest_xdist_auto_num_workers(config):
    """One more worker than cores: each waits a fifth of its time, for a process or for a moment."""
    cores = yield
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ or config.getoption("submission") or sys.platform != "linux":
        return cores
    return cores + (_memory() >= (cores + 1) * _WORKER_BYTES)


def _memory():
    """The machine's memory, or what a container is given of it."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for file in ("memory.max", "memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):  # ValueError: `max`
            limits.append(int(Path("/sys/fs/cgroup", file).read_text()))
    return min(limits)


def pytest_configure(config):
    if not config.getoption("submission"):  # which grades, and runs no test
        kept.apart(first=not hasattr(config, "workerinput"))
        warm.lend(config)
        forked.lend(config)
    if getattr(config.option, "dist", "no") == "load":
        config.option.dist = "loadscope"  # what a file's tests share, such as a warm server, is started once
        config.option.loadscopereorder = False  # the order below, not that of the most tests


def pytest_sessionstart(session):
    """Nobody looks at a test's log, and to attach to the loggers of all libraries takes a fifth of a light test."""
    if not session.config.getoption("submission"):
        session.config.pluginmanager.unregister(name="logging-plugin").log_file_handler.close()
        logging.getLogger().addHandler(logging.NullHandler())


# The files that take longest: whoever gets one of them last keeps the others waiting.
LONGEST = [
    "test_samples",
    "test_browser",
    "test_installed",
    "test_attacks",
    "test_pages",
    "test_class",
    "test_faults",
    "test_oracle",
    "test_cluster",
    "test_in_the_jail",
    "test_runner",
    "test_text",
    "test_misconceptions",
    "test_remembered_runs",
    "test_mentions",
    "test_tiling_tasks",
    "test_testing",
    "test_torchscript",
    "test_other_servers",
    "test_tables",
    "test_cli",
    "test_gallery",
    "test_builds",
    "test_cpp_docs",
    "test_free_reports",
    "test_pytest_plugin",
    "test_pretrained",
    "test_behaviour",
    "test_wrong_students",
    "test_nothing_given_away",
    "test_onnx_suites",
    "test_shadowing",
    "test_called_together",
    "test_own_section",
    "test_kit",
    "test_a_readers_day",
    "test_artifacts",
    "test_zoo",
    "test_odd_forms",
    "test_run_form",
    "test_reader",
    "test_cgroups",
    "test_soak",
    "test_lines",
    "test_edits",
    "test_search",
    "test_counters",
    "test_layers",
    "test_noticing",
    "test_hostile_course",
    "test_generated",
    "test_golden",
]


def pytest_collection_modifyitems(items):
    slow = {item.path: 0 for item in items}
    for item in items:
        slow[item.path] += item.get_closest_marker("slow") is not None
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: (place.get(item.path.stem, len(place)), not slow[item.path]))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Look for no garbage among thousands of tests and all that they import: these stay to the end."""
    if session.config.getoption("submission"):
        return (yield)
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_runtest_setup(item):
    if item.get_closest_marker("slow") is not None:
        warm.borrow()
