"""The CI files of a kit, held against the JSON schemas that GitLab and GitHub publish."""

import importlib.util
import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from labgrade.authoring import kit_ci
from labgrade.files import wheel

FILES = kit_ci.files(f'pip install "./{wheel.NAME}[html]"', own_code=True, marker="labgrade-kit.yaml")
SCHEMAS = {kit_ci.GITHUB: "github-workflows.json", kit_ci.GITLAB: "gitlab-ci.json"}


class _Loader(yaml.SafeLoader):
    """YAML as both systems read it: `on` is a word."""


_Loader.yaml_implicit_resolvers = {
    first: [rule for rule in rules if rule[0] != "tag:yaml.org,2002:bool"]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", yaml.SafeLoader.yaml_implicit_resolvers["t"][0][1], list("tf"))


def validator(file):
    found = importlib.util.find_spec("check_jsonschema")
    if found is None:
        pytest.skip("check-jsonschema is not here: it has the published schemas")
    path = Path(found.origin).parent / "builtin_schemas/vendor" / SCHEMAS[file]
    schema = json.loads(path.read_text(encoding="utf-8"))
    return jsonschema.validators.validator_for(schema)(schema)


def read(text):
    return yaml.load(text, _Loader)  # noqa: S506 - a safe loader of ours


@pytest.mark.parametrize("file", FILES)
def test_it_is_what_the_published_schema_asks_for(file):
    assert [error.message for error in validator(file).iter_errors(read(FILES[file]))] == []


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (kit_ci.GITHUB, "runs-on: ubuntu-latest", "runs_on: ubuntu-latest"),
        (kit_ci.GITHUB, "branches-ignore", "branches-ignored"),
        (kit_ci.GITLAB, "      junit: junit.xml", "      junit: {a: b}"),
        (kit_ci.GITLAB, "when: always", "when: often"),
    ],
)
def test_the_schema_finds_what_is_wrong(file, old, new):
    assert old in FILES[file]
    assert list(validator(file).iter_errors(read(FILES[file].replace(old, new))))


def test_both_keep_what_was_installed_and_leave_returned_results_alone():
    github, gitlab = (read(FILES[file]) for file in (kit_ci.GITHUB, kit_ci.GITLAB))
    assert github["on"]["push"] == {"branches-ignore": ["labgrade/**"]}
    assert gitlab["check"]["rules"][0] == {"if": "$CI_COMMIT_BRANCH =~ /^labgrade\\//", "when": "never"}
    steps = {step.get("id", step.get("name")): step for step in github["jobs"]["check"]["steps"]}
    assert steps["kept"]["with"]["path"] == ".venv"
    assert steps["install"]["if"] == "steps.kept.outputs.cache-hit != 'true'"
    assert gitlab["check"]["cache"]["paths"] == [".venv/"]
    assert kit_ci.TORCH in steps["install"]["run"]
    assert "labgrade check --course ." in gitlab["check"]["script"][1]
