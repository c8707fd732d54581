"""What `labgrade kit` gives to students: all public checks work with it, and nothing of a hidden one is in it."""

import random
import re
import shutil
from pathlib import Path

import pytest
import yaml
from helpers import small_course
from helpers.shown import unframed
from helpers.soak import sampled, soak

from labgrade.authoring import kit, kit_templates
from labgrade.cli import main
from labgrade.files import yaml as yaml_files
from labgrade.files import yaml_write
from labgrade.spec import course, load, public

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def _unpacked():
    """Kits without labgrade's wheel, which `tests/test_installed.py` looks at: it takes a second to build."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("labgrade.files.wheel.write", lambda folder: folder / "labgrade.whl")
        yield


ROOT = Path(__file__).parents[2]
LAB = ROOT / "specs" / "acal-lab2"
TILES_ALEXNET = "2-3-3-alexnet-tiled"  # minutes
HIDDEN = "zqhid"
OWN = """
# zqhid: a comment of the file
from __future__ import annotations
import math
import statistics
from typing import TYPE_CHECKING
from ._sizes import halves, zqhid_thirds
from . import _more
if TYPE_CHECKING:
    from collections.abc import Mapping
    from ._sizes import ZqhidType

_OFFSET = math.floor(0.5)
_ZQHID = statistics.mean([1, 2])

def own_size(subject) -> int:
    '''A size.'''
    # zqhid: a comment inside
    return halves(_more.double(subject.shape[0])) + _OFFSET

def zqhid_slip(subject) -> int:
    return zqhid_thirds(subject.shape[0]) + _ZQHID
"""
SIZES = """
def halves(number: int) -> int:
    return number // 2

def zqhid_thirds(number):
    return number // 3
"""
MORE = """
_ZQHID = 3
def double(number):
    return 2 * number

def zqhid_triple(number):
    return _ZQHID * number
"""
TASK = """
# zqhid: a comment
id: task
title: A task
points: 10
statement: How large is it?
subject: {model: torchvision/alexnet, input: [1234, 2]}   # zqhid
self_check: values
answers:
  total:
    type: count
    from: [{call: "hw.py:total", given: [model]}, {entry: task.total}, {after: Total, report: under Task}]
  zqhid-answer:
    type: count
    from: [{entry: zqhid.entry}]
checks:
  - {id: total, points: 6, answer: total, checker: own_equal, expected: {quantity: own_size}, hidden: false}
  - id: zqhid-check
    points: 4
    hidden: true
    needs: [total]
    answer: zqhid-answer
    checker: zqhid_checker
    expected: {quantity: zqhid_slip}
    also_right: [{value: {literal: 91827364}, says: zqhid convention}]
    misconceptions: [{value: 81726354, says: zqhid misconception}]
"""
CHECKER = """
from labgrade.verdict import correct, incorrect
from labgrade.values import Number

def own_equal(answer: Number, expected):
    '''The same number.'''
    return correct() if answer.value == expected.value else incorrect(f"got {answer}")

def zqhid_checker(answer: Number, expected):
    return correct()
