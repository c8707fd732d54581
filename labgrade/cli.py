"""The `labgrade` command, a module each: grade a class or check one's own work, explore, write and test tasks.

Exit codes: 0 all right, 1 something is not, 2 usage or a broken spec, 3 a fault of ours.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade import (
    __version__,
    commands,
    computing,
    examination,
    explore,
    exporting,
    grade,
    init_course,
    kit,
    listing,
    new_task,
    picture,
    story,
    testing,
    wrong_network,
)
from labgrade.errors import FaultError, SpecError, UsageError
from labgrade.people import verbs as people
from labgrade.second_opinion import HELP as SECOND_OPINION_HELP
from labgrade.torch_home import HELP as TORCH_HOME_HELP

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE, FAULT = 2, 3
_NOT_WRITTEN = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except (UsageError, SpecError) as error:
        print(f"labgrade: {error}" if isinstance(error, UsageError) else error, file=sys.stderr)  # noqa: T201
        return USAGE
    except FaultError as error:
        print(f"labgrade: a fault of ours: {error}", file=sys.stderr)  # noqa: T201
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="labgrade", description="Grade deep-learning model-analysis labs.")
    parser.add_argument("--version", action="version", version=f"labgrade {__version__}")
    verbs = parser.add_subparsers(required=True, metavar="COMMAND")
    _check(verbs.add_parser("check", help="check your own work: what is right, what is not, and why"))
    grade.add_to(verbs)
    story.add_to(verbs)
    computing.add_to(verbs)
    listing.add_to(verbs)
    doctor = verbs.add_parser("doctor", help="try what this machine offers, and say what to do about what is missing")
    doctor.add_argument("--json", action="store_true", help="print JSON")
    doctor.set_defaults(run=examination.run)
    _validate(verbs.add_parser("validate", help="check specs: every finding at file:line:column"))
    _subject(verbs.add_parser("subject", help="write the ONNX file that a task is about"))
    wrong_network.add_to(verbs)
    exporting.add_to(verbs)
    picture.add_to(verbs)
    init_course.add_to(verbs)
    new_task.add_to(verbs)
    kit.add_to(verbs)
    testing.add_to(verbs)
    schema = verbs.add_parser("schema", help="print the JSON Schema of a task, for editors")
    schema.add_argument("--write", type=Path, metavar="FILE", help="write it to FILE")
    schema.set_defaults(run=commands.schema)
    people.add_to(verbs)
    return parser


def _check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", type=Path, help="the folder with the work, or an archive of it (.zip, .tar.gz)")
    parser.add_argument("--lab", help="only this lab")
    parser.add_argument("--course", type=Path, metavar="DIR", help="the course whose specs and code judge; trusted")
    parser.add_argument("--task", action="append", metavar="ID", help="only this task (may be given again)")
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON; `-` is stdout")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page for a browser")
    parser.add_argument("--torch-home", type=Path, metavar="DIR", help=TORCH_HOME_HELP)
    parser.add_argument("--second-opinion", action="store_true", help=SECOND_OPINION_HELP)
    parser.set_defaults(run=commands.check)


def _subject(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="such as 2-2-1-operators")
    parser.add_argument("--to", type=Path, default=Path(), metavar="FOLDER", help="where (default: here)")
    parser.set_defaults(run=explore.subject)


def _validate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", type=Path, help="spec files or folders (default: all)")
    parser.add_argument("--compute", action="store_true", help="recompute published values and misconceptions too")
    parser.set_defaults(run=commands.validate)


if __name__ == "__main__":
    sys.exit(main())
