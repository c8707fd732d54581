"""What students wrote as it stands on a page: rendered in the jail, sanitised, the block that was read marked."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from helpers import warm

from labgrade.answers.reader.asks import Ask
from labgrade.answers.rendering import as_html, as_pixels
from labgrade.core.results import Submission
from labgrade.core.task import Limits
from labgrade.desk.sanitise import Renderer, ShownPassage, ask_reader, sanitised, split, with_pictures

REPORT = (
    "[a/report.md:10]\n# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\n"
    "[report.txt:1]\nOther *words*\n<b>__init__</b>"
)
PNG = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde"
    b"\0\0\0\x0cIDATx\x9cc\xf8\xcf\xc0\0\0\x03\x01\x01\0\xc9\xfe\x92\xef\0\0\0\0IEND\xaeB`\x82"
)


def test_a_report_is_shown_part_by_part_with_the_line_that_was_read(tmp_path):
    one, other = Direct(None, tmp_path).passages(REPORT, "a/report.md:14, under 2-1")
    assert (one.place, one.read_line) == ("a/report.md, line 10", "| 1 | 2 |")
    assert '<tr class="read-here">\n<td>1</td>' in one.html
    assert one.html.count("read-here") == 1
    assert (other.place, other.read_line) == ("report.txt, line 1", "")
    _, other = Direct(None, tmp_path).passages(REPORT, "report.txt:2")
    marked = '<span class="read-here">&lt;b&gt;__init__&lt;/b&gt;</span>'
    assert other.html == f'<pre class="typed">Other *words*\n{marked}</pre>'


def test_a_text_without_places_is_one_part():
    assert split("words [x.md:5]\n[a.md:7]\nmore") == [("", 1, "words [x.md:5]\n[a.md:7]\nmore")]


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("<b>x</b><script>y</script>", "<p>&lt;b&gt;x&lt;/b&gt;&lt;script&gt;y&lt;/script&gt;</p>"),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>"),
        ("[x](http://e.example/?a=1&b)", "<p>x <em>(http://e.example/?a=1&amp;b)</em></p>"),
        ("![p<q](http://e.example/x.png)", "<p><em>[picture: p&lt;q (http://e.example/x.png)]</em></p>"),
        ("a\u202eb", "<p>a\\u202eb</p>"),
        ("# one\n## two", "<h3>one</h3>\n<h3>two</h3>"),
    ],
)
def test_nothing_in_markdown_acts_loads_or_leads_away(typed, shown):
    assert sanitised(as_html(typed)).strip() == shown


@pytest.mark.parametrize(
    "html",
    [
        '<a href="http://e.example">x</a>',
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        '<p style="color:red" onclick="x()" id="mark">x</p>',
        '<ol start="javascript:1"><li class="card">x</li></ol>',
        "<form action=/decide><input name=key></form>",
        "<svg><style>@import url(//e.example)</style></svg>",
    ],
)
def test_whatever_comes_out_of_the_jail_only_harmless_elements_stay(html):
    made = sanitised(html)
    for bad in ("<a", "<script", "alert", "<img", "style", "onclick", "id=", "start", 'class="card"', "<form", "<svg"):
        assert bad not in made


@pytest.mark.slow
def test_the_jail_renders_text_and_pictures_and_what_takes_too_long_stays_as_typed(tmp_path, monkeypatch):
    (tmp_path / "dot.png").write_bytes(PNG)
    (tmp_path / "bad.png").write_bytes(PNG[:20])
    (tmp_path / "x.svg").write_text("<svg onload='x()'/>")
    empty = tmp_path / "empty"
    empty.mkdir()
    with warm.runner() as runner:
        shown = Renderer(runner, empty)
        assert shown.html("**x**") == "<p><strong>x</strong></p>\n"
        monkeypatch.setattr("labgrade.desk.sanitise._LIMITS", Limits(seconds=0.5, memory=512 << 20))
        endless = shown.html("![](x" * 100_000)  # takes the square of its length: minutes
        monkeypatch.undo()
        assert endless.startswith('<pre class="typed">![](x![](x')
        files = ("bad.png", "dot.png", "x.svg")
        bad, pixels, drawing = (
            ask_reader(runner, tmp_path, files, Ask(wanted="picture", about=name)) for name in files
        )
        shown.close()
    assert isinstance(pixels, np.ndarray)
    assert (pixels.shape, pixels.dtype) == ((1, 1, 4), np.uint8)
    assert "no picture" in bad
    assert "no picture" in drawing


def test_a_picture_of_too_many_pixels_is_not_opened(tmp_path):
    import io

    from PIL import Image

    data = io.BytesIO()
    Image.new("1", (9000, 9000)).save(data, "PNG")
    (tmp_path / "bomb.png").write_bytes(data.getvalue())
    found = as_pixels(Submission(name="s", folder=tmp_path, files=("bomb.png",)), "bomb.png")
    assert found == "it has 9,000 x 9,000 pixels, which is more than is shown"


class Direct(Renderer):
    def _render(self, text, line):
        return sanitised(as_html(text, line))


def test_what_is_far_from_the_line_that_was_read_is_folded_up(tmp_path):
    lines = [f"<{n}>" for n in range(100)]
    for name in ("report.txt", "report.md"):
        text = f"[{name}:1]\n" + "\n".join(lines)
        (passage,) = Direct(None, tmp_path).passages(text, f"{name}:51")
        before, _, rest = passage.html.partition("</details>")
        here, _, behind = rest.partition("<details>")
        assert "48 lines before" in before
        assert "47 lines behind" in behind
        assert [n for n in range(100) if f"&lt;{n}&gt;" in here] == list(range(48, 53)), name
        assert "read-here" in here
        assert [passage.html.count(f"&lt;{n}&gt;") for n in range(100)] == [1] * 100
        (short,) = Direct(None, tmp_path).passages("\n".join([f"[{name}:1]", *lines[:9]]), f"{name}:4")
        assert "details" not in short.html


ROWS = "".join(f"| {n} | {n * n} |\n" for n in range(30))
TENSOR = "tensor([[" + "\n".join(f"0.{n}, 0.1, 0.2, 0.3," for n in range(30)) + "]])\n"


@pytest.mark.parametrize(
    "long", [f"| a | b |\n|---|---|\n{ROWS}", f"```\n{TENSOR}```\n", TENSOR, "~~~\n" + "x\n" * 30 + "~~~\n"]
)
def test_what_is_long_and_no_prose_is_folded_up_and_the_rest_is_not(tmp_path, long):
    said = "All of it is memory.\n\n" + long + "\nSo *more* of it is needed.\n"
    (passage,) = Direct(None, tmp_path).passages(said, "")
    before, _, rest = passage.html.partition("<details>")
    data, _, behind = rest.partition("</details>")
    assert "All of it" in before
    assert "<details" not in behind
    assert "<em>more</em>" in behind
    assert "memory" not in data
    assert data.startswith("<summary>3")
    assert "details" not in Direct(None, tmp_path).passages("```\n" + "words of it\n" * 30, "")[0].html
    short = "All of it.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    assert "details" not in Direct(None, tmp_path).passages(short, "")[0].html


def test_a_row_that_was_read_has_the_head_of_its_table_and_code_stays_code(tmp_path):
    table = f"[r.md:1]\n| name | square |\n|---|---|\n{ROWS}"
    (passage,) = Direct(None, tmp_path).passages(table, "r.md:20")
    here = passage.html.split("</details>")[1].split("<details>")[0]
    assert (here.count("<th>name</th>"), here.count("<tr")) == (1, 6)
    assert '<tr class="read-here">\n<td>17</td>' in here
    code = "[r.md:1]\n```python\n" + "".join(f"a_{n} = *p*\n" for n in range(30)) + "```\n*end*"
    (passage,) = Direct(None, tmp_path).passages(code, "r.md:15")
    assert passage.html.count("*p*") == 30
    assert passage.html.count("<em>") == 1


def test_what_stands_within_another_part_is_shown_once_and_others_are_folded_up(tmp_path):
    text = "[a.md:1]\none\n\ntwo\n\n[a.md:3]\ntwo\n\n[b.md:1]\nother"
    one, other = Direct(None, tmp_path).passages(text, "a.md:3")
    assert (one.path, other.path) == ("a.md", "b.md")
    assert other.html.startswith("<details><summary>1 lines beside it<")


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("![a plot](figs/a.png)", 1),
        ("![](./figs/../figs/a%20b.png)", 2),
        ("![](../top.png)", 0),
        ("![<b>](figs/a.png)", 1),
        ("*[picture: as if (figs/a.png)]*", 1),
        ("![](figs/none.png)", None),
        ("![](http://e.example/figs/a.png)", None),
        ('![x" onerror="y](figs/a.png)', None),
        ("![](../../top.png)", None),
    ],
)
def test_a_picture_that_was_handed_in_stands_in_its_place(typed, number):
    passage = ShownPassage(path="doc/report.md", place="", html=sanitised(as_html(typed)))
    names = ("top.png", "doc/figs/a.png", "doc/figs/a b.png")
    html = with_pictures(passage, names, lambda found: f"/picture?number={found}").html
    shown = [] if number is None else [f"/picture?number={number}"]
    assert re.findall(r'<img src="([^"]*)" alt="[^"<>]*" loading="lazy">', html) == shown
    assert html.count("<img") == len(shown)


def test_what_is_rendered_ahead_is_rendered_once_and_what_nobody_waits_for_any_more_is_left(tmp_path):
    begun, go_on, made = threading.Event(), threading.Event(), []

    class Slow(Renderer):
        def _render(self, text, line):
            made.append(text.strip())
            begun.set()
            assert go_on.wait(10)
            return sanitised(text)

    renderer = Slow(None, tmp_path)
    renderer.ahead((text, "") for text in ("one", "two", "three"))
    assert begun.wait(10)
    with ThreadPoolExecutor() as pool:
        shown = pool.submit(renderer.passages, "one", "")
        renderer.ahead((text, "") for text in ("four",))
        go_on.set()
        assert "one" in shown.result()[0].html
    renderer._later.shutdown()
    assert [text.splitlines()[0] for text in made] == ["one", "four"]
