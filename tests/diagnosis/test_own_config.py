"""A course's own quantity of a config: the slips of wrong functions are named by keys of the config, for nothing."""

import pytest
from helpers import own_course

pytestmark = pytest.mark.slow

QUANTITY = """
def packets(config: dict) -> int:
    known = -(-config["bytes"] // config["size"])
    return config["senders"] * (known + config["headers"] * config["hops"]) * config["rounds"]
"""
SPEC = """
id: packets
title: Packets
points: 2
statement: How many packets are that?
subject: {config: {name: own, bytes: 100003, size: 1024, senders: 7, headers: 3, hops: 11, rounds: 13}}
answers:
  total: {type: count, call: 'hw.py:packets(config)'}
checks:
  - {id: total, points: 2, answer: total, checker: equal, expected: {quantity: packets}}
"""
STUDENT = """
def packets(config):
    c = config
    return {}
"""
STUDENTS = {
    "right": ("c['senders'] * (-(-c['bytes'] // c['size']) + c['headers'] * c['hops']) * c['rounds']", ""),
    "rounds": ("c['senders'] * (-(-c['bytes'] // c['size']) + c['headers'] * c['hops'])", "`rounds` is left out."),
    "down": (
        "c['senders'] * (c['bytes'] // c['size'] + c['headers'] * c['hops']) * c['rounds']",
        "A quotient is rounded down. Round it up.",
    ),
    "both": (
        "c['senders'] * (c['bytes'] // c['size'] + c['headers'] * c['hops'])",
        "`rounds` is left out. A quotient is rounded down. Round it up.",
    ),
    "swapped": (
        "c['senders'] * (-(-c['bytes'] // c['size']) + c['headers'] * c['senders']) * c['rounds']",
        "`senders` stands in place of `hops`.",
    ),
    "odd": ("c['senders'] * (-(-c['bytes'] // c['size']) + c['headers'] * c['hops']) * c['rounds'] + 7", ""),
}


def test_slips_of_a_formula_are_named_alone_and_together_and_nothing_is_said_of_what_is_none(tmp_path):
    files = {f"submissions/{name}/hw.py": STUDENT.format(code) for name, (code, _) in STUDENTS.items()}
    own_course.write(tmp_path, {"reference/packets.py": QUANTITY, "specs/lab/packets.yaml": SPEC, **files})
    with own_course.grading(tmp_path) as grade:
        seen = {name: grade(name)["packets.total"] for name in STUDENTS}
    said = {name: " ".join(verdict.diagnosis.says) if verdict.diagnosis else "" for name, verdict in seen.items()}
    assert said == {name: says for name, (_, says) in STUDENTS.items()}
    assert seen["rounds"].diagnosis.on == "configs"
    assert not seen["odd"].diagnosis or not seen["odd"].hint
