"""Pictures to hand in: one that shows nothing is wrong, anything else is for a person to see."""

import io

import PIL.Image
import pytest
from helpers import own_course

SPEC = """
id: drawn
title: The graph
points: 1
statement: Draw it.
answers:
  graph: {type: image, file: graph.png}
checks:
  - {id: graph, points: 1, answer: graph, by_hand: [{points: 1, for: all of it can be read}]}
"""


def png(width, height, *, ink=True, mode="RGB"):
    picture = PIL.Image.new(mode, (width, height), "white")
    if ink:
        picture.paste("black", (0, 0, width // 2, height // 2))
    whole = io.BytesIO()
    picture.save(whole, format="png")
    return whole.getvalue()


HANDED_IN = {
    "right": (png(300, 200), "MANUAL", ""),
    "blank": (png(300, 200, ink=False), "INCORRECT", "'graph.png': it is of one colour"),
    "tiny": (png(8, 8), "INCORRECT", "'graph.png': it has 8 x 8 pixels, which show nothing"),
    "cut": (png(300, 200)[:90], "MANUAL", ""),
    "vector": (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "MANUAL", ""),
    "wide": (png(9_000, 5_000, mode="1"), "MANUAL", ""),
}


@pytest.mark.slow
def test_what_a_picture_shows(tmp_path):
    files = {f"submissions/{who}/graph.png": data for who, (data, *_) in HANDED_IN.items()}
    with own_course.grading(own_course.write(tmp_path, {"specs/lab/drawn.yaml": SPEC, **files})) as grade:
        for who, (_, outcome, reason) in HANDED_IN.items():
            verdict = grade(who)["drawn.graph"]
            assert (str(verdict.outcome), verdict.reason) == (outcome, reason), who
