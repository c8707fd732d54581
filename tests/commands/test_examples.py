"""Every example that `labgrade list quantities` prints does what it says when it is pasted."""

import shlex
from pathlib import Path

import pytest

from labgrade.cli import parsed
from labgrade.commands import compute, specs
from labgrade.core.arguments import ALL as GIVEN
from labgrade.core.task import QuantityCall
from labgrade.files import validate, yaml
from labgrade.spec import course, registry, schema
from labgrade.spec.registry import SLIPS
from labgrade.truth.oracle import Oracle

pytestmark = pytest.mark.slow

COURSE = course.find(Path(__file__).parents[2])
ENTRIES = COURSE.quantities.entries
LISTED = sorted(name for name, each in ENTRIES.items() if each.slip is None and not name.endswith(SLIPS))
EXAMPLES = {name: specs.example(ENTRIES[name]) for name in LISTED}


@pytest.fixture(scope="module")
def oracle():
    with Oracle(COURSE.quantities) as made:
        yield made


@pytest.mark.parametrize("name", LISTED)
def test_an_example_works_when_it_is_pasted(name, oracle):
    if EXAMPLES[name].startswith("measured: "):
        found = yaml.load(EXAMPLES[name].removeprefix("measured: "), "")
        assert (
            validate.findings(
                {"$defs": schema.task_schema(COURSE, tuple(GIVEN))["$defs"], "$ref": "#/$defs/quantity"}, found
            )
            == []
        )
        return
    options = parsed(shlex.split(EXAMPLES[name].replace(" --config NAME=VALUE ...", " --config layers=1"))[1:])
    entry = ENTRIES[options.quantity]
    chosen = compute.conventions_of(options.set, entry)
    assert not [key for key, each in entry.parameters.items() if each.required and key not in chosen]
    if options.model:  # else a file, or what the config says, is the reader's
        about = compute._subject(options, COURSE)
        assert entry.takes[:1] == (("artifact" if about.is_onnx else "subject"),)
        oracle.value(QuantityCall(quantity=name, parameters=chosen), about)


def test_a_function_that_is_no_quantity_is_told_so(tmp_path):
    (tmp_path / "own.py").write_text("def helper(path) -> int:\n    '''Helps.'''\n    return 1\n")
    (entry,) = registry.read("quantity", (tmp_path,)).entries.values()
    assert specs._quantity_lines(entry) == ["no quantity: its first parameter is not 'subject', 'artifact' or 'config'"]