"""

FORGED = """
id: task
title: A task
points: 6
statement: How large is it?
answers: {total: {type: count, from: [{entry: task.total}]}}
checks: [{id: total, points: 6, answer: total, checker: equal, expected: 7}]
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A course with code of its own, some of it for hidden checks alone."""
    small_course.write(tmp_path)
    files = {
        "reference/own.py": OWN,
        "reference/_sizes.py": SIZES,
        "reference/_more.py": MORE,
        "reference/zqhid.py": "def zqhid_other(subject) -> int:\n    return 1\n",
        "checkers/own.py": CHECKER,
        "specs/lab/task.yaml": TASK,
        "specs/lab/zqhid.yaml": TASK.replace("id: task", "id: zqhid").replace("hidden: false", "hidden: true"),
        "specs/lab/zqhid.onnx": "zqhid",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "cache"))
    return tmp_path


def everything(folder):
    return "\n".join(
        f"{path.relative_to(folder)}\n{path.read_bytes().decode('utf-8', 'replace')}"
        for path in folder.rglob("*")
        if path.is_file()
    )


def test_nothing_of_a_hidden_check_is_in_a_kit(own, capsys):
    assert main(["kit", "lab", "--out", "kit"]) == 0
    text = everything(own / "kit").lower()
    assert HIDDEN not in text
    assert "91827364" not in text
    assert "81726354" not in text
    assert "hidden:" not in (own / "kit/specs/lab/task.yaml").read_text()
    assert sorted(path.name for path in (own / "kit/specs/lab").iterdir()) == ["lab.yaml", "task.yaml"]
    assert "look at" not in capsys.readouterr().out


def test_a_kit_says_what_hidden_checks_are_worth_unless_the_lab_keeps_it_secret(own, capsys, monkeypatch):
    main(["kit", "lab", "--out", "kit"])
    assert "(6 points, and 4 for cases that are not shown)" in (own / "kit/START.md").read_text()
    monkeypatch.chdir(own / "kit")
    (own / "kit/hw.py").write_text("def total(model):\n    return 1234\n")
    capsys.readouterr()
    assert main(["check", ".", "--course", "."]) == 0
    said = capsys.readouterr().out
    assert re.search(r"\+ cases that are not shown +4 more\n", said)
    assert re.search(r"\n\+ cases that are not shown +14 more points\n", said)  # with the task that is not in the kit
    monkeypatch.chdir(own)
    with (own / "specs/lab/lab.yaml").open("a") as lab:
        lab.write("hidden_points: secret\n")
    main(["kit", "lab", "--out", "secret"])
    assert "hidden_points" not in (own / "secret/specs/lab/task.yaml").read_text()
    assert "hidden_points: secret" in (own / "secret/specs/lab/lab.yaml").read_text()
    assert "not shown" not in (own / "secret/START.md").read_text()


def test_what_only_staff_sees_is_not_in_a_kit(own, capsys):
    task = own / "specs/lab/by-hand.yaml"
    task.write_text(
        TASK.split("answers:", maxsplit=1)[0].replace("id: task", "id: by-hand").replace("zqhid", "")
        + """answers:
  text: {type: text, from: [{report: under Task}]}
  zqhid-number: {type: count, from: [{entry: zqhid.entry}]}
checks:
  - id: text
    points: 10
    answer: text
    by_hand: [{points: 10, for: compares}]
    beside: [{says: zqhid staff, answer: zqhid-number, expected: 91827364}]
""",
        encoding="utf-8",
    )
    assert main(["kit", "lab", "--out", "kit"]) == 0
    text = everything(own / "kit").lower()
    assert "by_hand" in (own / "kit/specs/lab/by-hand.yaml").read_text()
    assert HIDDEN not in text
    assert "91827364" not in text


def test_the_code_of_a_kit_does_what_the_courses_does(own, capsys, monkeypatch):
    main(["kit", "lab", "--out", "kit", "--with-reference"])
    assert "in the kit, for students to read: own_size (own.py)\n" in capsys.readouterr().out
    monkeypatch.chdir(own / "kit")
    assert main(["check", "."]) == 2  # its code is nobody's until someone trusts it
    assert "this kit brings code of its own (checkers, reference)" in capsys.readouterr().err
    (own / "kit/hw.py").write_text("def total(model):\n    return 1234\n")
    assert main(["check", ".", "--course", "."]) == 0
    assert "6 / 6" in capsys.readouterr().out


def test_a_kit_as_it_is_hands_in_nothing(own, capsys, monkeypatch):
    main(["kit", "lab", "--out", "kit"])
    monkeypatch.chdir(own / "kit")
    assert main(["check", ".", "--course", "."]) == 1
    out = unframed(capsys.readouterr().out)
    assert "MISSING total" in out
    assert "'total' in hw.py is as in the template, and 2 other places hold nothing" in out


def test_what_a_kit_brings_is_no_report(own, capsys, monkeypatch):
    main(["kit", "lab", "--out", "kit"])
    monkeypatch.chdir(own / "kit")
    for name in ("report.md", "hw.py", "answers.yaml"):
        (own / "kit" / name).unlink()
    capsys.readouterr()
    assert main(["check", ".", "--course", "."]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "MISSING total" in out
    assert "START.md" not in out


# ---- the course's own solution ---------------------------------------------------------------------------------


def lines_of(folder):
    """Every line of code of a course's quantities that says something by itself."""
    texts = [path.read_text(encoding="utf-8") for path in (folder / "reference").rglob("*.py")]
    found = {line.strip() for text in texts for line in text.splitlines()}
    return {line for line in found if len(line) > 12 and not line.startswith(("from ", "import ", "#", "if TYPE"))}


@pytest.fixture(scope="module")
def of_init(tmp_path_factory):
    """A course as `labgrade init` makes it, and its kit."""
    folder = tmp_path_factory.mktemp("init") / "course"
    assert main(["init", str(folder)]) == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["kit", "lab1", "--out", str(folder.parent / "kit")]) == 0
    return folder


