"""A file on which labgrade failed is kept for us, with what lies beside it; never too much of it."""

import pytest

from labgrade.core.results import Answer
from labgrade.truth import measure
from labgrade.truth.measure import with_case
from labgrade.values import Artifact
from labgrade.verdict import Outcome, incorrect, without_value


@pytest.fixture
def cases(tmp_path, monkeypatch):
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "failed-on"


def handed_in(tmp_path, content=b"not quite a model"):
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    return Answer(value=Artifact(path=path, name="hw/model.onnx"), origin="a file")


def failed():
    return without_value(Outcome.FAULT, "labgrade contradicts itself", fault="off by 3; seed 7")


def test_the_file_of_a_failure_is_kept_and_its_place_said(tmp_path, cases):
    answer = handed_in(tmp_path)
    said = with_case(failed(), answer).facts["fault"]
    (kept,) = cases.iterdir()
    assert said == f"off by 3; seed 7; the file is kept as failed-on/{kept.name} in labgrade's cache"
    assert (kept / "model.onnx").read_bytes() == answer.value.path.read_bytes()


def test_one_file_is_kept_once(tmp_path, cases):
    for _ in range(3):
        with_case(failed(), handed_in(tmp_path))
    assert len(list(cases.iterdir())) == 1


def test_no_file_is_kept_of_what_is_no_failure_of_ours(tmp_path, cases):
    verdict = incorrect("two tiles are swapped")
    assert with_case(verdict, handed_in(tmp_path)) is verdict
    assert not cases.exists()


def test_neither_many_files_nor_a_large_one_is_kept(tmp_path, cases, monkeypatch):
    monkeypatch.setattr(measure, "_MOST_CASES", 2)
    said = [with_case(failed(), handed_in(tmp_path, content)).facts["fault"] for content in (b"1", b"2", b"3")]
    assert ["kept" in each for each in said] == [True, True, False]
    monkeypatch.setattr(measure, "_LARGEST_CASE", 3)
    assert "kept" not in with_case(failed(), handed_in(tmp_path, b"1234")).facts["fault"]
    assert len(list(cases.iterdir())) == 2
