"""One report in each format that is no text: a heading, a number and a table of two rows."""

import io
import json
import zipfile

import matplotlib as mpl
from matplotlib.figure import Figure

ROWS = [("conv1", "1,200"), ("fc", "340")]
HEADING, SAID = "2-1-4 MACs", "Total MACs: 1,540"


def html(more=""):
    cells = "".join(f"<tr><td>{name}</td><td>{macs}</td></tr>" for name, macs in ROWS)
    whole = (
        f"<html><head><style>td {{}}</style><script>x = 5</script></head><body><h2>{HEADING}</h2>"
        f"<p><b>Total MACs</b>: 1,540</p>{more}<table><tr><th>layer</th><th>MACs</th></tr>{cells}</table></body></html>"
    )
    return whole.encode()


def notebook(*more):
    printed = {"output_type": "stream", "name": "stdout", "text": ["layer macs\n", "conv1 1,200\n", "fc 340\n"]}
    cells = [
        {"cell_type": "markdown", "source": [f"## {HEADING}\n", "\n", SAID]},
        {"cell_type": "code", "source": ["show(model)"], "outputs": [printed]},
        *more,
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}).encode()


def word():
    """A Word file as small as one can be."""

    def paragraph(said, style=""):
        look = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
        return f"<w:p>{look}<w:r><w:t>{said}</w:t></w:r></w:p>"

    cells = [("layer", "MACs"), *ROWS]
    rows = "".join(f"<w:tr>{''.join(f'<w:tc>{paragraph(cell)}</w:tc>' for cell in row)}</w:tr>" for row in cells)
    body = f"{paragraph(HEADING, 'Heading2')}{paragraph(SAID)}<w:tbl>{rows}</w:tbl>"
    office, package = "http://schemas.openxmlformats.org/", "http://schemas.openxmlformats.org/package/2006/"
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    main = f"{office}wordprocessingml/2006/main"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}content-types">'
        f'<Override PartName="/word/document.xml" ContentType="{kind}"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}relationships"><Relationship Id="a" Target="word/document.xml" '
        f'Type="{office}officeDocument/2006/relationships/officeDocument"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{main}"><w:body>{body}</w:body></w:document>',
        "word/styles.xml": f'<w:styles xmlns:w="{main}"><w:style w:type="paragraph" '
        'w:styleId="Heading2"><w:name w:val="heading 2"/></w:style></w:styles>',
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{package}relationships"><Relationship Id="b" '
        f'Target="styles.xml" Type="{office}officeDocument/2006/relationships/styles"/></Relationships>',
    }
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return whole.getvalue()


def pdf():
    whole = io.BytesIO()
    page = Figure()
    lines = [HEADING, SAID, "layer      macs", *(f"{name:10} {macs}" for name, macs in ROWS)]
    for number, line in enumerate(lines):
        page.text(0.1, 0.9 - number / 30, line, family="monospace")
    with mpl.rc_context({"pdf.fonttype": 42}):
        page.savefig(whole, format="pdf")
    return whole.getvalue()


MADE = {"html": html, "ipynb": notebook, "docx": word, "pdf": pdf}
