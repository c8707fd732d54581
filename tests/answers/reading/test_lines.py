"""Lines as typed pieces, what labels a number, and markup that other programs write."""

import pytest
from helpers.linear import takes_linear_time

from labgrade.answers.reading.documents import Document
from labgrade.answers.reading.lines import read_lines
from labgrade.answers.reading.markup import plain_markup
from labgrade.answers.reading.passages.sections import Span
from labgrade.answers.reading.words.vocabulary import concepts, labels
from labgrade.judging.texts.unread import first_number
from labgrade.values import Number


def read(text, title=""):
    whole = f"{title}\n{text}"
    return read_lines(Document(path="report.md", text=whole), (Span(start=len(title), end=len(whole)),))


def labelled(text, title=""):
    """Each number with what labels it."""
    pieces = [piece for line in read(text, title) for piece in line.pieces if isinstance(piece.value, Number)]
    return [(int(piece.value.value), set(piece.said)) for piece in pieces]


def test_a_cell_of_a_notebook_is_code():
    """Or a notebook of functions speaks of every task: `n = 0` may be an answer anywhere else."""
    text = "```python\nn = 0\n# total: 5 M\n```\nn = 0\n```\nn = 7\n```"
    kept = {}
    for path in ("a.ipynb", "report.md"):
        found = read_lines(Document(path=path, text=text), (Span(start=0, end=len(text)),))
        kept[path] = [line for line in found if any(isinstance(each.value, Number) for each in line.pieces)]
    assert [line.code for line in kept["a.ipynb"]] == [True, True, False, False]
    assert [line.code for line in kept["report.md"]] == [False, True, False, False]
    assert first_number(kept["a.ipynb"][:1]) is None
    assert first_number(kept["a.ipynb"]).number == 5
    assert first_number(kept["report.md"][:1]).number == 2


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("Total parameters: 6,624,904", [(6_624_904, {"total", "parameters"})]),
        ("It has 6,624,904 parameters.", [(6_624_904, {"parameters"})]),
        ("trainable 5,000; non-trainable 7,000", [(5000, {"trainable"}), (7000, {"frozen"})]),
        ("100 nodes of 6 different types", [(100, {"operators"}), (6, {"types"})]),
        ("6,624,904 * 4 = 26,499,616 bytes", [(26_499_616, {"memory"})]),
        ("Total data moved = 1 x 119445696 Bytes", [(119_445_696, {"total", "traffic", "memory"})]),
        ("ResNet needs 1,000,000 MACs", [(1_000_000, {"macs"})]),
        ("17 in-place ReLU modules are called 49 times", [(17, {"modules"}), (49, {"calls"})]),
        ("Of the ReLUs 17 are in place and called 49 times.", [(17, {"modules"}), (49, {"calls"})]),
        ("There are 17 `nn.ReLU(inplace=True)`, run 49 times.", [(17, {"modules"}), (49, {"calls"})]),
        ("49 calls of 17 modules", [(49, {"calls"}), (17, {"modules"})]),
    ],
)
def test_words_label_the_number_that_they_stand_with(line, found):
    assert labelled(line) == found


@pytest.mark.parametrize(
    "row", ["| Memory of weights (MiB) | 25 | 2000 |", "| Memory | 25 | MiB | 7 |", "| Memory | MiB | 25 | 7 |"]
)
def test_a_row_says_the_unit_of_its_numbers(row):
    assert labelled(f"| What | one | two | three |\n|---|---|---|---|\n{row}")[0][0] == 25 * 2**20


def test_a_heading_labels_what_nothing_else_does():
    assert labelled("1498376192", "## 2-1-4 MACs") == [(1_498_376_192, {"macs"})]
    assert labelled("FLOPs: 1498376192", "## 2-1-4 MACs") == [(1_498_376_192, {"flops"})]


@pytest.mark.parametrize(
    ("wanted", "said", "is_one"),
    [
        ("Total parameters", "全部參數", True),
        ("Total parameters", "Trainierbare Parameter", False),
        ("Trainable parameters", "entrenables", True),
        ("Non-trainable parameters", "학습 불가능 파라미터", True),
        ("Trainable parameters", "不可訓練參數", False),
        ("Total MACs", "FLOPs", False),
        ("Total MACs", "Gesamt", True),
        ("Weight memory", "Speicherbedarf der Gewichte", True),
        ("Weight memory", "Parameter count", False),
        ("Weight memory", "Speicher für die Aktivierungen", False),
        ("Activation memory", "特徵圖 activation 記憶體", True),
        ("Total traffic", "Ancho de banda", True),
        ("Total traffic", "peak bandwidth", False),
        ("Different types", "kinds of operators", True),
        ("Total operators", "different types of nodes", False),
    ],
)
def test_the_same_in_other_words(wanted, said, is_one):
    assert labels(concepts(wanted), concepts(said)) is is_one


@pytest.mark.parametrize(
    ("markup", "plain"),
    [
        ("26&nbsp;499&nbsp;616", "26\u00a0499\u00a0616"),
        ("<tr><td>Conv2d</td><td>52</td></tr>", "| Conv2d | 52 |\n"),
        ("<tr><td>1</td></tr>\n<tr>\n<td>2</td>\n</tr>\n", "| 1 |\n| 2 |\n|\n|\n"),
        ("<tr>\n<th>type</th>\n<th>n</th>\n</tr>", "| type | n |\n|---|---|\n|\n"),
        (r"Conv2d & 52 \\ \hline", "| Conv2d | 52 |"),
        (r"conv\_1 & \textbf{52} \\", "| conv_1 | 52 |"),
        ("if (a & b) { return; } \\\\", "if (a & b) { return; } \\\\"),
    ],
)
def test_markup_in_plain_form(markup, plain):
    made = plain_markup(markup)
    assert [each.split() for each in made.split("\n") if each] == [each.split() for each in plain.split("\n") if each]


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    ["conv1.conv 12 [1, 64] ", "| 1 ", "<tr><td>1", "1 x 2 = 3; ", "Total MACs ", "14億", "a & 1 \\\\\n", "&nbsp;1"],
)
@pytest.mark.parametrize("end", ["", "\n"])
def test_lines_take_linear_time(unit, end):
    def work(size):
        text = plain_markup(f"{unit}{end}" * (size // len(unit)))
        read(text)

    assert takes_linear_time(work, 400_000, parts=1024)
