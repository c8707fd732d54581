"""LaTeX as its reader sees it, as far as values go; lines stay where they are."""

import pytest

from labgrade.answers.reading.markup import plain_latex


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (r"Total parameters: \num{6624904}\\", "Total parameters: 6624904"),
        (r"\num[group-separator={,}]{6624904}", "6624904"),
        (r"Weight memory: \SI{26.50}{\mega\byte}", "Weight memory: 26.50 MB"),
        (r"\qty{25.27}{\mebi\byte} % checked", "25.27 MiB "),
        (r"  \item Conv: 52", "  - Conv: 52"),
        (r"\item[Conv] 52", "- Conv 52"),
        (r"\textbf{Total} MACs: 99.9\%", "Total MACs: 99.9%"),
        (r"Conv & 52 \\", r"Conv & 52 \\"),  # a row of a table
        (r"1\,498\,376\,192 \newline", r"1\,498\,376\,192 "),
    ],
)
def test_what_commands_print(written, shown):
    assert plain_latex(f"a\n{written}\nb") == f"a\n{shown}\nb"
