"""The `labgrade` command: grade a class or check one's own work, explore, write and test tasks.

Starting is free: only the module of the command that runs is imported, and nothing of labgrade's for `--help`.

Exit codes: 0 all right, 1 something is not, 2 usage or a broken spec, 3 a fault of labgrade's.
"""

from __future__ import annotations

import errno
import gc
import importlib
import os
import sys

from labgrade import __version__

TYPE_CHECKING = False  # `typing` itself takes longer to import than all that `--help` needs
if TYPE_CHECKING:
    import argparse
    from typing import NoReturn

USAGE, FAULT = 2, 3
YOUNG = 200_000  # objects made since the last look for garbage: Python's 700 let that take a fifth of a check
_NOT_WRITTEN = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG}
# By who needs them: each command, the module of `labgrade.commands` whose `add_<command>` gives its arguments, and
# what it is for.
_GROUPS = (
    (
        "your own work",
        (
            ("check", "check", "check your own work: what is right, what is not, and why"),
            ("counterexample", "counterexample", "find the smallest network on which your function is wrong"),
            ("compute", "compute", "compute a quantity of a model: the ground truth"),
            ("subject", "course", "write the ONNX file that a task is about"),
            ("picture", "picture", "draw an ONNX graph, a tiled one with its tile counts"),
            ("list", "specs", "show the quantities, checkers, subjects, models or tasks that there are"),
            ("doctor", "doctor", "try what this machine offers, and say what to do about what is missing"),
        ),
    ),
    (
        "marking a class",
        (
            ("collect", "by_git.collect", "fetch students' repositories, and take in the commit that counts of each"),
            ("grade", "grade", "grade a class into a results folder; goes on where it was interrupted"),
            ("regrade", "grade", "grade again what changed since, and show before, after and why"),
            ("explain", "explain", "the whole story of a verdict: answer, expected, judged how, on what, before"),
            ("standing", "explain", "what still waits for a person"),
            ("mark", "review", "mark what waits for a person: the text, the rubric, the points"),
            ("desk", "review", "mark in a browser on this machine: question by question, equal answers at once"),
            ("override", "review", "decide about a check yourself; labgrade's verdict stays beside it"),
            ("anonymous", "review", "show pseudonyms for names until results are released"),
            ("release", "review", "let students see their results, with all that people decided"),
            ("return", "by_git.give_back", "push released results back into students' repositories"),
            ("export", "export", "make every format of a report, without grading again"),
        ),
    ),
    (
        "writing tasks",
        (
            ("init", "course", "make a course of your own: a folder that uses labgrade as it is installed"),
            ("new", "new", "write a new task: asks a few questions"),
            ("validate", "specs", "check specs: every finding at file:line:column"),
            ("test", "test", "try every task by its own fixtures: what it lets through, what it notices"),
            ("kit", "course", "make what students are given: public checks, subjects, templates"),
            ("schema", "specs", "print the JSON Schema of a task, for editors"),
        ),
    ),
)
_COMMANDS = tuple(command for _, commands in _GROUPS for command in commands)
_INTERRUPTED = 130
_WIDTH = max(len(name) for name, _, _ in _COMMANDS)


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    gc.set_threshold(YOUNG)
    try:
        options = parsed(sys.argv[1:] if arguments is None else arguments)
    except BrokenPipeError:  # `labgrade | head`
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        return _INTERRUPTED
    from labgrade.core.errors import FaultError, SpecError, UsageError

    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except (UsageError, SpecError) as error:
        _complain(f"labgrade: {error}" if isinstance(error, UsageError) else str(error))
        return USAGE
    except FaultError as error:
        _complain(f"labgrade: a fault of labgrade's: {error}")
        return FAULT
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:  # `labgrade list | head`
        sys.stderr.close()
        return 0
    except OSError as error:
        if error.errno not in _NOT_WRITTEN:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still buffered has nowhere to go
        print(f"labgrade: the output could not be written: {str(error.strerror).lower()}", file=sys.stderr)  # noqa: T201
        return USAGE
    return code


def _complain(message: str) -> None:
    from labgrade.core.text import for_terminal  # a message may quote what students named: a folder, a file

    print(for_terminal(message), file=sys.stderr)  # noqa: T201


def overview() -> str:
    """What can be done, grouped by who does it."""
    lines = ["usage: labgrade COMMAND ...; labgrade COMMAND --help says what it takes"]
    for who, commands in _GROUPS:
        lines += ["", f"{who}:", *(f"    {name:<{_WIDTH}}  {purpose}" for name, _, purpose in commands)]
    return "\n".join([*lines, "", "labgrade --version prints the version."])


def parsed(arguments: list[str]) -> argparse.Namespace:
    """The options of a command line; `run` is the function that does what the command is for.

    Raises:
        SystemExit: it asks for help or the version, or it is none that labgrade understands.
    """
    name, *others = arguments or ["--help"]
    if name in ("-h", "--help") or arguments == ["list"]:
        print(overview(), flush=True)  # noqa: T201
        sys.exit(0)
    if name == "--version":
        print(f"labgrade {__version__}")  # noqa: T201
        sys.exit(0)
    module = next((module for each, module, _ in _COMMANDS if each == name), None)
    if module is None:
        _refuse(name)
    parser = _parser(f"labgrade {name}")
    getattr(importlib.import_module(f"labgrade.commands.{module}"), f"add_{name}")(parser)
    return parser.parse_args(others)


def _parser(program: str) -> argparse.ArgumentParser:
    """A parser that suggests the closest option in place of an unknown one."""
    import argparse

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            mistyped = next((word for word in message.split() if word.startswith("--")), "")
            if mistyped and message.startswith("unrecognized"):
                from labgrade.core.did_you_mean import did_you_mean

                message += did_you_mean(mistyped.partition("=")[0], self._option_string_actions)
            super().error(message)

    return Parser(prog=program)


def _refuse(name: str) -> NoReturn:
    """End because of a word that is no command."""
    from labgrade.core.did_you_mean import did_you_mean

    near = did_you_mean(name, [each for each, _, _ in _COMMANDS]) or "; labgrade --help lists them"
    _complain(f"usage: labgrade COMMAND ...\nlabgrade: there is no command '{name}'{near}")
    sys.exit(USAGE)


if __name__ == "__main__":
    sys.exit(main())
