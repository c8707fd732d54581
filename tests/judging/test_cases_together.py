"""Which cases of a check are called in one process, and in which order."""

from dataclasses import replace

import pytest
from helpers.own_course import write

from labgrade.judging.items import called_together, is_small, items
from labgrade.spec import course, load

TASK = """
id: task
title: Parameters
points: 10
statement: Hand in total(model).
subject: {model: torchvision/alexnet, input: [1, 3, 64, 64]}
answers:
  total: {type: count, from: [{call: "hw.py:total", given: [model]}]}
checks:
  - id: total
    points: 6
    answer: total
    checker: equal
    expected: {quantity: parameters}
    again:
      - {id: CASES}
"""
SMALL = ("micro/tied", "micro/dilated", "micro/attention")
LARGE = ("torchvision/alexnet", "torchvision/vgg11")


@pytest.mark.parametrize(
    ("models", "together"),
    [
        ((*LARGE, *SMALL), (SMALL[1], SMALL[0], SMALL[2], *LARGE)),
        ((LARGE[0], SMALL[0]), (LARGE[0], SMALL[0])),  # the small one is called right behind another
        (LARGE, LARGE),
        ((LARGE[0], LARGE[0], LARGE[1]), LARGE),  # its module is given to one of them
        (LARGE[:1], ()),  # alone anyway
        (SMALL[:1], ()),
    ],
)
def test_each_network_is_called_once_and_small_ones_come_first(tmp_path, models, together):
    cases = ", ".join(f"{{model: {name}, input: [{place + 2}, 3, 64, 64]}}" for place, name in enumerate(models))
    text = TASK.replace("{id: CASES}", f"{{id: others, points: 4, cases: [{cases}]}}")
    write(tmp_path, {"specs/lab/task.yaml": text})
    found = course.find(tmp_path)
    parts = items(load.read(tmp_path / "specs/lab/task.yaml", found))
    of_cases = [each for each in parts if each.check.id == "others"]
    for item in of_cases:
        assert tuple(each.subject.model for each in called_together(parts, item)) == together
    assert len({id(each) for each in called_together(parts, of_cases[0])}) == len(together)
    bonus = [replace(each, check=replace(each.check, bonus=True)) for each in parts]
    assert not any(is_large(each) for each in called_together(bonus, bonus[-1])[1:]), "most don't earn it"
    files = [replace(each, subject=replace(each.subject, model=f"{each.subject.model}.onnx")) for each in parts]
    assert not any(is_large(each) for each in called_together(files, files[-1])[1:]), "a large file is copied for each"


def is_large(item):
    return not is_small(item.subject)


def test_small_networks_for_a_bonus_are_called_behind_all_others(tmp_path):
    """What is wrong there costs no call of what comes before, and what is right needs no process of its own."""
    cases = ", ".join(f"{{model: {name}, input: [1, 3, 64, 64]}}" for name in (SMALL[0], SMALL[1], LARGE[1]))
    beyond = f"{{id: beyond, bonus: true, points: 2, cases: [{{model: {SMALL[2]}}}, {{model: {LARGE[0]}}}]}}"
    text = TASK.replace("{id: CASES}", f"{{id: others, points: 4, cases: [{cases}]}}\n      - {beyond}")
    write(tmp_path, {"specs/lab/task.yaml": text})
    parts = items(load.read(tmp_path / "specs/lab/task.yaml", course.find(tmp_path)))
    of_cases = next(each for each in parts if each.check.id == "others")
    found = [each.subject.model for each in called_together(parts, of_cases)]
    assert found == [SMALL[1], SMALL[0], LARGE[1], SMALL[2]]
