"""A course in a folder: one task on answers handed in as text, so that neither torch nor a child is needed."""

REFERENCE = """
def size(subject, *, times: int = 1) -> int:
    '''A size.'''
    return subject.shape[0] * times

def broken(subject):
    '''Fails.'''
    raise ZeroDivisionError("by zero")
"""
TASK = """
id: task
title: A task
points: 10
statement: How large is it?
subject: {model: torchvision/alexnet, input: [1234, 2]}
answers:
  total:
    type: count
    from:
      - entry: task.total
      - {after: Total, report: anywhere}
  essay:
    type: text
    from: [{entry: task.essay}]
checks:
  - id: total
    points: 6
    answer: total
    checker: equal
    expected: {quantity: size}
    misconceptions: [{value: {quantity: size, with: {times: 2}}, says: counted twice, credit: 0.5}]
  - {id: secret, points: 1, answer: total, checker: equal, expected: 1234, hidden: true, needs: [total]}
  - {id: essay, points: 3, answer: essay, by_hand: [{points: 3, for: clarity}]}
"""
FAULTY = """
id: faulty
title: Ours fails
points: 2
statement: What is it?
subject: {model: torchvision/alexnet, input: [1]}
answers:
  total: {type: count, from: [{entry: task.total}]}
checks:
  - {id: fault, points: 2, answer: total, checker: equal, expected: {quantity: broken}}
"""
SUBMISSIONS = {
    "right": "task: {total: 1234, essay: because}",
    "twice": "task: {total: 2468}",
    "王小明 的作業": "task: {total: 7}",
    "nothing": None,
}


def write(folder, *, faulty=False):
    """Write the course and its submissions below `folder`."""
    files = {
        "specs/lab/task.yaml": TASK,
        "specs/lab/lab.yaml": "title: A lab\n",
        "reference/own.py": REFERENCE,
        "conftest.py": 'pytest_plugins = ["labgrade.pytest_plugin"]\n',
        "pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["tests"]\n',
        "tests/test_own.py": "def test_own():\n    assert True\n",
    }
    if faulty:
        files["specs/lab/faulty.yaml"] = FAULTY
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    for name, answers in SUBMISSIONS.items():
        (folder / "submissions" / name).mkdir(parents=True)
        if answers is not None:
            (folder / "submissions" / name / "answers.yaml").write_text(answers, encoding="utf-8")
