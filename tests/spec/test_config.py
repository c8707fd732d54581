"""A task about a config: plain data of which nothing is built, for model families that the zoo does not have."""

import pytest
from helpers.shown import unframed

from labgrade.cli import main
from labgrade.spec import course, load

pytestmark = pytest.mark.slow

TASK = """
id: cache
title: A cache
points: 6
statement: How many bytes?
subject:
  config: {name: main one, layers: 4, heads: 8, tokens: 10, dtype: float16}
answers:
  total:
    type: bytes
    from:
      - {call: kv.py:total, given: [config]}
      - {after: Cache of ResNet-18, report: anywhere}
checks:
  - id: total
    points: 2
    answer: total
    checker: equal
    expected: {quantity: cache_bytes, published: 1280}
    misconceptions:
      - {value: {quantity: cache_bytes_of_keys}, says: keys alone, credit: 0.5}
  - id: others
    points: 4
    hidden: true
    answer: total
    checker: equal
    expected: {quantity: cache_bytes}
    cases:
      - config: {name: tiny, layers: 1}
      - config: {tokens: 7, heads: 3}
"""
REFERENCE = """
from typing import Any


def cache_bytes(config: dict[str, Any], *, bytes_per_value: int = 2) -> int:
    '''The bytes of a cache.'''
    config["layers"] *= 2  # its own copy, which nobody else sees
    return config["layers"] * config["heads"] * config["tokens"] * bytes_per_value


def cache_bytes_of_keys(config: dict[str, Any]) -> int:
    '''A slip: keys alone.'''
    return cache_bytes(config) // 2
"""
RIGHT = """
def total(config):
    assert sorted(config) in (["dtype", "heads", "layers", "tokens"], ["dtype", "heads", "layers", "name", "tokens"])
    return 2 * config["layers"] * config["heads"] * config["tokens"] * {"float16": 2}[config["dtype"]]
"""


@pytest.fixture
def about(tmp_path, monkeypatch):
    for name, text in {
        "specs/lab/lab.yaml": "title: A lab\n",
        "specs/lab/cache.yaml": TASK,
        "reference/cache.py": REFERENCE,
        "work/kv.py": RIGHT,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def test_a_case_changes_what_it_names_and_inherits_the_rest(about):
    task = load.read(about / "specs/lab/cache.yaml", course.find(about))
    (check,) = [each for each in task.checks if each.id == "others"]
    assert [dict(case.options) for case in check.cases] == [
        {"layers": 1, "heads": 8, "tokens": 10, "dtype": "float16", "name": "tiny"},
        {"layers": 4, "heads": 3, "tokens": 7, "dtype": "float16"},
    ]
    assert [case.short_name for case in (task.subject, *check.cases)] == ["main-one", "tiny", "config"]


def test_values_are_computed_and_published_ones_compared(about, capsys):
    assert main(["validate", "--compute"]) == 0
    spec_file = about / "specs/lab/cache.yaml"
    spec_file.write_text(TASK.replace("1280", "1281"))
    assert main(["validate", "--compute"]) == 2
    assert "the published value is 1281, but cache_bytes computes 1280" in capsys.readouterr().err


@pytest.mark.parametrize("parameters", ["", "cfg", "*, tokens: int = 3"])
def test_a_quantity_of_nothing_is_told(about, capsys, parameters):
    (about / "reference/cache.py").write_text(REFERENCE + f"\n\ndef own({parameters}) -> int:\n    return 1\n")
    (about / "specs/lab/cache.yaml").write_text(
        TASK.replace("{quantity: cache_bytes, published", "{quantity: own, published")
    )
    assert main(["validate"]) == 2
    assert (
        "quantity 'own' is computed of nothing: its first parameter is one of 'subject' (a model in memory), "
        "'artifact' (an ONNX file), 'config' (a config)"
    ) in capsys.readouterr().err
    assert main(["compute", "own", "--config", "layers=1"]) == 2
    assert "is computed of nothing that labgrade knows" in capsys.readouterr().err


def test_a_function_gets_the_config_and_is_tried_on_others(about, capsys):
    assert main(["test", "--submissions-dir", ".", "cache", "--no-mutants"]) == 1  # there is no exemplar
    (about / "submissions").mkdir()
    (about / "work").rename(about / "submissions/exemplar")
    capsys.readouterr()
    assert main(["test", "cache"]) == 0, capsys.readouterr().out
    assert "cache: good" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (RIGHT, "CORRECT total"),
        (RIGHT.replace("2 * config", "config"), "hint: keys alone"),
        ("def total(config):\n    return config.layers\n", "'dict' object has no attribute 'layers'"),
        ("", "CORRECT total from: report.md:1"),
    ],
)
def test_a_submission_is_judged(about, capsys, source, said):
    (about / "work/kv.py").write_text(source)
    (about / "work/report.md").write_text("Cache of ResNet-18: 1280 bytes\n")
    main(["check", "work"])
    assert said in unframed(capsys.readouterr().out)


