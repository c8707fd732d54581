"""HW 2-3 through the whole path, on networks small enough for every day: what each sample submission gets to hear."""

import dataclasses
from pathlib import Path

import onnx
import pytest
from helpers.handed_in import read

from labgrade.core.task import InputSpec, SubjectSpec
from labgrade.reports.summary import full_reason, reason
from labgrade.run.grader import Grader, TaskGrading
from labgrade.spec import course, load
from labgrade.subjects import linear, tilings
from labgrade.verdict import Outcome

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
TASKS = ("2-3-1-linear-subgraph", "2-3-2-tiled-subgraph", "2-3-3-alexnet-tiled", "2-3-4-verification")
PROVED = ("equivalent", "products")
SMALL = SubjectSpec(model="linear/classifier.onnx", input=InputSpec(shape=(1, 3, 24, 24)))


@pytest.fixture(scope="module")
def found():
    return course.find(ROOT)


@pytest.fixture(scope="module")
def tasks(found):
    read = {name: load.read(ROOT / "specs/acal-lab2" / f"{name}.yaml", found) for name in TASKS}
    small = dataclasses.replace(read[TASKS[2]], subject=SMALL)
    read[TASKS[2]] = dataclasses.replace(small, checks=tuple(map(searching_less, small.checks)))
    read["equivalent"] = dataclasses.replace(small, checks=small.checks[:2])
    read["proved and counted"] = dataclasses.replace(small, checks=tuple(c for c in small.checks if c.id in PROVED))
    return read


def searching_less(check):
    search = check.counterexample
    return check if search is None else dataclasses.replace(check, counterexample=dataclasses.replace(search, tries=6))


@pytest.fixture(scope="module")
def grader(found, tmp_path_factory):
    with Grader(found) as grader:
        yield grader


@pytest.fixture
def graded(grader, tasks):
    def of(name, task, folder=ROOT / "submissions"):
        who = read(folder / name, name)
        return {check.id: check.verdict for check in TaskGrading(grader, tasks[task], who).report().checks}

    return of


@pytest.mark.parametrize("task", TASKS)
def test_the_exemplar_is_proved(graded, task):
    assert [name for name, verdict in graded("tiling-exemplar", task).items() if verdict.credit < 1] == []


def test_swapped_tiles_are_named_and_drawn(graded):
    verdict = graded("tiling-swapped", TASKS[2])["equivalent"]
    assert verdict.outcome is Outcome.INCORRECT
    assert "tile (m=0, k=0, n=1)" in full_reason(verdict)
    assert "the tile holds W[64:128,64:90], instead of W[0:64,64:90]" in full_reason(verdict)
    assert "classifier.0: 7x2 tiles (k down, n across; # has a wrong one)\n.#\n.#\n.." in full_reason(verdict)


def test_a_dense_product_left_is_named_with_its_sizes(graded):
    verdict = graded("tiling-dense", "equivalent")["equivalent"]
    assert full_reason(verdict).startswith(
        "node '/classifier/classifier.4/Gemm' (Gemm) is a product of 1x70x10: the limit is"
    )


def test_ragged_columns_are_named(graded):
    verdict = graded("tiling-ragged", "equivalent")["equivalent"]
    assert "the tile holds W[0:64,26:52], instead of W[0:64,64:90]" in full_reason(verdict)


def test_a_valid_tiling_with_more_products_is_proved_and_earns_a_part(graded):
    verdicts = graded("tiling-many", TASKS[1])
    assert verdicts["equivalent"].outcome is Outcome.CORRECT
    assert verdicts["products"].outcome is Outcome.PARTIAL
    assert reason(verdicts["products"]) == "valid, but more products than the 8 that 128x128x128 needs"


def test_a_graph_that_is_not_valid_is_said_to_be_so(graded):
    verdict = graded("tiling-invalid", "equivalent")["equivalent"]
    assert full_reason(verdict).startswith("the graph is not valid: Nodes in a graph must be topologically sorted")
    assert "Gemm_mm_0_6_0_out" in full_reason(verdict)


SOURCE = """
import onnx
from onnx import helper
def tile_linears(source, target):
    model = onnx.load(source)
    {body}
"""


OUTSIDE = "onnx.save(model, target, save_as_external_data=True, location='answer.onnx.more', size_threshold=0)"


def hand_in(folder, body):
    (folder / "someone").mkdir()
    (folder / "someone" / "hw2_3.py").write_text(SOURCE.format(body=body), encoding="utf-8")
    return folder


