"""The `labgrade` command: grade a class or check one's own work, explore, write and test tasks.

Starting is free: only the module of the command that runs is imported, and nothing of labgrade's for `--help`.

Exit codes: 0 all right, 1 something is not, 2 usage or a broken spec, 3 a fault of labgrade's.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import sys

from labgrade import __version__

USAGE, FAULT = 2, 3
_NOT_WRITTEN = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG}
# Each command, the module of `labgrade.commands` whose `add_<command>` gives its arguments, and what it is for.
_COMMANDS = (
    ("check", "check", "check your own work: what is right, what is not, and why"),
    ("grade", "grade", "grade a class into a results folder; goes on where it was interrupted"),
    ("regrade", "grade", "grade again what changed since, and show before, after and why"),
    ("explain", "explain", "the whole story of a verdict: answer, expected, judged how, on what, before"),
    ("compute", "compute", "compute a quantity of a model: the ground truth"),
    ("list", "list", "show the quantities, checkers, subjects or tasks that there are"),
    ("doctor", "doctor", "try what this machine offers, and say what to do about what is missing"),
    ("validate", "specs", "check specs: every finding at file:line:column"),
    ("subject", "course", "write the ONNX file that a task is about"),
    ("counterexample", "counterexample", "find the smallest network on which your function is wrong"),
    ("export", "export", "make every format of a report, without grading again"),
    ("picture", "picture", "draw an ONNX graph, a tiled one with its tile counts"),
    ("init", "course", "make a course of your own: a folder that uses labgrade as it is installed"),
    ("new", "new", "write a new task: asks a few questions"),
    ("kit", "course", "make what students are given: public checks, subjects, templates"),
    ("test", "test", "try every task by its own fixtures: what it lets through, what it notices"),
    ("schema", "specs", "print the JSON Schema of a task, for editors"),
    ("mark", "review", "mark what waits for a person: the text, the rubric, the points"),
    ("override", "review", "decide about a check yourself; labgrade's verdict stays beside it"),
    ("release", "review", "let students see their results, with all that people decided"),
    ("standing", "review", "what still waits for a person"),
    ("anonymous", "review", "show pseudonyms for names until results are released"),
)


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = parsed(sys.argv[1:] if arguments is None else arguments)
    from labgrade.core.errors import FaultError, SpecError, UsageError

    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except (UsageError, SpecError) as error:
        _complain(f"labgrade: {error}" if isinstance(error, UsageError) else str(error))
        return USAGE
    except FaultError as error:
        _complain(f"labgrade: a fault of ours: {error}")
        return FAULT
    except KeyboardInterrupt:
        return 130
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


def parsed(arguments: list[str]) -> argparse.Namespace:
    """The options of a command line; `run` is the function that does what the command is for.

    Raises:
        SystemExit: it asks for help or the version, or it is none that labgrade understands.
    """
    parser = argparse.ArgumentParser(prog="labgrade", description="Grade deep-learning model-analysis labs.")
    parser.add_argument("--version", action="version", version=f"labgrade {__version__}")
    # With `prog`, argparse makes no formatter before there is something to format.
    commands = parser.add_subparsers(required=True, metavar="COMMAND", prog="labgrade")
    chosen = next((each for each in arguments if not each.startswith("-")), "")
    for name, module, purpose in _COMMANDS:
        command = commands.add_parser(name, help=purpose)
        if name == chosen:
            getattr(importlib.import_module(f"labgrade.commands.{module}"), f"add_{name}")(command)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
