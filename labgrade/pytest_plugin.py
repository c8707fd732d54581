"""`pytest --submission=NAME` grades: the options, and the door to `pytest_grading`, which does it.

pytest loads this wherever labgrade is installed (the entry point of pyproject.toml; conftest.py where there is none).
Without `--submission` it does nothing and imports nothing, and plain `pytest` runs the project's own tests.
"""

from __future__ import annotations

import copy
import gc
import inspect
from typing import Any

import pytest
from _pytest.config.findpaths import determine_setup

_YOUNG = 200_000  # objects made since the last look for garbage, as in labgrade's own commands


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options that turn pytest into a grader."""
    group = parser.getgroup("labgrade", "grading submissions")
    group.addoption(
        "--submission",
        action="append",
        default=[],
        metavar="NAME",
        help="grade this submission; `all` grades every one",
    )
    group.addoption(
        "--submissions-dir",
        metavar="DIR",
        help="where submissions are: a folder, or an archive such as Moodle's and Canvas' (default: submissions/)",
    )
    group.addoption("--unsafe", action="store_true", help="grade others' code also where nothing protects you from it")
    group.addoption(
        "--torch-home", metavar="DIR", help="downloaded weights for students' code, in hub/checkpoints/ below DIR"
    )
    group.addoption(
        "--results", metavar="DIR", help="keep verdicts in this folder's ledger, and do not run again what it knows"
    )
    group.addoption("--fresh", action="store_true", help="judge anew what is remembered of earlier runs, too")
    group.addoption(
        "--labgrade-json", metavar="FILE", help="write the report as JSON; `-` is stdout, and all else goes to stderr"
    )
    group.addoption("--report-html", metavar="FILE", help="write a page for a browser: a student's, or that of a class")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> None:
    """Look for the project again where pytest, which did not know our options yet, took their values for test paths."""
    known = early_config.known_args_namespace
    if not known.submission:
        return
    asked = {
        "inifile": known.inifilename,
        "override_ini": known.override_ini,
        "args": known.file_or_dir,
        "rootdir_cmd_arg": known.rootdir or None,
        "invocation_dir": early_config.invocation_params.dir,
    }
    takes = inspect.signature(determine_setup).parameters  # it differs between versions of pytest
    root, ini, settings, *_ = determine_setup(**{name: value for name, value in asked.items() if name in takes})
    from labgrade.pytest.handed_in import HandedIn

    here = early_config.invocation_params.dir
    HandedIn(here, known.submissions_dir).refuse(ini, early_config.pluginmanager)
    if (root, ini) == (early_config.rootpath, early_config.inipath):
        return
    config: Any = early_config
    config._rootpath, config._inipath = root, ini  # noqa: SLF001 - there is no other way to set them
    setattr(config, "_inicfg" if hasattr(config, "_inicfg") else "inicfg", settings)
    config._inicache.clear()  # noqa: SLF001
    args[:] = [*config.getini("addopts"), *args]
    config.known_args_namespace = config._parser.parse_known_args(args, namespace=copy.copy(config.option))  # noqa: SLF001
    config.known_args_namespace.confcutdir = str(ini.parent if ini is not None else root)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Where submissions are asked for, grade."""
    if config.getoption("submission"):
        gc.set_threshold(_YOUNG)
        from labgrade.pytest import unchanged

        known = unchanged.of(config)
        if known is not None and known.again():
            return
        from labgrade.pytest import grading

        grading.begin(config, known)
