"""A template that nobody filled in is not handed in: another form is judged."""

import pytest
from helpers.handed_in import read

from labgrade.answers.python_source import present
from labgrade.core.task import CallForm


@pytest.mark.parametrize(
    ("body", "there"),
    [
        ("    raise NotImplementedError\n", False),
        ('    """What it does."""\n    raise NotImplementedError("write f")\n', False),
        ("    raise NotImplementedError()\n    return 1\n", True),
        ("    x = 1\n    raise NotImplementedError\n", True),
        ("    raise ValueError\n", True),
        ("    pass\n", False),
        ("    ...\n", False),
        ('    """What it does."""\n', False),
        ("    # TODO\n    return None\n", False),
        ("    return\n", False),
        ("    return ...\n", False),
        ("    print(model)\n    return None\n", True),
        ("    return 1\n", True),
    ],
)
def test_a_function_that_does_nothing_is_a_template(tmp_path, body, there):
    (tmp_path / "hw.py").write_text(f"def f(model):\n{body}", encoding="utf-8")
    assert present(CallForm(file="hw.py", function="f", given=()), read(tmp_path, "someone")) is there


def test_a_template_below_which_the_function_stands_is_filled_in(tmp_path):
    text = "def f(model):\n    raise NotImplementedError\n\ndef f(model):\n    return 1\n"
    (tmp_path / "hw.py").write_text(text, encoding="utf-8")
    assert present(CallForm(file="hw.py", function="f", given=()), read(tmp_path, "someone"))


def test_a_class_or_a_decorated_function_may_do_nothing_of_its_own(tmp_path):
    (tmp_path / "hw.py").write_text("class f(Base):\n    pass\n\n\n@done\ndef g(model):\n    pass\n", encoding="utf-8")
    for name in "fg":
        assert present(CallForm(file="hw.py", function=name, given=()), read(tmp_path, "someone"))
