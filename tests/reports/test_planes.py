"""Charts of points and numbers, as a part of a page and as a file of their own."""

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from labgrade import cli
from labgrade.reports.html import planes
from labgrade.reports.html.planes import Point

KERNELS = [Point(name=f"kernel{at}", x=2.0**at, y=1e10 * 1.5**at) for at in range(9)]
MANY = [Point(name=f"{at}", x=float(at), y=float(at % 7)) for at in range(200)]


def drawn(kind):
    match kind:
        case "roofline":
            return planes.roofline(KERNELS, peak=5e11, bandwidths={"L2": 1e12, "DRAM": 2e11}, salt="a")
        case "frontier":
            return planes.frontier(MANY, x="bytes", y="accuracy", salt="b")
    counts, edges = np.histogram(np.random.default_rng(0).normal(0, 0.3, 20_000), 64)
    return planes.histogram(((edges[1:] + edges[:-1]) / 2).tolist(), counts.tolist(), step=1 / 16, salt="c")


@pytest.mark.parametrize("kind", ["roofline", "frontier", "histogram"])
def test_a_chart_is_small_and_says_its_data(kind):
    text = str(drawn(kind))
    assert len(text) < 30_000
    assert 'role="img"' in text
    assert re.search(r'aria-label="[^"]{40,}"', text)
    assert not re.search(r"#0[1-5]0[1-5]0[1-5]", text)  # every colour is the page's


@pytest.mark.parametrize("kind", ["roofline", "frontier", "histogram"])
def test_a_file_of_its_own_is_xml_with_colours_for_light_and_dark(kind):
    root = ET.fromstring(planes.standalone_svg(drawn(kind)))
    assert root.find("{http://www.w3.org/2000/svg}title").text
    assert "prefers-color-scheme:dark" in root.find("{http://www.w3.org/2000/svg}style").text


def test_the_frontier_is_of_those_that_no_other_one_beats():
    points = [Point(name=name, x=x, y=y) for name, x, y in (("a", 1, 0.5), ("b", 2, 0.8), ("c", 3, 0.7), ("d", 2, 0.6))]
    assert [each.name for each in planes.pareto_front(points)] == ["a", "b"]


def test_names_are_no_markup():
    text = planes.standalone_svg(
        planes.roofline([Point(name='<b>&"x', x=1, y=1)], peak=2, bandwidths={"m": 1}, salt="a")
    )
    assert "<b>" not in text
    ET.fromstring(text)


@pytest.mark.parametrize(
    ("name", "content", "more", "said"),
    [
        (
            "m.csv",
            "kernel,flops,bytes,seconds\na,2e9,1e8,0.01\n",
            ["--peak", "5e11", "--bandwidth", "2e11"],
            "FLOPs a byte",
        ),
        ("m.csv", "kernel,flops,bytes,seconds\na,2e9,1e8,0.01\n", [], "--peak FLOPS"),
        ("n.csv", "name,bytes,accuracy\na,10,0.5\nb,20,0.8\n", [], "accuracy against bytes"),
        ("e.csv", "name,bytes,accuracy\n", [], "no rows"),
        ("w.csv", "name,bytes,accuracy\na,ten,0.5\n", [], "can't be drawn"),
    ],
)
def test_the_command_draws_what_a_file_holds(tmp_path, capsys, monkeypatch, name, content, more, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(content)
    code = cli.main(["picture", name, *more, "--out", "p.svg"])
    out = capsys.readouterr()
    text = (tmp_path / "p.svg").read_text() if code == 0 else out.err
    assert said in text
