"""A document as one HTML file with everything in it: style, tables and figures; no script, and nothing that a browser would fetch."""

from __future__ import annotations

import base64
from html import escape

from harmonium.report.document import Block, Document, Drawing, Grid, Heading, Items, Paragraph

__all__ = ["as_html"]

_INCH = 96.0  # pixels
_SHORT = 20  # rows of a table that is kept on one page

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; margin: 0 auto; padding: 1.5rem; max-width: 60rem; }
h1 { font-size: 1.7rem; line-height: 1.2; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin-top: 2.5rem; border-bottom: 1px solid #ccc; break-after: avoid; }
p { max-width: 46rem; } .lead { font-size: 1.08rem; background: #f3f6f9; border-left: 4px solid #0072b2; padding: .5rem 1rem; margin: 0; }
table { border-collapse: collapse; font-size: .9rem; margin: 1rem 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem; }
th, td { padding: .25rem .75rem .25rem 0; text-align: left; vertical-align: top; } thead th { border-bottom: 1px solid #555; }
tbody tr + tr td { border-top: 1px solid #eee; }
td.number, th.number { text-align: right; }
figure { margin: 1.5rem 0; break-inside: avoid; } figure img { max-width: 100%; height: auto; }
figcaption { font-size: .9rem; color: #444; }
.wide { overflow-x: auto; } footer { margin-top: 3rem; font-size: .85rem; color: #555; }
@media (max-width: 600px) { body { padding: .8rem; font-size: 15px; } table { font-size: .74rem; } th, td { padding-right: .3rem; } }
@media print {
  @page { size: A4; margin: 16mm 15mm; }
  body { font-size: 10pt; padding: 0; max-width: none; } h1 { font-size: 16pt; } h2 { font-size: 12.5pt; margin-top: 1.4rem; }
  p { max-width: none; } .lead { font-size: 10pt; padding: .3rem .8rem; }
  table { font-size: 8.5pt; } tr, .short table { break-inside: avoid; }
  .wide { overflow: visible; } figure { margin: .8rem 0; } figure img { max-height: 235mm; object-fit: contain; object-position: left; }
}
"""


def as_html(document: Document) -> str:
    """The whole page.

    Examples
    --------
    >>> document = Document("A <b>study</b>")
    >>> document.text("5 < 6")
    >>> "A &lt;b&gt;study&lt;/b&gt;" in as_html(document) and "5 &lt; 6" in as_html(document)
    True
    """
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(document.title)}</title>'
    )
    parts = [f"<h1>{escape(document.title)}</h1>", *(_block(block) for block in document.blocks)]
    if document.last_words:
        parts.append(f"<footer>{escape(document.last_words)}</footer>")
    return f'<!doctype html><html lang="en"><head>{head}<style>{_STYLE}</style></head><body>{"".join(parts)}</body></html>\n'


def _block(block: Block) -> str:
    match block:
        case Heading(text):
            return f"<h2>{escape(text)}</h2>"
        case Paragraph(text, leading):
            return f'<p class="lead">{escape(text)}</p>' if leading else f"<p>{escape(text)}</p>"
        case Items(texts):
            return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>"
        case Grid():
            return _grid(block)
        case Drawing(png, caption, width):
            data, text = base64.b64encode(png).decode(), escape(caption)
            image = f'<img alt="{text}" width="{_INCH * width:.0f}" src="data:image/png;base64,{data}">'
            return f"<figure>{image}<figcaption>{text}</figcaption></figure>"


def _grid(grid: Grid) -> str:
    caption = f"<caption>{escape(grid.caption)}</caption>" if grid.caption else ""
    header = "".join(f'<th scope="col"{_class(n)}>{escape(name)}</th>' for name, n in zip(grid.header, grid.numeric, strict=True))
    rows = []
    for row in grid.rows:
        cells = "".join(f"<td{_class(n)}>{escape(cell)}</td>" for cell, n in zip(row, grid.numeric, strict=True))
        rows.append(f"<tr>{cells}</tr>")
    kind = "wide short" if len(rows) <= _SHORT else "wide"
    return f'<div class="{kind}"><table>{caption}<thead><tr>{header}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _class(number: bool) -> str:
    return ' class="number"' if number else ""
