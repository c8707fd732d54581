import pytest
from helpers.linear import takes_linear_time

from labgrade.answers.reading.documents import Document
from labgrade.answers.reading.passages.sections import sections


def under(text, *path):
    document = Document(path="report.md", text=text)
    return [text[span.start : span.end].strip() for span in sections(document, path)]


@pytest.mark.parametrize(
    "heading",
    [
        "### 2-1-4. Computation requirements\uff1a",
        "## 2-1-4",
        "# HW 2-1-4: MACs",
        "## HW 2-1-4\uff1a\u8a08\u7b97",
        "### hw2-1-4",
        "### 2.1.4 MACs",
        "### **2-1-4** MACs",
        "### [2-1-4] MACs",
        "### \u30102-1-4\u3011MACs",
        "**2-1-4 MACs**",
        "__2-1-4. MACs__:",
        "2-1-4. Calculate computation requirements",
        "2-1-4 MACs",
        "2-1-4",
        "HW 2-1-4",
        "Lab 2-1-4: MACs",
        "[2-1-4] Calculate computation requirements",
        "> ### 2-1-4 MACs",
        "2-1-4 MACs\n==========",
        "2-1-4 MACs\n---",
        "## 2-1-{3,4} both",
        "<h3>2-1-4. Computation</h3>",
        "<h3 align='center'><b>2-1-4</b></h3>",
        "### <font color='blue'>2-1-4. Computation</font>",
        "<font color='blue'>2-1-4. Computation</font>",
        "<details><summary>2-1-4. Computation</summary>",
        "***2-1-4. Computation***",
        "**2-1-4** Calculate computation requirements",
        "**2-1-4.**",
        "### \U0001f4cc 2-1-4. Computation",
        "### 2\\-1\\-4\\. Computation",
        "### \uff12\uff0d\uff11\uff0d\uff14 Computation",
        "\uff12\uff0d\uff11\uff0d\uff14 Computation",
        "### 2_1_4 Computation",
        "###2-1-4. Computation",
        "### Answer to 2-1-4",
        "## Q4 (2-1-4)",
        "## Q4 / 2-1-4",
        "### 4. 2-1-4 MACs",
        "### Answer for Question 2-1-4: MACs",
        "- 2-1-4. Computation",
        "* **2-1-4** Computation",
        r"\section{2-1-4 Computation}",
        r"\subsection*{2-1-4. Computation}",
    ],
)
@pytest.mark.parametrize("end", ["### 2-1-5 next", "2-1-5. next", "[2-1-5] next", "**2-2-1**", "# 3-1"])
def test_a_heading_in_every_dress(heading, end):
    assert under(f"before\n\n{heading}\nfive\n{end}\nsix\n", "2-1-4") == ["five"]


@pytest.mark.parametrize(
    "heading",
    [
        "### 2-1-41 MACs",
        "### 2-1-414 MACs",
        "### 2-1-4a MACs",
        "### 12-1-4",
        "2-1-4-2 MACs",
        "### 2-1 MACs",
        "As in 2-1-4 MACs",
        "<td>2-1-4</td>",
        "#2-1-40 MACs",
        "<h3>12-1-4</h3>",
    ],
)
def test_near_misses(heading):
    assert under(f"{heading}\nfive\n", "2-1-4") == []


def test_a_section_holds_its_parts_but_not_its_neighbours():
    text = "# 2-1\na\n## 2-1-4\nb\n### Result\nc\n## 2-1-5\nd\n# 2-2\ne\n"
    assert under(text, "2-1-4") == ["b\n### Result\nc"]
    assert under(text, "2-1") == ["a\n## 2-1-4\nb\n### Result\nc\n## 2-1-5\nd"]


def test_a_section_ends_at_a_heading_as_high():
    assert under("### 2-1-4\na\n### Notes\nb\n", "2-1-4") == ["a"]
    assert under("### 2-1-4\na\n# Appendix\nb\n", "2-1-4") == ["a"]


@pytest.mark.parametrize("heading", ["### 2-1-4", "## 2-1-4", "<h3>2-1-4</h3>"])
def test_a_deeper_heading_with_a_number_of_another_kind_ends_nothing(heading):
    parts = "#### 2.1 Method\na\n**2.2 Result**\nb"
    assert under(f"{heading}\n{parts}\n", "2-1-4") == [parts]
    assert under(f"{heading}\na\n#### 2-1-5\nb\n", "2-1-4") == ["a"]
    assert under(f"{heading}\na\n**2-1-5**\nb\n", "2-1-4") == ["a"]
    assert under(f"{heading}\na\n## 2-2\nb\n", "2-1-4") == ["a"]


