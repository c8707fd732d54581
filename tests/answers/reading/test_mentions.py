"""What a report says of a task by its number where no heading has it: on lines, in lists, in tables."""

import pytest
from helpers.linear import takes_linear_time

from labgrade.answers.reading.documents import Document
from labgrade.answers.reading.passages.mentions import names_tasks, of_task, spoken_of


def told(text, task="2-1-4"):
    document, spans = of_task(Document(path="report.md", text=text), (task,))
    return "".join(document.text[span.start : span.end] for span in spans).strip(" \n*.:=]_|")


def spoken(text, task="2-1-4"):
    found = spoken_of(Document(path="report.md", text=text), (task,))
    return found and found.text.strip()


@pytest.mark.parametrize(
    "line",
    [
        "- [x] **2-1-4** {}",
        "* [ ] 2-1-4 {}",
        "(f) 2-1-4 {}",
        "| 2-1-4 {} |",
        "| 3 | 2-1-4 | {} |",
        "**13.11.** 2-1-4: {}",
        "2026-10-30 22:14 [2-1-4] {}",
        "2-1-2: 26,499,616 bytes. 2-1-4: {}",
        "& 2-1-4 & {} \\\\",
        "\u2192 HW2-1-4 = {}",
    ],
)
@pytest.mark.parametrize("end", ["2-1-5: 7", "\n## Notes\n7", "- [ ] **2-1-5** 7", "===== 2-1-5 =====\n7"])
def test_what_stands_behind_a_number_up_to_the_next_one(line, end):
    said = told(f"# HW 2\n2-1-1: 5\n\n{line.format('1,498,326,192 in all')}\n{end}\n")
    assert "1,498,326,192 in all" in said
    assert "7" not in said


@pytest.mark.parametrize("line", ["===== 2-1-4 =====", "** 2-1-4", "> [!question] 2-1-4", "1. **2-1-4**"])
def test_a_number_alone_on_its_line_leads_all_up_to_the_next_one(line):
    text = f"{line}\na 5\n\nb 6\n{line.replace('2-1-4', '2-1-5')}\nc 7\n"
    assert told(text).split() == ["a", "5", "b", "6"]


@pytest.mark.parametrize("line", ["> [!question] 2-1-4\n> `out` gives 5", "> (a) 2-1-4: gives 5"])
def test_a_box_is_no_quotation(line):
    assert not told(line).startswith(">")
    assert told(line).endswith("gives 5")


def test_what_a_line_says_ends_with_its_paragraph():
    assert told("(a) 2-1-4: 5\n  of them 3\n\nAll was hard: 9\n") == "5\n  of them 3"
    assert told("(a) 2-1-4. I count them.\n\nThere are 9.\n").endswith("There are 9")


@pytest.mark.parametrize(
    "line",
    ["as in 2-1-4 above", "the parameters of 2-1-4 times 4", "see 2-1-4: 5", "torch 2.1.4", "hw2-1-4-output.txt"],
)
def test_a_mention_in_passing_leads_nothing(line):
    assert told(f"## 2-1-2\n{line}\n") == ""


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("total,119445.696,KB", "total: 119445.696 KB"),
        ("total,5,", "total: 5"),
        ("total,1,234,567", ",total,1,234,567"),
    ],
)
def test_rows_of_a_csv_say_what_how_many_and_the_unit(row, said):
    assert told(f"```\npart,what,number,unit\n2-1-2,weights,5,MB\n2-1-4,{row}\n```\n").split("\n")[0].strip() == said


def test_lines_keep_their_numbers():
    document, _ = of_task(Document(path="report.md", text="# HW\n\n2-1-1: 3\n\n2-1-4: 5\n"), ("2-1-4",))
    assert document.line(document.text.index("5")) == 5


def test_a_section_wins_over_lines_that_say_more():
    assert told("(a) 2-1-4: 5\n\n# 2-1-4\nsix\n") == "six"


ROWS = "| Task | MB |\n|---|---|\n| 2-1-2 weights | 7 |\n| 2-1-4 all | 5 |\n| 2-1-4 largest | 4 |\n| 2-1-5 | 8 |\n"


def test_rows_of_a_task_stand_beneath_the_head_of_their_table():
    rows = [row for row in told(ROWS).split("\n") if row != "|---|"]
    assert [row.split("|")[1:3] for row in rows[1:]] == [["  all ", " 5 "], ["  largest ", " 4"]]
    assert rows[0] == "Task | MB |"


COLUMNS = "| | 2-1-2 | 2-1-4 all | 2-1-4 largest |\n|---|--:|--:|--:|\n| mine | 7 | 5 | 4 |\n"


def test_columns_of_a_task():
    assert [row for row in told(COLUMNS).split("\n") if "---" not in row] == ["all | largest |", "| mine | 5 | 4"]
    with_units = told(f"{COLUMNS}| unit | MB | G | KB |\n")
    assert with_units.split("\n")[0] == "all (G) | largest (KB) |"


def test_columns_with_several_rows_are_a_persons_to_read():
    text = f"{COLUMNS}| theirs | 7 | 6 | 3 |\n"
    assert told(text) == ""
    assert "| theirs | 6 | 3 |" in spoken(text)


def test_lines_that_speak_of_a_task():
    assert spoken("In all (2-1-4) there are 5.\nSo many!\n\n9\n") == "In all (2-1-4) there are 5.\nSo many!"
    assert spoken("As in 2-1-4.\n\nFor 2-1-2, twice that of 2-1-4.\n").startswith("As in 2-1-4.")
    assert spoken("All (2-1-4): 5\nThe rest (2-1-5): 6\n") == "All (2-1-4): 5"
    assert spoken("## 2-1-4 MACs\n\n## 2-1-5\n") is None
    assert spoken("## 2-1-5\n5\n") is None


@pytest.mark.parametrize(("text", "named"), [("- [x] **2-1-4** 5", True), ("# 2-1-4", True), ("as in 2-1-4", False)])
def test_whether_a_report_names_its_tasks(text, named):
    assert names_tasks(Document(path="report.md", text=text)) is named


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["2-1-4 ", "2-1-4\n", "|2-1-4|2-1-5|\n", "a 2-1-4: 5\n", "| 2-1-4 | 5 |\n", "(2-1-4)"]
)
def test_hostile_text_takes_linear_time(piece):
    def work(size):
        document = Document(path="report.md", text=piece * (size // len(piece)))
        of_task(document, ("2-1-4",))
        spoken_of(document, ("2-1-4",))

    assert takes_linear_time(work, 1_000_000, parts=256)
