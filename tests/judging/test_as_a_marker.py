"""What a marker decides at once: a right number in its own section, whatever else stands around it."""

import pytest

from labgrade.verdict import Outcome

COUNT, BYTES, MACS, NODES, PEAK = (
    *("2-1-1-parameters", "2-1-2-weight-bytes", "2-1-4-macs"),
    *("2-2-1-operators", "2-2-3-activation-memory"),
)
TRAFFIC, TENSORS = "2-2-2-bandwidth", "2-4-3-macs"
LIST = "\n".join(f"inception{at}.conv {1_200_345_000 + 7_001 * at}" for at in range(60))


@pytest.mark.parametrize(
    ("task", "check", "text"),
    [
        # labels stand before numbers in one sentence and behind them in the next
        (
            COUNT,
            "non-trainable",
            "El modelo tiene 6 624 904 parámetros; los entrenables son 6 624 904 y los no entrenables 0.",
        ),
        (COUNT, "non-trainable", "The model has 6,624,904 parameters, 6,624,904 are trainable, 0 are not."),
        (COUNT, "non-trainable", "total / trainable / non-trainable params: 6624904 / 6624904 / 0"),
        (COUNT, "total", "GoogLeNet (without the auxiliary classifiers) has 6,624,904 parameters."),
        # a number's own noun says what it counts
        (NODES, "total", "Node count: 6 unique types in the graph, 100 nodes."),
        (NODES, "types", "Node count: 6 unique types in the graph, 100 nodes."),
        (NODES, "types", "Number of operators: 139\nUnique operators: 7"),
        # a value is no heading
        (BYTES, "total", "Result: 26.5 MB (float32)"),
        # a whole and its parts, a rough number beside one in full, another unit
        (TRAFFIC, "total", "66,568,768 bytes: input (602,112) + all weights (13,951,264) + outputs (52,015,392)"),
        (BYTES, "total", "total = **26,499,616 bytes**. With torch.save the file has 26.6 MB."),
        (BYTES, "total", "6624904 parameters take 25.272 MiB"),
        (MACS, "total", "| | MMACs |\n|---|---|\n| Conv2d | 1497.352192 |\n| Linear | 1.024 |\n\n1498.376192 MMACs"),
        (
            MACS,
            "total",
            "The convolutions sum up to 1,497,352,192.\nThe linear has 1,024,000.\nTogether 1,498,376,192 MACs.",
        ),
        # what other words call it
        (PEAK, "total", "max(input + output) over all layers = 9633792 bytes"),
        # below a list that is longer than all that is judged
        (MACS, "total", f"MACs by layer\n{LIST}\n\nTotal MACs 1498376192"),
        (MACS, "total", "```diff\n- Total MACs: 1356857600\n+ Total MACs: 1498376192\n```"),
        (MACS, "total", "```python\nprint('macs of the type', f())\n```\n```\nTotal 1498376192\n```"),
        # what is said of another network
        (MACS, "total", "1498376192\n\n$ ./analyze resnet18.pt\ntotal macs 1814073344\n"),
        (MACS, "total", "| model | total MACs |\n|---|---|\n| AlexNet | 714188480 |\n\nTotal MACs: 1498376192"),
        (BYTES, "total", "26,499,616 bytes. I also tried with aux: 13,004,888 parameters -> 52,019,552 bytes."),
    ],
)
def test_it_is_decided(judged, task, check, text):
    found = judged(task, f"## {task[:5]}\n{text}\n", check)
    assert (found.outcome, found.reason if found.outcome is not Outcome.CORRECT else "") == (Outcome.CORRECT, "")


@pytest.mark.parametrize(
    ("task", "check", "text"),
    [
        (COUNT, "total", "With aux 13,004,888, without 6,624,904. I don't know which one is wanted."),
        (MACS, "total", f"{LIST}\n1498376192"),
        (
            MACS,
            "total",
            "```python\n# 2-1-4\nmacs = 0\nfor m in model.modules():\n    macs += f(m)\n```\nIt takes about 5 seconds.",
        ),
    ],
)
def test_it_waits(judged, task, check, text):
    assert judged(task, f"## {task[:5]}\n{text}\n", check).outcome is Outcome.MANUAL


def test_no_suggestion_comes_from_another_tasks_section(judged):
    said = "# 2-2-2\n52,015,392 bytes of activations\n# 2-2-3\n119,445,696 bytes must be stored\n"
    for task in (TRAFFIC, PEAK):
        found = judged(task, said).suggestion
        assert found is None or found.outcome is not Outcome.CORRECT


def test_a_number_behind_another_task_is_no_part_of_a_section_of_several(judged):
    said = "# Task 2-4\n\nNot done.\n\n**Comparison (2-4-4).** AlexNet takes 714,188,480 MACs in the literature.\n"
    assert judged(TENSORS, said).suggestion is None


@pytest.mark.parametrize("said", ["3.\tHW 2-4\nMACs\t714,188,480\n", "--[ 2-4 ]--\n2-4-3  714682664\n=====\n"])
def test_a_section_is_found_whatever_its_heading_is_numbered(judged, said):
    found = judged(TENSORS, said)
    assert found.outcome is Outcome.CORRECT
