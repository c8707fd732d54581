"""An entry that is no number, and may stand for one: the right one waits, any other is as wrong as it is written."""

import pytest
from helpers.direct import COURSE, DirectRunner, task
from helpers.handed_in import read

from labgrade.answers.reader.reader import Reader
from labgrade.run.grader import Grader
from labgrade.run.task import TaskGrading


@pytest.mark.parametrize(
    ("name", "check", "entry", "outcome"),
    [
        ("2-1-1-parameters", "non-trainable", "2-1-1: {non_trainable: none}", "CORRECT"),
        ("2-1-1-parameters", "non-trainable", "2-1-1: {non_trainable: None}", "MANUAL"),
        ("2-1-1-parameters", "total", "2-1-1: {total: none}", "INCORRECT"),
        ("2-1-2-weight-bytes", "total", "2-1-2: {total: 4 * 6624904}", "MANUAL"),
        ("2-1-2-weight-bytes", "total", "2-1-2: {total: 6624904 x 4 bytes}", "MANUAL"),
        ("2-1-2-weight-bytes", "total", "2-1-2: {total: 2 * 6624904}", "INCORRECT"),
        ("2-1-2-weight-bytes", "total", "2-1-2: {total: 26499616 / 4}", "INCORRECT"),
        ("2-1-1-parameters", "non-trainable", "2-1-1: {non_trainable: 0 %}", "CORRECT"),
        ("2-1-1-parameters", "total", "2-1-1: {total: 0 %}", "INCORRECT"),
        ("2-1-4-macs", "total", "2-1-4: {total: {Conv2d: 1497352192, Linear: 1024000}}", "MANUAL"),
        ("2-1-4-macs", "total", "2-1-4: {total: {conv: 1.497 G, fc: 1.024 M, total: 1498376192}}", "CORRECT"),
        ("2-1-4-macs", "total", "2-1-4: {total: {Conv2d: 1497352192, Linear: 1025000000}}", "INCORRECT"),
    ],
)
def test_a_right_value_that_may_be_meant_waits(tmp_path, name, check, entry, outcome):
    (tmp_path / "answers.yaml").write_text(entry, encoding="utf-8")
    with Grader(COURSE, runner=DirectRunner(), reader=Reader(None)) as grader:
        found = TaskGrading(grader, task(name), read(tmp_path, "s"), explains=False).graded(check)
    assert found.verdict.outcome == outcome
    if outcome == "MANUAL":
        assert found.verdict.reason.startswith("answers.yaml:1 ")
        assert found.verdict.suggestion.outcome == "CORRECT"
        assert found.to_mark is not None


@pytest.mark.parametrize(
    ("name", "entry", "outcome", "suggested"),
    [
        ("2-2-2-bandwidth", "2-2-2: {traffic_bytes: 119445696 or 66568768}", "CORRECT", None),
        ("2-2-2-bandwidth", "2-2-2: {traffic_bytes: 119445696 or 66568769}", "MANUAL", None),
        ("2-2-2-bandwidth", "2-2-2: {traffic_bytes: 119445690 or 66568769}", "INCORRECT", None),
        ("2-2-2-bandwidth", "2-2-2: {traffic_bytes: 119445696 bytes in 100 nodes}", "MANUAL", "CORRECT"),
        ("2-1-1-parameters", "2-1-1: {total: 6624904 in 7 parts or 8}", "MANUAL", "CORRECT"),
        ("2-1-1-parameters", "2-1-1: {total: '13004888 (6624904 without aux)'}", "MANUAL", None),
        ("2-1-1-parameters", "2-1-1: {total: 6624904 or 13004888}", "MANUAL", None),
        ("2-1-1-parameters", "2-1-1: {total: [6624904, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}", "MANUAL", None),
    ],
)
def test_several_numbers_of_which_some_are_right(tmp_path, name, entry, outcome, suggested):
    (tmp_path / "answers.yaml").write_text(entry, encoding="utf-8")
    with Grader(COURSE, runner=DirectRunner(), reader=Reader(None)) as grader:
        verdict = TaskGrading(grader, task(name), read(tmp_path, "s"), explains=False).graded("total").verdict
    assert (verdict.outcome, verdict.suggestion and verdict.suggestion.outcome) == (outcome, suggested)


@pytest.mark.parametrize(
    ("shape", "outcome"),
    [
        ("[3 1000]", "CORRECT"),
        ("[3; 1000]", "CORRECT"),
        ("['3', '1000']", "CORRECT"),
        ("[3, '1,000']", "CORRECT"),
        ("'[3, 1,000]'", "CORRECT"),
        ("{shape: [3, 1000]}", "CORRECT"),
        ("{size: 'torch.Size([3, 1000])'}", "CORRECT"),
        ("'(3, 1000), batch of three'", "CORRECT"),
        ("'3 × [1, 1000] → [3, 1000]'", "MANUAL"),
        ("'[1, 1000] -> [3, 1000]'", "MANUAL"),
        ("'[3, 1000] or [1, 3000]'", "MANUAL"),
        ("'not (3, 1000)'", "MANUAL"),
        ("'3 x [1, 1000]'", "MANUAL"),
        ("3 by 1000", "MANUAL"),
        ("{batch: 3, classes: 1000}", "MANUAL"),
        ("{3, 1000}", "MANUAL"),  # YAML has two names without values
        ("{1, 3000}", "INCORRECT"),
        ("{1000}", "INCORRECT"),
        ("{shape: }", "MISSING"),
        ("{batch: , classes: }", "MISSING"),
        ("[[3, 1000], [1, 3000]]", "MANUAL"),
        ("(3, 1000)", "MANUAL"),  # cut up by the comma
        ("3, 1000", "MANUAL"),
        ("[1 3000]", "INCORRECT"),
        ("{shape: [1, 3000]}", "INCORRECT"),
        ("'[1, 1000] -> [1, 3000]'", "INCORRECT"),
        ("3 by 100", "INCORRECT"),
        ("[[1, 1000], [1, 3000]]", "INCORRECT"),
        ("three", "INCORRECT"),
    ],
)
def test_a_shape_in_other_words(tmp_path, shape, outcome):
    (tmp_path / "answers.yaml").write_text(f"lab-2-1-3: {{output_shape: {shape}}}", encoding="utf-8")
    own = task("lab-2-1-3-summaries", "acal-lab2-tutorial")
    with Grader(COURSE, runner=DirectRunner(), reader=Reader(None)) as grader:
        found = TaskGrading(grader, own, read(tmp_path, "s"), explains=False).graded("output")
    assert found.verdict.outcome == outcome


