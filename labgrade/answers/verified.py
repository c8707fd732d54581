"""Answers that are what a student's own verification says of right and wrong files: `call` with `transformed_path`.

The function is called once for each file, by a small program of ours in the sandbox. The files are numbered, so that
their names say nothing; the answer is a table with a row a file.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.given import TRANSFORMED
from labgrade.sandbox.given import GIVEN_FOLDER
from labgrade.sandbox.request import CallRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labgrade.forms import CallForm
    from labgrade.model import Limits, SubjectSpec
    from labgrade.results import Execution, Submission
    from labgrade.sandbox.runner import Runner

_PROGRAM = "labgrade_verified.py"
_SOURCE = '''"""Calls a function for each of several files, and returns what it says."""
import importlib.util, json, os, sys

def verified(model_path):
    job = json.loads({job!r})
    given = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(given)
    path = os.path.join(root, job["file"])
    sys.path += [root, os.path.dirname(path)]
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(path))[0], path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    function = getattr(module, job["function"])
    said = {}
    for name in job["files"]:
        values = {"model_path": model_path, "transformed_path": os.path.join(given, name)}
        try:
            result = function(*[values[word] for word in job["given"]])
            right, wrong = result == True, result == False
            said[name] = "accepted" if right else "rejected" if wrong else "neither true nor false"
        except Exception as error:
            said[name] = "failed: " + type(error).__name__
    return said
'''


def wanted(form: CallForm) -> bool:
    """Whether the answer is what the function says of files."""
    return TRANSFORMED in form.given


def run(
    form: CallForm,
    file: str,
    submission: Submission,
    *,
    subject: SubjectSpec | None,
    limits: Limits,
    runner: Runner,
    model: Mapping[str, Path],
) -> Execution:
    """Call the function for each file of `model` but the first, which is the original. The value: what it said."""
    first, *files = model
    job = {"file": file, "function": form.function, "given": list(form.given), "files": files}
    with tempfile.TemporaryDirectory(prefix="labgrade-") as folder:
        program = Path(folder) / _PROGRAM
        program.write_text(_SOURCE.replace("{job!r}", repr(json.dumps(job))), encoding="utf-8")
        return runner.run(
            CallRequest(
                folder=submission.folder,
                file=f"{GIVEN_FOLDER}/{_PROGRAM}",
                function="verified",
                given=("model_path",),
                subject=subject,
                limits=limits,
                model={first: model[first], **{name: model[name] for name in files}, _PROGRAM: program},
            )
        )


def rows(said: object, names: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """What was said, a row a file, under the names that say what the files are."""
    known = said if isinstance(said, dict) else {}
    return {name: {"verdict": str(known.get(number, "nothing said"))} for number, name in names.items()}