def test_what_the_proof_does_not_cover_waits_for_a_person_and_so_does_what_needs_it(graded, tmp_path):
    body = """
    last = model.graph.node[-1]
    last.op_type = "Max"
    last.input.append(last.input[0])
    onnx.save(model, target)"""
    verdicts = graded("someone", "equivalent", hand_in(tmp_path, body))
    outcomes = {name: verdict.outcome for name, verdict in verdicts.items()}
    assert outcomes["equivalent"] is Outcome.INCORRECT  # the products are too big as well, and that is certain
    body = """
    for node in model.graph.node:
        if node.op_type == "Gemm":
            node.op_type = "Softplus"
            del node.input[1:], node.attribute[:]
    onnx.save(model, target)"""
    (tmp_path / "someone" / "hw2_3.py").write_text(SOURCE.format(body=body), encoding="utf-8")
    verdicts = graded("someone", "proved and counted", tmp_path)
    assert verdicts["equivalent"].outcome is Outcome.MANUAL
    assert "(Softplus" in full_reason(verdicts["equivalent"])
    assert verdicts["products"].outcome is Outcome.MANUAL
    assert reason(verdicts["products"]) == "waits for 'equivalent', which a person has to look at first"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("pass", "returned without writing the file that save_to names"),
        ("raise RuntimeError('no idea')", "no idea"),
        ("open(target, 'w').write('hello')", "this is not an ONNX model"),
        ("open(target, 'w').close()", "the file is empty"),
    ],
)
def test_a_call_that_writes_no_model(graded, tmp_path, body, words):
    verdict = graded("someone", "equivalent", hand_in(tmp_path, body))["equivalent"]
    assert verdict.outcome is (Outcome.CRASHED if body.startswith("raise") else Outcome.INCORRECT)
    assert words in full_reason(verdict)


def test_weights_that_a_function_writes_beside_its_file_are_taken_in(graded, tmp_path):
    verdict = graded("someone", "equivalent", hand_in(tmp_path, OUTSIDE))["equivalent"]
    assert "is a product of 1x432x90: the limit is 64x64x64" in full_reason(verdict)


@pytest.mark.parametrize("outside", [{}, {"all_tensors_to_one_file": False}, {"location": "weights of/mine"}])
def test_a_file_handed_in_is_measured_like_one_that_is_written(graded, grader, tmp_path, outside):
    place = hand_in(tmp_path, "pass") / "someone"
    (place / "hw2_3.py").unlink()
    (place / "weights of").mkdir()
    model = onnx.load(grader.oracle.file(SMALL))
    onnx.save(model, place / "alexnet_tiled.onnx", save_as_external_data=bool(outside), size_threshold=0, **outside)
    assert len(list(place.rglob("*"))) > 2 or not outside
    verdict = graded("someone", "equivalent", tmp_path)["equivalent"]
    assert "is a product of 1x432x90: the limit is 64x64x64" in full_reason(verdict)


def test_a_verification_is_judged_by_what_it_lets_through(graded):
    assert graded("tiling-exemplar", "2-3-4-verification")["tells-right-from-wrong"].outcome is Outcome.CORRECT
    verdict = graded("tiling-swapped", "2-3-4-verification")["tells-right-from-wrong"]
    assert verdict.outcome is Outcome.PARTIAL
    assert "'a product over 64', 'a tile scaled by 1.0001'" in full_reason(verdict)


@pytest.mark.parametrize(
    ("verify", "words"),
    [
        ("return False", "3 of 3 right files are not accepted"),
        ("raise KeyError(a)", "failed: KeyError"),
        ("a = None; return a", "neither true nor false"),
        ("return True", "0 of 14 wrong files are rejected"),
        ("return 'right' in b", "3 of 3 right files are not accepted"),
    ],
)
def test_verifications_that_do_not_verify(graded, tmp_path, verify, words):
    place = hand_in(tmp_path, "pass") / "someone" / "hw2_3.py"
    place.write_text(f"def verify(a, b):\n    {verify}\n", encoding="utf-8")
    verdict = graded("someone", "2-3-4-verification", tmp_path)["tells-right-from-wrong"]
    assert verdict.outcome is Outcome.INCORRECT
    assert words in full_reason(verdict)


@pytest.mark.parametrize(
    ("model", "shape"), [("linear/mlp.onnx", (3, 150)), ("linear/classifier.onnx", (2, 3, 24, 24))]
)
def test_the_engine_s_own_tilings_are_what_their_names_say(tmp_path, model, shape):
    from reference._tiling.prove import prove

    linear.make(model, tmp_path / "o.onnx", {"shape": shape, "options": {}, "weight_seed": 1})
    for name in tilings.NAMES:
        tilings.make(tmp_path / "o.onnx", name, tmp_path / "t.onnx")
        assert prove(tmp_path / "t.onnx", tmp_path / "o.onnx").is_proved == name.startswith("right: "), name
    assert sorted(linear.numbered_tilings().values()) == sorted(tilings.NAMES)