def test_the_kit_of_a_new_course_has_no_line_of_its_solution(of_init):
    text = everything(of_init.parent / "kit")
    assert len(lines_of(of_init)) > 4
    assert not [line for line in lines_of(of_init) if line in text]
    assert not (of_init.parent / "kit/reference").exists()
    assert "quantity: head_bytes" not in text


def test_the_kit_of_a_new_course_checks_by_itself(of_init, tmp_path, capsys, monkeypatch):
    folder = tmp_path / "mine"
    shutil.copytree(of_init.parent / "kit", folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "cache"))
    shutil.copy(of_init / "submissions/exemplar/lab1.py", folder)
    assert main(["check"]) == 0
    assert "8 / 8 points" in capsys.readouterr().out
    (folder / "lab1.py").unlink()
    (folder / "answers.yaml").write_text("1-1: {total: 2048000}")
    assert main(["check"]) == 1
    assert "The bias is missing." in capsys.readouterr().out


def test_the_lines_of_start_build_what_a_task_is_about(of_init, tmp_path, monkeypatch, capsys):
    """As they stand there, with the exemplar's function in place of the template."""
    start = (of_init.parent / "kit/START.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", start, re.DOTALL)
    shutil.copy(of_init / "submissions/exemplar/lab1.py", tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    exec(program, {})  # noqa: S102 - the lines are labgrade's own
    assert capsys.readouterr().out == "2052000\n"


def test_the_lines_of_start_load_files_too():
    tasks = [each.task for each in load.read_all(load.files(LAB), course.find(ROOT))]
    about = kit_templates.Start(subjects={"2-2-1-operators": "subjects/a.onnx"}, own_code=False, install="pip x")
    programs = re.findall(r"```python\n(.*?)```", kit_templates.start("Lab", tasks, about), re.DOTALL)
    for program in programs:
        compile(program, "START.md", "exec")
    (of_file,) = [each for each in programs if "onnx.load" in each]
    assert "model = onnx.load('subjects/a.onnx')\n" in of_file
    assert "print(operator_counts('subjects/a.onnx'))" in of_file


def test_a_value_that_may_be_handed_in_is_not_given_unless_the_task_says_so(own, capsys):
    spec_file = own / "specs/lab/task.yaml"
    spec_file.write_text(TASK.replace("self_check: values\n", ""))
    assert main(["kit", "lab", "--out", "kit"]) == 2
    said = capsys.readouterr().err
    assert "no public check can go without the course's own code" in said
    assert "task total: its value may be handed in as the answer" in said
    spec_file.write_text(
        TASK.replace("self_check: values\n", "")
        .replace('{call: "hw.py:total", given: [model]}, {entry: task.total}', '{call: "hw.py:total", given: [model]}')
        .replace(", {after: Total, report: under Task}", "")
    )
    assert main(["kit", "lab", "--out", "kit"]) == 0
    assert "literal: 1234" in (own / "kit/specs/lab/task.yaml").read_text()
    assert not [line for line in lines_of(own) if line in everything(own / "kit")]


SHIFTED = """
id: shifted
title: Shifted
points: 2
statement: Double the numbers of data.npy.
subject: {config: {name: numbers}, arguments: {data: ./data.npy}}
answers:
  shifted: {type: {table_of: tensor}, call: "hw.py:shifted(data)"}
checks:
  - {id: shifted, points: 2, answer: shifted, checker: close, expected: {quantity: twice}}
"""
TWICE = """
def twice(config, *, data: str) -> dict:
    import numpy as np

    return {"values": 2 * np.load(data)}
"""


def test_tensors_of_the_courses_own_quantity_are_written_out_with_the_data(own, capsys, monkeypatch):
    import numpy as np

    (own / "specs/lab/shifted.yaml").write_text(SHIFTED)
    (own / "reference/twice.py").write_text(TWICE)
    np.save(own / "specs/lab/data.npy", np.arange(6.0).reshape(2, 3))
    assert main(["kit", "lab", "--out", "kit"]) == 0
    assert "not in the kit" not in capsys.readouterr().out
    assert (own / "kit/specs/lab/data.npy").is_file()
    assert not (own / "kit/reference/twice.py").exists()
    monkeypatch.chdir(own / "kit")
    for factor, code in (("2", 0), ("3", 1)):
        Path("hw.py").write_text(
            f"import numpy as np\n\n\ndef shifted(data):\n    return {{'values': {factor} * np.load(data)}}\n"
        )
        assert main(["check", "--course", ".", "--task", "shifted"]) == code
    monkeypatch.chdir(own)
    np.save(own / "specs/lab/data.npy", np.zeros((200, 200)))
    assert main(["kit", "lab", "--out", str(own / "other")]) == 0
    assert "not in the kit: shifted shifted: what it expects is no plain value" in capsys.readouterr().out
    assert (own / "other/specs/lab/data.npy").is_file()


def test_what_needs_the_solution_is_left_to_staff_and_named(own, capsys):
    case = (
        "{id: more, points: 2, answer: total, checker: equal, expected: {quantity: own_size}, cases: [{input: [3, 1]}]}"
    )
    text = TASK.replace("checks:\n", f"checks:\n  - {case}\n").replace("points: 10", "points: 12")
    (own / "specs/lab/task.yaml").write_text(text)
    assert main(["kit", "lab", "--out", "kit"]) == 0
    assert "not in the kit: task more: it is about several subjects\n" in capsys.readouterr().out
    kit_spec = yaml.safe_load((own / "kit/specs/lab/task.yaml").read_text())
    assert [check["id"] for check in kit_spec["checks"]] == ["total"]
    assert (kit_spec["points"], kit_spec["hidden_points"]) == (6, 6)  # 2 of them for what only staff can check
    start = (own / "kit/START.md").read_text()
    assert "(8 points, and 4 for cases that are not shown)" in start
    assert "- task more\n" in start


def test_what_a_statement_gives_away_is_told_and_a_plain_word_is_not(own, capsys):
    spec_file = own / "specs/lab/task.yaml"
    given = "How large is it, and what are the others? (zqhid misconception, see zqhid_slip)"
    spec_file.write_text(TASK.replace("How large is it?", given).replace("id: zqhid-check", "id: others"))
    main(["kit", "lab", "--out", "kit"])
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("look at specs/lab/task.yaml")]
    assert [line.split("'")[1] for line in told] == ["zqhid misconception", "zqhid_slip"]


