"""What is said of numbers and tables that no function is behind."""

from types import SimpleNamespace

import numpy as np
import pytest
from helpers.direct import COURSE, DirectRunner, task
from helpers.handed_in import read

from labgrade.answers.reader.reader import Reader
from labgrade.diagnosis import diagnose
from labgrade.diagnosis.stated import in_common
from labgrade.run.grader import Grader
from labgrade.run.task import TaskGrading
from labgrade.spec.registry import SLIPS
from labgrade.subjects import models
from labgrade.verdict import ComparedRow, Outcome, without_value

pytestmark = pytest.mark.slow

GOOGLENET = models.Subject(model="torchvision/googlenet", shape=(1, 3, 224, 224))
LAYERS = ["Conv2d", "Linear"]


@pytest.fixture(scope="module")
def grader():
    with Grader(COURSE, runner=DirectRunner(), reader=Reader(None)) as found:
        yield found


def verdict(grader, folder, name, check, files):
    for file, text in files.items():
        (folder / file).write_text(text, encoding="utf-8")
    return TaskGrading(grader, task(name), read(folder, "someone")).graded(check).verdict


def slips(quantity, subject=GOOGLENET, **conventions):
    return dict(COURSE.quantities.get(quantity + SLIPS).load()(subject, **conventions)["values"])


def csv(rows):
    return "layer,macs\n" + "".join(f"{row['layer']},{row['macs']}\n" for row in rows)


@pytest.mark.parametrize(
    ("slip", "said"), [("kernel_side", "Only one side of the kernel"), ("pool_windows", "Pools are counted, a window")]
)
def test_a_number_that_one_slip_alone_gives_is_told_its_cause(grader, tmp_path, slip, said):
    value = slips("macs", layers=LAYERS)[slip]
    found = verdict(grader, tmp_path, "2-1-4-macs", "total", {"answers.yaml": f"2-1-4: {{total: {value}}}\n"})
    assert found.hint.startswith(said)


@pytest.mark.parametrize("printed", ["1501603200", "511.9 M", "1498376199"])
def test_another_number_is_told_nothing(grader, tmp_path, printed):
    found = verdict(grader, tmp_path, "2-1-4-macs", "total", {"answers.yaml": f"2-1-4: {{total: {printed}}}\n"})
    assert found.hint == ""


def test_of_a_number_that_two_slips_give_both_are_told(grader, tmp_path):
    values = slips("macs", layers=LAYERS)
    assert values["input_size"] == values["own_stride"]
    found = verdict(
        grader, tmp_path, "2-1-4-macs", "total", {"answers.yaml": f"2-1-4: {{total: {values['own_stride']}}}\n"}
    )
    assert found.hint.startswith("One of these, which give the same here: (1) The height and width of a convolution's")
    assert "(2) The stride of convolutions is ignored." in found.hint


def test_a_number_of_two_likely_slips_is_told_both(grader, tmp_path):
    known = slips("macs", layers=LAYERS, among=["padding+bias"])
    value = known["padding+bias"]
    found = verdict(grader, tmp_path, "2-1-4-macs", "total", {"answers.yaml": f"2-1-4: {{total: {value}}}\n"})
    assert found.hint == ""  # of which one is not likely
    value = slips("macs", layers=LAYERS, among=["norm_twice+relu"])["norm_twice+relu"]
    found = verdict(grader, tmp_path, "2-1-4-macs", "total", {"answers.yaml": f"2-1-4: {{total: {value}}}\n"})
    assert found.hint.startswith("Norm layers are counted, two for each input element. Leave them out. And at the same")


def test_a_table_that_one_slip_alone_gives_is_told_its_cause(grader, tmp_path):
    rows = slips("macs_by_layer", layers=LAYERS)["kernel_side"]
    found = verdict(grader, tmp_path, "2-1-4-macs", "by-layer", {"hw2-1-4-by-layer.csv": csv(rows)})
    assert found.hint.startswith("Only one side of the kernel is counted.")


@pytest.mark.parametrize(("clips", "said"), [("", "Clip nodes are left out"), (", Relu6: 35", "")])
def test_a_row_under_another_name_is_not_called_left_out(grader, tmp_path, clips, said):
    counts = "{Conv: 52, Add: 10, GlobalAveragePool: 1, Flatten: 1, Gemm: 1" + clips + "}"
    found = verdict(grader, tmp_path, "2-2-1-operators", "counts", {"answers.yaml": f"2-2-1: {{counts: {counts}}}\n"})
    assert found.hint.startswith(said)
    assert bool(found.hint) == bool(said)


def test_of_a_table_it_is_told_what_its_wrong_rows_have_in_common(grader, tmp_path):
    entry = COURSE.quantities.get("macs_by_layer").load()
    rows = entry(GOOGLENET, layers=LAYERS)
    modules = dict(GOOGLENET.on_meta()[0].named_modules())
    for row in rows:
        if getattr(modules[row["layer"]], "kernel_size", (1, 1)) != (1, 1):
            row["macs"] = 5 * row["macs"] + 13
    found = verdict(grader, tmp_path, "2-1-4-macs", "by-layer", {"hw2-1-4-by-layer.csv": csv(rows)})
    assert found.hint.startswith("All rows are right but those of convolutions with")
    assert "larger than 1x1" in found.hint


def rows(**right):
    return [ComparedRow(name=name, got=1.0, expected=2.0, right=each) for name, each in right.items()]


KINDS = {"a": ["convolutions", "groups"], "b": ["convolutions"], "c": ["convolutions", "groups"], "d": ["linear"]}


@pytest.mark.parametrize(
    ("right", "said"),
    [
        ({"a": False, "b": True, "c": False, "d": True}, "groups"),
        ({"a": False, "b": False, "c": False, "d": True}, "convolutions"),
        ({"a": False, "b": True, "c": True, "d": False}, ""),  # nothing in common
        ({"a": False, "b": True, "c": True, "d": True}, ""),  # one row is named anyway
        ({"a": False, "b": False, "c": False, "d": False}, ""),
        ({"a": False, "b": True, "c": False, "other": False}, ""),  # one of which nothing is known
    ],
)
def test_what_all_wrong_rows_and_no_right_one_have(right, said):
    found = in_common(rows(**right), KINDS)
    assert found.startswith(f"All rows are right but those of {said},") if said else not found


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        ({"conv": np.array([1.0, np.nan])}, {"conv": np.array([2.0, np.nan])}, True),
        ({"conv": np.array([1.0, np.nan])}, {"conv": np.array([1.0, np.nan])}, False),
        ({"conv": "call_module"}, {"conv": "call_function"}, False),
        ({"conv": np.array(["a"])}, {"conv": np.array(["b"])}, False),
    ],
)
def test_only_tensors_that_change_from_call_to_call_are_said_to_be_drawn(one, other, said):
    trials = SimpleNamespace(ahead=lambda _: [SimpleNamespace(value=one), SimpleNamespace(value=other)])
    verdict = diagnose._drawn(trials, without_value(Outcome.INCORRECT, "other values"))
    assert (verdict is not None and "torch.randn" in verdict.hint) is said