@pytest.mark.parametrize("line", ["# of MACs: 5,000", "# Total MACs: 1498376192", "## Total MACs = **5,000**"])
def test_a_line_that_says_a_value_is_no_heading(line):
    assert under(f"### 2-1-4\n{line}\n", "2-1-4") == [line]


@pytest.mark.parametrize("line", ["**2-1-4** Total MACs: 1,498,376,192", "### 2-1-4 Total MACs = 1.498 G"])
def test_a_value_on_the_line_of_a_number_belongs_to_its_section(line):
    assert under(f"{line}\n### 2-1-5\n5", "2-1-4") == [line]


def test_a_heading_may_stand_above_several_tasks():
    text = "## 2-2-1 / 2-2-2, 2-2-3\nall of it\n## 2-3-1\n"
    assert [under(text, number) for number in ("2-2-1", "2-2-2", "2-2-3")] == [["all of it"]] * 3


def test_a_section_with_a_word_for_its_number_ends_at_the_next_task():
    assert under("## 2-2-own-model\nas in Netron\n\n## 2-2-2\nb\n", "2-2-own-model") == ["as in Netron"]


def test_the_same_heading_twice_gives_both_parts():
    assert under("## 2-1-4\na\n## 2-1-5\nb\n[2-1-4] output\nc\n", "2-1-4") == ["a", "c"]
    assert under("## 2-1-4\na\n[2-1-4] output\nc\n", "2-1-4") == ["a\n[2-1-4] output\nc"]


def test_fences_hide_comments_but_not_the_labels_of_results():
    text = "## 2-1-4\na\n```python\n# 2-1-5 a comment\nb\n```\nc\n```text\n[2-1-5] label\nd\n```\n"
    assert under(text, "2-1-4") == ["a\n```python\n# 2-1-5 a comment\nb\n```\nc\n```text"]
    assert under(text, "2-1-5") == ["d\n```"]


def test_a_fence_is_closed_by_its_own_kind():
    assert under("````\n```\n## 2-1-4\n````\n## 2-1-4\na\n", "2-1-4") == ["a"]
    assert under("~~~\n```\n~~~\n## 2-1-4\na\n", "2-1-4") == ["a"]


def test_comments_of_a_program_that_lost_its_fence_end_nothing():
    text = "# 2-1-4 MACs\n# iterate sorted\nfor layer in sorted(layers):\n# done\nprint(total)\nTotal MACs: 5\n"
    assert under(text, "2-1-4")[0].endswith("Total MACs: 5")


def test_rules_of_a_printed_table_are_no_headings():
    text = "## 2-1-3\n=====\nLayer  Params\n=====\nfc  5\n=====\nTotal params: 5\n=====\nend\n"
    assert under(text, "2-1-3") == [text.partition("\n")[2].strip()]


def test_numbers_and_shapes_at_the_start_of_a_line_are_no_headings():
    text = "2-1-4 MACs\n1.50 GMac\n[1, 64, 112, 112]\n26.50 MB\n2024-03-01 10:00\n"
    assert under(text, "2-1-4") == [text.partition("\n")[2].strip()]


def test_a_path_of_headings():
    text = "# Lab 1\n## 1. A\na\n# Lab 2\n## 1. B\nb\n## 2. C\nc\n"
    assert under(text, "Lab 2", "1") == ["b"]
    assert under(text, "Lab 1", "1") == ["a"]


@pytest.mark.parametrize(
    "heading", ["Lab 1, {}: Rates", "Lab 1, Question {}", "Lab 1 Task {} - Rates", "HW1, {}", "實驗 1，{}"]
)
def test_a_question_of_a_lab(heading):
    text = "".join(f"## {heading.format(number)}\n{number}\n" for number in (1, 2, 3))
    assert under(f"# My Lab 1 report\n{text}# Lab 2\n## 2. More\n4\n", "1-2") == ["2"]