def test_a_column_of_a_public_table_is_no_secret():
    """Also where a hidden check names it in words."""
    data = {
        "id": "task",
        "title": "A task",
        "answers": {
            "rows": {"type": {"table": {"row": "layer", "columns": {"thickness": "count"}}}, "from": [{"entry": "a.b"}]}
        },
        "checks": [
            {"id": "shown", "points": 1, "answer": "rows"},
            {
                "id": "the-other",
                "points": 1,
                "answer": "rows",
                "hidden": True,
                "checker": {"rows": {"of": "thickness"}},
            },
        ],
    }
    assert public.only_hidden([data]) == {"the-other"}


def test_a_kit_overwrites_nothing_and_leaves_nothing_half_made(own, capsys):
    (own / "kit").mkdir()
    (own / "kit/mine").write_text("mine")
    assert main(["kit", "lab", "--out", "kit"]) == 2
    assert "'kit' is there already" in capsys.readouterr().err
    assert main(["kit", "lap", "--out", "other"]) == 2
    assert "there is no lab 'lap'; did you mean 'lab'?" in capsys.readouterr().err
    (own / "specs/lab/task.yaml").write_text("id: [")
    assert main(["kit", "lab", "--out", "other"]) == 2
    assert not (own / "other").exists()
    assert not list(own.glob(".labgrade-kit-*"))


def test_a_kit_in_a_submission_runs_no_code_of_the_student_as_ours(own, capsys, monkeypatch):
    main(["kit", "lab", "--out", "kit", "--with-reference"])
    (own / "kit/reference/own.py").write_text("raise SystemExit('loaded')")
    monkeypatch.chdir(own / "kit")
    assert main(["check", "."]) == 2
    shutil.rmtree(own / "kit/reference")
    shutil.rmtree(own / "kit/checkers")
    assert main(["check", "."]) == 2  # the specs ask for functions that labgrade does not have
    assert "own_size" in capsys.readouterr().err