@pytest.mark.parametrize(
    ("lab", "name", "check", "entry", "outcome"),
    [
        ("acal-lab2-tutorial", "lab-2-1-3-summaries", "parameters", "lab-2-1-3: {params: 183302520}", "CORRECT"),
        ("acal-lab2-tutorial", "lab-2-1-3-summaries", "parameters", "lab-2-1-3: {num_params: 183302520}", "CORRECT"),
        ("acal-lab2-tutorial", "lab-2-1-3-summaries", "output", "lab-2-1-3: {output_size: [3, 1000]}", "CORRECT"),
        ("acal-lab2-tutorial", "lab-2-1-3-summaries", "macs", "lab-2-1-3: {mult_adds: 294434880}", "MANUAL"),
        ("acal-lab2-tutorial", "lab-2-1-3-summaries", "macs", "lab-2-1-3: {parameters: 294434880}", "MISSING"),
        ("acal-lab2", "2-1-1-parameters", "total", "2-1-1: {params: 6624904, trainable_params: 5}", "MANUAL"),
        ("acal-lab2", "2-1-1-parameters", "total", "2-1-1: {trainable: 6624904}", "MISSING"),
        ("acal-lab2", "2-1-1-parameters", "trainable", "2-1-1: {total: 6624904}", "MISSING"),
        ("acal-lab2", "2-1-1-parameters", "non-trainable", "2-1-1: {frozen: 0, trainable: 6624904}", "MANUAL"),
        ("acal-lab2", "2-1-4-macs", "total", "2-1-4: {macs: 1498376192}", "MANUAL"),
        ("acal-lab2", "2-1-4-macs", "total", "2-1-4: {macs: 1498376193}", "INCORRECT"),
        ("acal-lab2", "2-4-1-weight-bytes", "total", "2-4-1: {weights: 244403360}", "MANUAL"),
        ("acal-lab2", "2-4-1-weight-bytes", "total", "2-4-1: {weights: 1, total: 244403360}", "MISSING"),
    ],
)
def test_an_entry_whose_name_speaks_of_the_same(tmp_path, lab, name, check, entry, outcome):
    (tmp_path / "answers.yaml").write_text(entry, encoding="utf-8")
    with Grader(COURSE, runner=DirectRunner(), reader=Reader(None)) as grader:
        found = TaskGrading(grader, task(name, lab), read(tmp_path, "s"), explains=False).graded(check)
    assert found.verdict.outcome == outcome


UNNAMED = "lab-2-3-3-linear: {by_layer: [[a, 10*20, 400], [b, 20*15, 600], [c, 15*1, 30]]}"
ROWS = "fc1: {{macs: {}, flops: 400}}, fc2: {{macs: {}, flops: 600}}, fc3: {{macs: {}, flops: 30}}"


@pytest.mark.parametrize(
    ("lab", "name", "check", "entry", "outcome"),
    [
        ("llm-accounting", "llm-kv-cache", "cache-bytes", "llm-kv-cache: {cache_bytes: 2.47 GB (GiB)}", "MANUAL"),
        ("llm-accounting", "llm-kv-cache", "cache-bytes", "llm-kv-cache: {cache_bytes: 2.40 GB (GiB)}", "INCORRECT"),
        ("tutorial", "lab-2-3-3-linear", "by-layer", ("10x20 = 200", "20*15 = 300", "15 = 15x1"), "CORRECT"),
        ("tutorial", "lab-2-3-3-linear", "by-layer", ("10*20", "20*15", "15*1"), "MANUAL"),
        ("tutorial", "lab-2-3-3-linear", "by-layer", ("10*21", "20*16", "15*2"), "INCORRECT"),
        ("tutorial", "lab-2-3-3-linear", "by-layer", UNNAMED, "MANUAL"),
    ],
)
def test_units_and_formulas_in_entries(tmp_path, lab, name, check, entry, outcome):
    text = f"{name}: {{by_layer: {{{ROWS.format(*entry)}}}}}" if isinstance(entry, tuple) else entry
    (tmp_path / "answers.yaml").write_text(text, encoding="utf-8")
    own = task(name, "acal-lab2-tutorial" if lab == "tutorial" else lab)
    with Grader(COURSE, runner=DirectRunner(), reader=Reader(None)) as grader:
        found = TaskGrading(grader, own, read(tmp_path, "s"), explains=False).graded(check)
    assert found.verdict.outcome == outcome