@pytest.mark.parametrize(
    "heading", ["Lab 1, 2 and 3", "Lab 1, 2024", "Lab 1, 2-3-1", "Lab 1, 2.5 epochs", "Lab 1, 2, 3"]
)
def test_other_numbers_behind_a_lab_are_no_question_of_it(heading):
    assert under(f"## {heading}\na\n", "1-2") == []


def test_headings_of_words():
    text = "# Results\na\n# Resultant\nb\nResults:\nc\n"
    assert under(text, "results") == ["a", "c"]


@pytest.mark.parametrize(
    "heading", ["## 1. Sizes (eff-sizes)", "## Sizes \u2013 eff-sizes", "## eff-accuracy, eff-sizes"]
)
def test_a_heading_may_have_a_tasks_name_anywhere(heading):
    text = f"# Report\n{heading}\n5\n## 2. The rest (eff-sizes-of-all)\n6\n"
    assert under(text, "eff-sizes") == ["5"]


def test_a_heading_may_name_two_tasks_behind_a_word():
    text = "## Monday: set-up, 2-1-3 and 2-1-1\n5\n## Tuesday\n6\n"
    assert under(text, "2-1-1") == under(text, "2-1-3") == ["5"]


def test_an_empty_path_is_everything():
    assert under("a\n# b\n") == ["a\n# b"]


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["# a\n", "\n", "a", "2-", "[2-1-4", " ", "2-1\n", "a\n---\n", "```\n", "**"])
def test_hostile_text_takes_linear_time(piece):
    def work(size):
        sections(Document(path="report.md", text=piece * (size // len(piece))), ("2-1-4",))

    assert takes_linear_time(work, 4_000_000)


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["# 2-1\nx\n# 2-2\n", "2-1\nx\n2-2\n", "# total\n# x\n", "total\n\n# x\n"])
def test_many_sections_take_linear_time(piece):
    def work(size):
        sections(Document(path="report.md", text=piece * (size // len(piece))), ("2-1", "total"))
        sections(Document(path="report.md", text=piece * (size // len(piece))), ("total", "total"))

    assert takes_linear_time(work, 160_000)


NESTED = """# Report
## HW 2-1
### 1. Parameters
one
### Q4: MACs
four
#### 2. Method
steps
## HW 2-2
### 1. Operators
operators
"""


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("2-1-1",), ["one"]),
        (("2-1-4",), ["four\n#### 2. Method\nsteps"]),
        (("2-1-4-2",), ["steps"]),
        (("2-2-1",), ["operators"]),
        (("2-1", "4"), ["four\n#### 2. Method\nsteps"]),
        (("2-1-2",), []),
        (("2-2-4",), []),
    ],
)
def test_a_number_below_another_is_both_together(path, text):
    assert under(NESTED, *path) == text


def test_a_heading_that_says_the_whole_number_wins_over_a_nested_one():
    assert under(f"{NESTED}## 2-1-4\nreal\n", "2-1-4") == ["real"]


@pytest.mark.parametrize("joint", [" ~ ", "~", " - ", " \u2013 ", " to ", "\uff5e", " \u81f3 "])
def test_a_range_of_numbers_is_each_of_them(joint):
    text = f"## 2-1-1{joint}2-1-3 answers\nall\n## 2-1-4\nfour\n"
    assert [under(text, f"2-1-{number}") for number in range(1, 5)] == [["all"], ["all"], ["all"], ["four"]]


@pytest.mark.parametrize("title", ["2-1-1 to 5 G", "2-1-3 ~ 2-1-1", "2-1-1 - 2 models", "2-1-1 ~ 2-2-3"])
def test_what_is_no_range(title):
    assert under(f"## {title}\nx\n", "2-1-2") == []


@pytest.mark.parametrize("heading", ["## Lab 2-3-3: Linear", "## Lab 2-3-3 Linear (by hand)", "## lab 2-3-3 - linear"])
def test_one_heading_may_say_a_whole_path(heading):
    text = f"{heading}\nfc1 200\n\n## Lab 2-3-3: Conv\n97344\n"
    assert under(text, "Lab 2-3-3", "Linear") == ["fc1 200"]
    nested = "## Lab 2-3-3\n### Linear\n200\n## Lab 2-3-3 Linear\n300\n"
    assert under(nested, "Lab 2-3-3", "Linear") == ["200"]
    assert under("## Lab 2-3-3 Linearity\n200\n", "Lab 2-3-3", "Linear") == []