def test_a_folder_that_brings_what_it_is_judged_by_says_so_to_others(own, capsys, monkeypatch):
    (own / "elsewhere/forged/specs/lab").mkdir(parents=True)
    (own / "elsewhere/forged/specs/lab/task.yaml").write_text(FORGED)
    (own / "elsewhere/forged/specs/lab/lab.yaml").write_text("title: A lab\n")
    (own / "elsewhere/forged/labgrade-kit.yaml").write_text("kit: lab\n")
    (own / "elsewhere/forged/answers.yaml").write_text("task: {total: 7}\n")
    told = "judged by the specs in 'forged' itself, which whoever made it may have changed; name others: --course"
    monkeypatch.chdir(own / "elsewhere")
    assert main(["check", "forged"]) == 0
    assert told in unframed(capsys.readouterr().out)
    monkeypatch.chdir(own / "elsewhere/forged")
    assert main(["check", "."]) == 0
    assert "judged by the specs" not in capsys.readouterr().out


# ---- specs of all kinds ----------------------------------------------------------------------------------------


def any_spec(draw):
    """A spec with some checks hidden; everything that only they say holds the secret word."""
    checks, answers = [], {}
    for number in range(draw.randint(1, 5)):
        hidden = draw.random() < 0.5
        word = f"{HIDDEN}-{number}" if hidden else f"open-{number}"
        shared = [name for name in answers if not name.startswith(HIDDEN)]
        answer = draw.choice(shared) if shared and draw.random() < 0.5 else word
        if answer not in answers:
            answers[answer] = {"type": "count", "from": [{"call": f"{word}.py:f", "given": ["model"]}, {"entry": word}]}
        check = {"id": word, "points": draw.choice([0, 0.5, 1, 2]), "answer": answer, "checker": "equal"}
        check["expected"] = draw.choice([7, {"quantity": "parameters"}, {"literal": 7}])
        if draw.random() < 0.5:
            check["misconceptions"] = [{"value": 9, "says": f"{word} says", "credit": 0.5}]
        if draw.random() < 0.5:
            options = {"num_classes": draw.randint(2, 9)} | ({"frozen": [word]} if hidden else {})
            models = ["torchvision/vgg11"] if hidden else ["torchvision/alexnet"]
            check["cases"] = [{"model": draw.choice(models), "options": options}]
        if hidden or draw.random() < 0.2:
            check["hidden"] = hidden
        if draw.random() < 0.3:
            check["bonus"] = True
        before = [each["id"] for each in checks if hidden or not each.get("hidden")]
        if before and draw.random() < 0.5:
            check["needs"] = [draw.choice(before)]
        checks.append(check)
    needs_main = any(not check.get("hidden") and "cases" not in check for check in checks)
    subject = {"model": "torchvision/resnet18" if needs_main else "torchvision/vgg13", "input": [1, 3, 64, 64]}
    points = sum(check["points"] for check in checks if not check.get("bonus"))
    return {
        "id": "any",
        "title": "t",
        "points": points,
        "statement": "s",
        "subject": subject,
        "answers": answers,
        "checks": checks,
    }


@pytest.mark.parametrize("seed", sampled(range(60), 4))
def test_the_public_part_of_any_spec_validates_and_tells_nothing(tmp_path, seed):
    data = any_spec(random.Random(seed))  # noqa: S311 - a draw, no secret
    found = course.find(ROOT)
    path = tmp_path / "any.yaml"
    path.write_text(yaml_write.dump(data), encoding="utf-8")
    whole = load.read(path, found)
    shown = public.public(data)
    if shown is None:
        assert all(check.hidden for check in whole.checks)
        return
    text = yaml_write.dump(shown)
    assert HIDDEN not in text
    assert "vgg" not in text  # hidden subjects
    path.write_text(text, encoding="utf-8")
    task = load.read(path, found)
    kept = {check.id: check for check in whole.checks if not check.hidden}
    assert [check.id for check in task.checks] == list(kept)
    for check in task.checks:  # each is judged as before: same subjects, same points, same values
        before = kept[check.id]
        assert check.cases == before.cases
        assert check.cases or task.subject == whole.subject
        same = ("points", "answer", "checker", "expected", "bonus", "needs")
        assert [getattr(check, name) for name in same[:3]] == [getattr(before, name) for name in same[:3]]
        assert (check.bonus, check.needs) == (before.bonus, before.needs)


# ---- texts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            "no",
            "1e-3",
            "2:4",
            "010",
            "a: b",
            "- a",
            "#c",
            "a\nb",
            "a\nb\n",
            "\n",
            " a\n b",
            "a\n\nb\n",
            "é 中",
        ),
        *(
            "x" * 300,
            "null",
            "[a",
            "{",
            "'",
            '"',
            "a #b",
            "\t",
            "a\\b",
            "\x85",
            "a\u2028b",
            "😀\u200d",
            "%",
            "@a",
            "?",
            "-",
        ),
        *("1.5.2", "~", "a,b", "-a", ".5", "a:b", "=", "<<", "2026-01-01", "\ufeff"),
    ],
)
def test_a_text_is_written_so_that_it_reads_back(text):
    data = {"a": text, "b": [text, {text or "k": text, "c": [1, [text]]}], "d": {"e": {"f": text}}}
    assert yaml_files.load(yaml_write.dump(data), "").data == data


