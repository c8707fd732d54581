"""`labgrade test` on a small course: a good task is good, and each way of being weak shows."""

import json
import re

import pytest

from labgrade.authoring import samples
from labgrade.authoring.mutants import mutants
from labgrade.cli import main

pytestmark = pytest.mark.slow

TASK = """
id: double
title: Twice the size
points: 10
statement: Twice the first size of the input, and one.
subject: {model: micro/dilated, input: [2, 3, 32, 40]}
answers:
  size:
    type: number
    from:
      - {call: hw.py:size, given: [input_size]}
      - entry: double.size
checks:
  - id: main
    points: 6
    answer: size
    checker: {equal: {digits: 1}}
    expected: {quantity: twice}
    misconceptions:
      - {value: {quantity: once}, says: not doubled, credit: 0.5}
      - {value: {quantity: twice, with: {more: 0}}, says: one is missing, credit: 0.5}
  - id: others
    points: 4
    hidden: true
    needs: [main]
    answer: size
    checker: {equal: {digits: 1}}
    expected: {quantity: twice}
    misconceptions:
      - {value: {quantity: squared}, says: squared, credit: 0.5}
    cases:
      - {input: [7, 3, 32, 40]}
"""
REFERENCE = """
def twice(subject, *, more: int = 1) -> int:
    '''Twice.'''
    return 2 * subject.shape[0] + more

def once(subject) -> int:
    '''Once.'''
    return subject.shape[0] + 1

def squared(subject) -> int:
    '''Squared.'''
    return subject.shape[0] ** 2 + 1
"""
EXEMPLAR = "def size(input_size):\n    return 2 * input_size[0] + 1\n"


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def course(tmp_path, monkeypatch, cache):
    files = {
        "specs/lab/lab.yaml": "title: A lab\n",
        "specs/lab/double.yaml": TASK,
        "reference/own.py": REFERENCE,
        "submissions/exemplar/hw.py": EXEMPLAR,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABGRADE_CACHE", str(cache))
    return tmp_path


def change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_good_task_is_good(course, capsys):
    assert main(["test", "--matrix"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"double: good, in [\d.]+ s\n  exemplar: exemplar\n", out)
    assert "known slips: 3 of 3 are noticed" in out
    assert re.search(r"mutants: (\d+) of \1 are noticed", out)
    # At 2, squared and doubled are the same: the hidden case tells them apart.
    assert "    main\n      others[dilated]\n    x x  not doubled\n    x x  one is missing\n    . x  squared\n" in out


def weaken(course):
    """A task on one subject, whose first size is 2, so that a sum for a product is not noticed."""
    text = TASK[: TASK.index("  - id: others")].replace("points: 10", "points: 6")
    (course / "specs/lab/double.yaml").write_text(text)
    (course / "submissions/exemplar/hw.py").write_text("def size(input_size):\n    return input_size[0] * 2 + 1\n")


def test_a_check_on_one_subject_alone_lets_mutants_survive(course, capsys):
    weaken(course)
    assert main(["test"]) == 1
    out = capsys.readouterr().out
    assert "survived: " in out
    assert re.search(r"double: weak \(.*\bmutants? not noticed\), in ", out)
    assert "submissions/exemplar/hw.py:2\n    - return input_size[0] * 2 + 1\n    + return input_size[0] + 2 + 1" in out


def test_a_mutant_that_never_ends_is_noticed(course, capsys):
    lines = "sizes = [s[0]]", "while len(sizes) < 2:", "    sizes.append(s[0])", "return sum(sizes) + 1"
    (course / "submissions/exemplar/hw.py").write_text("\n    ".join(["def size(s):", *lines]) + "\n")
    assert main(["test"]) == 0
    assert re.search(r"mutants: (\d+) of \1 are noticed \(first: ", capsys.readouterr().out)


def test_a_mutant_that_is_wrong_in_its_second_call_alone_is_noticed(course, capsys):
    """Each case calls a process of its own; but a check calls once more, behind another subject's call."""
    lines = "CALLS = []", "def size(s):", "    CALLS.append(1)", "    return 2 * s[0] + min(len(CALLS), 1)"
    (course / "submissions/exemplar/hw.py").write_text("\n".join(lines) + "\n")
    text = TASK.replace(
        "      - {input: [7, 3, 32, 40]}", "      - {input: [7, 3, 32, 40]}\n      - {input: [9, 3, 32, 40]}"
    )
    (course / "specs/lab/double.yaml").write_text(text)
    assert main(["test", "--json"]) == 1
    (told,) = json.loads(capsys.readouterr().out)
    survived = [each["becomes"] for each in told["survived"]]
    assert "return 2 * s[0] + min(len(CALLS), 2)" not in survived
    assert survived == ["CALLS.append(0)", "CALLS.append(2)"]
    assert told["wrong"] == []


def test_a_mutant_that_is_no_mistake_is_declared_with_its_reason(course, capsys):
    weaken(course)
    change(course / "specs/lab/double.yaml", "  size:\n", "  size:\n    constant_is_fine: it is about this one alone\n")
    declared = (
        "hw.py:\n  - {was: 'return input_size[0] * 2 + 1', becomes: 'return input_size[0] + 2 + 1', because: why not}\n"
    )
    (course / "submissions/exemplar.survivors.yaml").write_text(declared)
    assert main(["test", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["survived"] == []
    assert [each["because"] for each in told["explained"]] == ["why not"]


@pytest.mark.parametrize(
    "entry", ["in: size, because: b", "was: 'return 2 * input_size[0] + 1', because: b, for: [double]"]
)
def test_all_mutants_of_a_line_or_a_function_may_be_none(course, entry):
    found = mutants(EXEMPLAR, {"size"})
    assert len(found) > 5
    for said, covered in ((entry, True), (entry.replace("size,", "other,").replace("double", "other"), False)):
        (course / "submissions/exemplar.survivors.yaml").write_text(f"hw.py: [{{{said}}}]\n")
        ((declared,),) = [each.explained for each in samples.samples(course / "submissions")]
        assert {declared.covers("hw.py", mutant, "double") for mutant in found} == {covered}
        assert not any(declared.covers("hw2.py", mutant, "double") for mutant in found)


def test_a_declaration_that_a_check_refutes_is_wrong(course, capsys):
    (course / "submissions/exemplar.survivors.yaml").write_text(
        "hw.py:\n  - was: return 2 * input_size[0] + 1\n    becomes: return 2 * input_size[0] - 1\n"
        "    because: x\n    for: double\n"
    )
    assert main(["test"]) == 1
    assert "notices this mutant: it does not survive" in capsys.readouterr().out


def test_an_exemplar_that_is_wrong_shows(course, capsys):
    change(course / "submissions/exemplar/hw.py", "+ 1", "+ 2")
    assert main(["test", "--no-mutants"]) == 1
    assert "the exemplar is INCORRECT at 'main': got 6" in capsys.readouterr().out


def test_without_an_exemplar_it_says_where_one_goes(course, capsys):
    (course / "submissions/exemplar").rename(course / "submissions/ann")
    assert main(["test", "--no-mutants"]) == 1
    assert "put an exemplar into 'submissions/exemplar'" in capsys.readouterr().out


def test_a_task_that_the_exemplar_lacks_is_named(course, capsys):
    (course / "submissions/exemplar/hw.py").rename(course / "submissions/exemplar/other.py")
    assert main(["test", "--no-mutants"]) == 1
    said = "the exemplar lacks task 'double': hand in its answers in 'submissions/exemplar', too"
    assert said in capsys.readouterr().out
    (course / "submissions/exemplar.expected.yaml").write_text("other: {main: CORRECT 1}\n")
    assert main(["test", "--no-mutants"]) == 1
    said = (
        "the exemplar lacks task 'double': 'submissions/exemplar.expected.yaml' does not say what each check comes to"
    )
    assert said in capsys.readouterr().out
    (course / "submissions/exemplar.expected.yaml").write_text("double: {main: PARTIAL 3, others: SKIPPED 0}\n")
    assert main(["test", "--no-mutants"]) == 1
    assert "exemplar.expected.yaml' expects less than CORRECT of task 'double'" in capsys.readouterr().out


def test_a_misconception_that_never_speaks_shows(course, capsys):
    change(course / "specs/lab/double.yaml", "value: {quantity: squared}", "value: {quantity: twice}")
    assert main(["test", "--no-mutants"]) == 1
    out = capsys.readouterr().out
    assert "specs/lab/double.yaml:30:9: this value of 'others' never brings up its own hint" in out


def test_a_slip_that_no_check_notices_shows(course, capsys):
    change(course / "specs/lab/double.yaml", "[7, 3, 32, 40]", "[2, 3, 32, 48]")
    assert main(["test", "--no-mutants"]) == 1
    assert "no check notices: squared" in capsys.readouterr().out


def with_search(course, misconception):
    check = f"""
  - id: any
    points: 0
    bonus: true
    answer: size
    checker: {{equal: {{digits: 1}}}}
    expected: {{quantity: twice}}
    misconceptions:
      - {{value: {{quantity: {misconception}}}, says: told by the search, credit: 0.5}}
    counterexample: {{among: cnn, tries: 20}}
"""
    (course / "specs/lab/double.yaml").write_text(TASK + check.removeprefix("\n"))


def test_a_misconception_of_a_search_is_tried_on_random_networks(course, capsys):
    with_search(course, "squared")  # the same as doubled on the task's own subject, whose first size is 2
    assert main(["test", "--no-mutants", "--matrix"]) == 0
    assert "    . x x  squared\n" in capsys.readouterr().out


def test_what_a_constant_would_pass_is_noticed_by_a_search(course, capsys):
    with_search(course, "squared")
    text = (course / "specs/lab/double.yaml").read_text()
    start, end = text.index("  - id: others"), text.index("  - id: any")
    (course / "specs/lab/double.yaml").write_text(text[:start].replace("points: 10", "points: 6") + text[end:])
    assert main(["test", "--no-mutants"]) == 0
    said = capsys.readouterr().out
    assert "double: good" in said
    assert re.search(r"lazy solutions: (\d+) of \1 are noticed", said)


def test_a_misconception_that_a_search_never_meets_shows(course, capsys):
    with_search(course, "twice")
    assert main(["test", "--no-mutants"]) == 1
    assert "this value of 'any' never brings up its own hint" in capsys.readouterr().out


def test_a_sample_that_comes_to_something_else_shows(course, capsys):
    (course / "submissions/half").mkdir()
    (course / "submissions/half/answers.yaml").write_text("double: {size: 3}\n")
    expected = course / "submissions/half.expected.yaml"
    expected.write_text("double: {main: PARTIAL 3, 'others[dilated]': SKIPPED 0}\n")
    assert main(["test", "--no-mutants"]) == 0
    assert "samples that come to what their files say: half\n" in capsys.readouterr().out
    expected.write_text("double: {main: CORRECT 6, 'others[dilated]': SKIPPED 0}\n")
    assert main(["test", "--no-mutants"]) == 1
    said = capsys.readouterr().out
    assert "'half' is PARTIAL 3 at 'main', expected CORRECT 6" in said
    assert "what their files say" not in said


def test_a_sample_may_say_its_outcomes_alone_and_hears_which_it_leaves_out(course, capsys):
    (course / "submissions/half").mkdir()
    (course / "submissions/half/answers.yaml").write_text("double: {size: 3}\n")
    expected = course / "submissions/half.expected.yaml"
    expected.write_text("double: {main: PARTIAL, 'others[dilated]': SKIPPED}\n")
    assert main(["test", "--no-mutants"]) == 0
    expected.write_text("double: {main: CORRECT, mian: SKIPPED}\n")
    assert main(["test", "--no-mutants"]) == 1
    said = capsys.readouterr().out
    assert "'half' is PARTIAL 3 at 'main', expected CORRECT" in said
    assert "'half' has no check 'mian'; did you mean 'main'?" in said
    line = "'half' is SKIPPED 0 at 'others[dilated]', of which its file says nothing: add 'others[dilated]: SKIPPED 0'"
    assert line in said


def test_a_sample_whose_folder_was_left_out_is_no_silent_success(course, capsys):
    (course / "submissions/half.expected.yaml").write_text("double: {main: PARTIAL 3}\n")
    assert main(["test", "--no-mutants"]) == 2
    said = capsys.readouterr().err
    assert "half.expected.yaml:1:1: there is no folder 'half' beside this file" in said
    assert "add the line '!submissions/half/'" in said


def test_a_task_that_pays_for_nothing_shows(course, capsys):
    change(course / "submissions/exemplar/hw.py", "2 *", "__import__('random').choice([3, 4, 5, 6, 7]) *")
    assert main(["test", "--no-mutants"]) == 1
    assert "exemplar is" in capsys.readouterr().out


def test_unknown_tasks_and_broken_files_are_told(course, capsys):
    assert main(["test", "doubel"]) == 2
    assert "there is no task 'doubel'; did you mean 'double'?" in capsys.readouterr().err
    (course / "submissions/exemplar.survivors.yaml").write_text("hw.py: [{was: a}]\n")
    assert main(["test"]) == 2
    assert "exemplar.survivors.yaml:1:9: say which mutants may survive" in capsys.readouterr().err
    assert main(["test", "--submissions-dir", "nowhere"]) == 2
    assert "there is no folder 'nowhere' with fixtures" in capsys.readouterr().err


def test_an_answer_that_is_never_computed_of_another_subject_lets_a_constant_pass(course, capsys):
    weaken(course)
    assert main(["validate"]) == 0
    out = capsys.readouterr().out
    assert "specs/lab/double.yaml:8:3: warning: 'size' is computed of the task's own subject alone" in out
    assert "nothing wrong, 1 warning" in out
    assert main(["test", "--no-mutants"]) == 1
    out = capsys.readouterr().out
    assert "passes every check of 'size': a function that returns for every subject what is right for" in out
    change(course / "specs/lab/double.yaml", "  size:\n", "  size:\n    constant_is_fine: it is about this one alone\n")
    assert main(["validate"]) == 0
    assert "nothing wrong\n" in capsys.readouterr().out
    assert main(["test", "--no-mutants"]) == 0


NAMES = """
id: double
title: Layers
points: 2
statement: Which layers are large?
subject: {model: micro/dilated, input: [2, 3, 32, 40]}
answers:
  rows:
    type: {table: {row: layer, columns: {size: count}}}
    from: [{call: 'hw.py:rows', given: [input_size]}]
checks:
  - {id: main, points: 1, answer: rows, checker: same_rows, expected: {quantity: rows}}
  - id: others
    points: 1
    hidden: true
    answer: rows
    checker: same_rows
    expected: {quantity: rows}
    cases: [{input: [3, 3, 32, 40]}]
"""
ROWS = """
def rows({given}) -> list:
    '''Two layers a block.'''
    blocks = {size}
    names = [f"b{{i}}.{{kind}}" for i in range(blocks) for kind in ({kinds})]
    return [{{"layer": name, "size": {cell}}} for place, name in enumerate(names)]
"""


@pytest.mark.parametrize(
    ("kinds", "cell", "says"),
    [
        ("('conv', 'fc')", "place + 1", "chooses layers by how their names end in the task's own subject"),
        ("('conv', 'fc') if blocks == 2 else ('conv', 'head')", "5", "gives each row the cells of the first"),
        ("('conv', 'fc') if blocks == 2 else ('conv', 'head')", "place + 1", ""),
    ],
)
def test_lazy_tables_are_noticed_or_told(course, capsys, kinds, cell, says):
    (course / "specs/lab/double.yaml").write_text(NAMES)
    own, handed_in = course / "reference/own.py", course / "submissions/exemplar/hw.py"
    own.write_text(ROWS.format(given="subject", size="subject.shape[0]", kinds=kinds, cell=cell))
    handed_in.write_text(ROWS.format(given="input_size", size="input_size[0]", kinds=kinds, cell=cell))
    assert main(["test", "--no-mutants"]) == bool(says)
    out = capsys.readouterr().out
    told = [line.partition("a function that ")[2] for line in out.splitlines() if "passes every check" in line]
    assert told == ([says] if says else [])


MODULES = """
id: double
title: Modules
points: 2
statement: How many modules are there?
subject: {model: micro/dilated, input: [2, 3, 32, 40]}
answers: {it: {type: count, from: [{call: 'hw.py:it(model, input)'}]}}
checks:
  - {id: main, points: 1, answer: it, checker: equal, expected: OWN}
  - id: others
    points: 1
    answer: it
    checker: equal
    expected: {quantity: it}
    cases: [{model: torchvision/squeezenet1_1}]
"""
COUNTED = "def it(subject) -> int:\n    'All.'\n    return len(list(subject.on_meta()[0].modules())) * ({times})\n"
HANDED_IN = "def it(model, x):\n    return len(list(model.modules())) * ({times})\n"


@pytest.mark.parametrize(("times", "told"), [("1", 0), ("{}.shape[0]", 1), ("{}.shape[-1]", 1)])
def test_a_function_may_take_no_notice_of_what_does_not_matter(course, capsys, times, told):
    own = COUNTED.format(times=times.format("subject.on_meta()[1]"))
    (course / "reference/own.py").write_text(own)
    (course / "submissions/exemplar/hw.py").write_text(HANDED_IN.format(times=times.format("x")))
    spec = course / "specs/lab/double.yaml"
    spec.write_text(MODULES.replace("OWN", "{quantity: it}"))
    main(["compute", "it", "--task", "double"])
    spec.write_text(MODULES.replace("OWN", capsys.readouterr().out.strip()))
    assert main(["test", "--no-mutants"]) == told
    said = [line.partition("a function that ")[2] for line in capsys.readouterr().out.splitlines()]
    assert [each for each in said if each] == ["takes every input to be as large as the task's own"] * told


TENSORS = """
id: double
title: Outputs
points: 1
statement: Of each layer.
subject: {model: micro/dilated, input: [1, 3, 32, 40]}
answers:
  outputs:
    type: {table_of: tensor}
    from: [{call: 'hw.py:outputs', given: [model, input]}]
checks:
  - {id: main, points: 1, answer: outputs, checker: {close: {rtol: 0, atol: 0.1}}, expected: {quantity: outputs}}
"""
OUTPUTS = """
def outputs(subject) -> dict:
    '''Ten tensors, of which some follow the input.'''
    _, x = subject.with_weights()
    return {f"layer{place}": x[0, 0] * (1 if place < FOLLOW else 0.001) for place in range(10)}
"""


@pytest.mark.parametrize(("follow", "found"), [(9, 0), (8, 4)])
def test_tensors_that_a_wrong_input_hardly_changes_are_refused(course, capsys, follow, found):
    (course / "specs/lab/double.yaml").write_text(TENSORS)
    (course / "reference/own.py").write_text(OUTPUTS.replace("FOLLOW", str(follow)))
    assert main(["validate", "--compute"]) == (2 if found else 0)
    said = capsys.readouterr().err
    assert said.count("of 10 values stay within the tolerance, so a wrong input would earn points") == found
    assert ("with zeros in place of the input, 2 of 10 values" in said) is bool(found)
