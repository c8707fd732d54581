"""Answers that are the file which a student's function writes: `call` with `save_to` among what it is given.

The function is called by a small program of ours that lies beside the hand-in in the sandbox; the file comes back as an
array of bytes, and is kept in the grader's own folder.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade import zoo_linear
from labgrade.answers.plain import what
from labgrade.answers.typed import WrongTypeError
from labgrade.given import SAVE_TO, WRITERS
from labgrade.sandbox.given import GIVEN_FOLDER
from labgrade.sandbox.request import CallRequest
from labgrade.values import Artifact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from labgrade.forms import CallForm
    from labgrade.model import Limits, SubjectSpec
    from labgrade.results import Execution, Submission
    from labgrade.sandbox.runner import Runner

_PROGRAM = "labgrade_written.py"
_MOST_BYTES = 247 << 20  # what fits into one frame of the sandbox
_SOURCE = '''"""Calls a function that writes files, and returns them."""
import importlib.util, json, os, sys, tempfile
import numpy

job = json.loads({job!r})
given = os.path.dirname(os.path.abspath(__file__))

def loaded():
    root = os.path.dirname(given)
    path = os.path.join(root, job["file"])
    sys.path += [root, os.path.dirname(path)]
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(path))[0], path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return getattr(module, job["function"])

def content(function, values, model_path):
    target = os.path.join(tempfile.mkdtemp(), job["name"])
    values = dict(values, save_to=target, model_path=model_path)
    function(*[values[name] for name in job["given"]])
    if not os.path.isfile(target):
        raise FileNotFoundError(job["function"] + " returned without writing the file that save_to names")
    if os.path.getsize(target) > job["most"]:
        return numpy.asarray([os.path.getsize(target)], dtype=numpy.int64)
    return numpy.fromfile(target, dtype=numpy.uint8)

def written(model_path=None):
    return content(loaded(), job["values"], model_path)

def each():
    function, found = loaded(), []
    for values, model in job["each"]:
        try:
            found.append(content(function, values, model and os.path.join(given, model)))
        except BaseException:
            break
    return found
'''


def wanted(form: CallForm) -> bool:
    """Whether the answer is what the function writes."""
    return SAVE_TO in form.given


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
    """Call the function. Where it returned, the value is the content of the file, an array of bytes."""
    job = {**_job(form, file), "values": _values(form, subject)}
    with _program(job) as program:
        return runner.run(
            CallRequest(
                folder=submission.folder,
                file=f"{GIVEN_FOLDER}/{_PROGRAM}",
                function="written",
                given=("model_path",) if "model_path" in form.given else (),
                subject=subject,
                limits=limits,
                model={**model, _PROGRAM: program},
            )
        )


def run_each(
    form: CallForm,
    file: str,
    submission: Submission,
    subjects: Sequence[tuple[SubjectSpec, Mapping[str, Path]]],
    *,
    limits: Limits,
    runner: Runner,
) -> list[object]:
    """What the function writes for each of several subjects with their files, up to the first for which it fails.

    One process makes all calls, so that one may spoil the next.
    """
    files = {f"{at}/{name}": path for at, (_, model) in enumerate(subjects) for name, path in model.items()}
    each = [
        (_values(form, subject), f"{at}/{next(iter(model))}" if model else "")
        for at, (subject, model) in enumerate(subjects)
    ]
    with _program({**_job(form, file), "each": each}) as program:
        request = CallRequest(
            folder=submission.folder,
            file=f"{GIVEN_FOLDER}/{_PROGRAM}",
            function="each",
            given=(),
            subject=None,
            limits=limits,
            model={_PROGRAM: program, **files},
        )
        done = runner.run(request)
    if done.status != "returned" or not isinstance(done.value, list):
        return []
    return done.value[: len(subjects)]  # a student's code can have any number of them sent, each a file to be kept


def _job(form: CallForm, file: str) -> dict[str, Any]:
    return {
        "file": file,
        "function": form.function,
        "given": list(form.given),
        "name": "answer.onnx",
        "most": _MOST_BYTES,
    }


@contextlib.contextmanager
def _program(job: Mapping[str, Any]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="labgrade-") as folder:
        program = Path(folder) / _PROGRAM
        program.write_text(_SOURCE.replace("{job!r}", repr(json.dumps(job))), encoding="utf-8")
        yield program


def _values(form: CallForm, subject: SubjectSpec | None) -> dict[str, Any]:
    """The whole numbers of a subject that is one linear layer: its input is m x k, and it has n outputs."""
    if subject is None or not set(form.given) & (set(WRITERS) - {SAVE_TO}):
        return {}
    outputs = zoo_linear.outputs(subject.model, subject.options)
    return {"m": subject.input.shape[0], "k": subject.input.shape[-1], "n": outputs}


def too_large(content: object) -> str:
    """Why the file could not be brought out of the sandbox; nothing where it was."""
    import numpy as np

    if not isinstance(content, np.ndarray) or content.dtype != np.int64 or content.shape != (1,):
        return ""
    return (
        f"the file that was written has {int(content[0]) / 1e6:,.0f} MB; at most {_MOST_BYTES / 1e6:,.0f} MB are taken"
    )


def keep(content: object, form: CallForm, folder: Path) -> Artifact:
    """The file in the grader's own folder, which outlives the sandbox.

    Raises:
        WrongTypeError: it is no content of a file: what runs beside a student's code can be made to say anything.
    """
    import numpy as np

    if not isinstance(content, np.ndarray) or content.dtype != np.uint8:
        message = f"{what(content)} in place of the file"
        raise WrongTypeError(message)
    place = Path(tempfile.mkdtemp(dir=folder, prefix="written-")) / "answer.onnx"
    place.write_bytes(content.tobytes())
    return Artifact(path=place, name=f"what {form.function} wrote")