@pytest.mark.parametrize("path", load.files(LAB), ids=lambda path: path.stem)
def test_every_spec_reads_back_as_it_was(path):
    data = yaml_files.load(path.read_text(encoding="utf-8"), "").data
    assert yaml_files.load(yaml_write.dump(data), "").data == data


# ---- the lab's own kit -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def of_lab(tmp_path_factory):
    out = tmp_path_factory.mktemp("kit") / "kit"
    kit.make(course.find(ROOT), load.files(LAB), out, with_subjects=False)
    return out


def test_the_labs_kit_tells_nothing_of_its_hidden_checks(of_lab):
    """Found anew from the specs' text, without the kit's own code: hints, models, ids, comments."""
    seen = {path.name: path.read_text(encoding="utf-8") for path in (of_lab / "specs/acal-lab2").iterdir()}
    for path in load.files(LAB):
        text = path.read_text(encoding="utf-8")
        data = yaml.safe_load(text)
        hidden = [check for check in data["checks"] if check.get("hidden")]
        given = yaml.safe_load(seen[path.name])
        assert not {check["id"] for check in hidden} & {check["id"] for check in given["checks"]}
        assert given["points"] == sum(check["points"] for check in given["checks"] if not check.get("bonus"))
        public_text = " ".join(str(check) for check in data["checks"] if not check.get("hidden")) + str(data["subject"])
        for check in hidden:
            says = [each["says"] for each in (*check.get("misconceptions", ()), *check.get("also_right", ()))]
            models = [case["model"] for case in check.get("cases", ()) if "model" in case]
            for word in (*says, *models):
                assert word in public_text or word not in seen[path.name], (path.name, word)
        for comment in re.findall(r"\s#( [^:$\n]{6,})$", text, re.MULTILINE):
            assert comment not in seen[path.name]


@soak
@pytest.mark.skipif(not all(map(shutil.which, ("cmake", "g++", "make"))), reason="needs: apt install cmake g++ make")
def test_the_labs_kit_with_the_exemplars_code_is_right(of_lab, tmp_path, capsys, monkeypatch):
    folder = tmp_path / "mine"
    shutil.copytree(of_lab, folder)
    shutil.rmtree(folder / "specs/acal-lab2" / TILES_ALEXNET, ignore_errors=True)
    (folder / "specs/acal-lab2" / f"{TILES_ALEXNET}.yaml").unlink()
    if not (shutil.which("cmake") and shutil.which("c++")):  # then a machine can't tell what a program in C++ prints
        for path in (folder / "specs/acal-lab2").glob("2-4-*.yaml"):
            path.unlink()
    for source in ("exemplar", "tiling-exemplar", "cpp-exemplar"):
        shutil.copytree(ROOT / "submissions" / source, folder, dirs_exist_ok=True)
    monkeypatch.chdir(folder)
    assert main(["check", ".", "--json", "-"]) == 0
    out = capsys.readouterr().out
    outcomes = re.findall(r'"outcome": "(\w+)"', out)
    assert len(outcomes) > 25
    assert set(outcomes) <= {"CORRECT", "MANUAL"}
    assert outcomes.count("MANUAL") <= 1  # the comparison in words


def test_the_subjects_of_a_kit_are_the_files_that_its_tasks_are_about(own, monkeypatch):
    about = {
        "model: torchvision/alexnet, input: [1234, 2]": "model: micro/lenet.onnx, input: [1, 1, 28, 28]",
        "[model]": "[model_path]",
    }
    text = TASK.replace("quantity: own_size", "quantity: onnx_operator_total").replace(
        "quantity: zqhid_slip", "quantity: onnx_operator_total"
    )
    for old, new in about.items():
        text = text.replace(old, new)
    (own / "specs/lab/task.yaml").write_text(text)
    (own / "specs/lab/zqhid.yaml").unlink()
    assert main(["kit", "lab", "--out", "kit"]) == 0
    assert [path.name for path in (own / "kit/subjects").iterdir()] == ["lenet.onnx"]
    assert "the file subjects/lenet.onnx" in (own / "kit/START.md").read_text()
