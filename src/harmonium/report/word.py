"""A document as a Word file, by python-docx."""

from __future__ import annotations

import io
from importlib.util import find_spec
from typing import Any

if find_spec("docx") is None:
    raise ModuleNotFoundError("a Word file needs python-docx: pip install 'harmonium[files]'", name="docx")

import docx
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.shared import Inches, Mm, Pt

from harmonium.report.document import Block, Document, Drawing, Grid, Heading, Items, Paragraph

__all__ = ["as_word"]

_WIDEST = 6.3  # inches between the margins of A4


def as_word(document: Document) -> bytes:
    """The contents of a .docx file: text, tables that can be edited, and figures."""
    word = docx.Document()
    section = word.sections[0]
    section.page_width, section.page_height = Mm(210), Mm(297)
    section.left_margin = section.right_margin = Mm(25)
    word.core_properties.title = document.title[:255]
    word.core_properties.author = ""
    word.add_heading(document.title, level=0)
    for block in document.blocks:
        _add(word, block)
    if document.last_words:
        word.add_paragraph(document.last_words, style="Caption")
    content = io.BytesIO()
    word.save(content)
    return content.getvalue()


def _add(word: Any, block: Block) -> None:
    match block:
        case Heading(text):
            word.add_heading(text, level=1)
        case Paragraph(text, leading):
            word.add_paragraph(text, style="Intense Quote" if leading else None)
        case Items(texts):
            for text in texts:
                word.add_paragraph(text, style="List Bullet")
        case Grid():
            _add_table(word, block)
        case Drawing(png, caption, width):
            picture = word.add_picture(io.BytesIO(png), width=Inches(min(width, _WIDEST)))
            picture._inline.docPr.set("descr", caption)  # the alternative text, which python-docx has no name for
            word.add_paragraph(caption, style="Caption")


def _add_table(word: Any, grid: Grid) -> None:
    if grid.caption:
        word.add_paragraph(grid.caption, style="Caption")
    table = word.add_table(rows=1 + len(grid.rows), cols=len(grid.header), style="Light List Accent 1")
    for r, row in enumerate((grid.header, *grid.rows)):
        cells = table.rows[r].cells
        for cell, text, number in zip(cells, row, grid.numeric, strict=True):
            paragraph = cell.paragraphs[0]
            paragraph.add_run(text).font.size = Pt(8)
            if number:
                paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
    word.add_paragraph()