def test_a_kit_has_the_config_and_nothing_of_hidden_ones(about, capsys):
    assert main(["kit", "lab", "--out", "kit", "--with-reference"]) == 0
    given = (about / "kit/specs/lab/cache.yaml").read_text()
    assert "tokens: 10" in given
    assert "tiny" not in given
    assert "def total(config: dict):" in (about / "kit/kv.py").read_text()
    assert "a config: `name: main one`, `layers: 4`" in (about / "kit/START.md").read_text()


def test_where_all_public_checks_have_cases_each_is_spelled_out(about):
    text = TASK.replace("    hidden: true\n", "").replace("    needs: [total]\n", "")
    first = text.index("  - id: total")
    text = (text[:first] + text[text.index("  - id: others") :]).replace("points: 6", "points: 4")
    (about / "specs/lab/cache.yaml").write_text(text)
    assert main(["kit", "lab", "--out", "kit", "--with-reference"]) == 0
    task = load.read(about / "kit/specs/lab/cache.yaml", course.find(about))
    assert dict(task.checks[0].cases[1].options) == {"layers": 4, "heads": 3, "tokens": 7, "dtype": "float16"}


@pytest.mark.parametrize(
    ("arguments", "out"),
    [
        (["--task", "cache"], "1,280\n"),
        (["--config", "layers=1", "heads=1", "tokens=3"], "12\n"),
        (["--config", "layers=1", "heads=1", "tokens=3", "--set", "bytes_per_value=1"], "6\n"),
    ],
)
def test_compute_takes_a_config(about, capsys, arguments, out):
    assert main(["compute", "cache_bytes", *arguments]) == 0
    assert capsys.readouterr().out == out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["cache_bytes", "--model", "torchvision/resnet18"], "is computed of a config, such as --config layers=12"),
        (
            ["macs", "--config", "layers=1"],
            "'macs' is computed of a model, such as torchvision/resnet18; 'config' is none",
        ),
        (["cache_bytes", "--config", "layers"], "--config takes KEY=VALUE, not 'layers'"),
        (["cache_bytes", "--task", "cache", "--input", "1,2"], "'cache' is about a config, which has no --input"),
    ],
)
def test_compute_says_what_does_not_fit(about, capsys, arguments, said):
    assert main(["compute", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_no_random_network_takes_the_place_of_a_config(about, capsys):
    assert main(["counterexample", "work/kv.py:total"]) == 2
    assert "no task asks for 'total' so that it can be searched" in capsys.readouterr().err


def test_list_says_of_what_a_quantity_is(about, capsys):
    main(["list", "quantities", "cache_bytes"])
    out = capsys.readouterr().out
    assert "of a config, gives int, in bytes" in out
    assert "example: labgrade compute cache_bytes --config NAME=VALUE ...\n" in out


def test_a_class_is_graded_and_again_when_the_config_changes(about, capsys):
    (about / "class").mkdir()
    (about / "work").rename(about / "class/ann")
    assert main(["grade", "class", "--jobs", "1"]) in (0, 1)
    assert main(["explain", "ann", "cache", "total"]) == 0
    told = unframed(capsys.readouterr().out)
    assert "CORRECT 2 of 2" in told
    assert "subject: config, name=main one, layers=4, heads=8, tokens=10, dtype=float16 judged:" in told
    (about / "class/ann/kv.py").write_text(RIGHT.replace('2 * config["layers"]', "8"))
    main(["grade", "class", "--jobs", "1"])
    (about / "specs/lab/cache.yaml").write_text(TASK.replace("layers: 4", "layers: 5").replace("1280", "1600"))
    capsys.readouterr()
    main(["regrade"])
    told = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "cache total: CORRECT 2 of 2 -> INCORRECT 0 of 2, because 'subject' in the spec" in told
