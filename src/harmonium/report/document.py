"""A document that grows from top to bottom, of which a web page or a Word file can be made."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

__all__ = ["Block", "Document", "Drawing", "Grid", "Heading", "Items", "Paragraph", "shown"]

_DPI = 180  # sharp on paper


@dataclass(frozen=True)
class Heading:
    """Begins a section."""

    text: str


@dataclass(frozen=True)
class Paragraph:
    """Some sentences; ``leading`` ones open the document."""

    text: str
    leading: bool = False


@dataclass(frozen=True)
class Items:
    """A list."""

    texts: tuple[str, ...]


@dataclass(frozen=True)
class Grid:
    """A table as text, and which of its columns hold numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    caption: str = ""


@dataclass(frozen=True)
class Drawing:
    """A figure as PNG, its caption, and its width in inches."""

    png: bytes
    caption: str
    width: float


Block = Heading | Paragraph | Items | Grid | Drawing


class Document:
    """Blocks under a title. All text is meant as it is, whatever characters it has.

    Examples
    --------
    >>> document = Document("A <b>study</b>")
    >>> document.text("5 < 6")
    >>> [type(block).__name__ for block in document.blocks]
    ['Paragraph']
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self.blocks: list[Block] = []
        self.last_words = ""

    def heading(self, text: str) -> None:
        """Begin a section."""
        self.blocks.append(Heading(text))

    def text(self, text: str, *, leading: bool = False) -> None:
        """A paragraph."""
        self.blocks.append(Paragraph(text, leading))

    def items(self, texts: Sequence[str]) -> None:
        """A list."""
        self.blocks.append(Items(tuple(texts)))

    def table(self, frame: pd.DataFrame, digits: int = 3, caption: str = "") -> None:
        """A table without its index."""
        numeric = tuple(pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind) for kind in frame.dtypes)
        rows = tuple(tuple(shown(value, digits) for value in row) for row in frame.itertuples(index=False))
        self.blocks.append(Grid(tuple(str(name) for name in frame.columns), rows, numeric, caption))

    def figure(self, figure: Figure, caption: str) -> None:
        """A figure, held in the document itself."""
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=_DPI)
        self.blocks.append(Drawing(content.getvalue(), caption, float(figure.get_figwidth())))

    def footer(self, text: str) -> None:
        """The last lines."""
        self.last_words = text


def shown(value: Any, digits: int) -> str:
    """A cell of a table.

    Examples
    --------
    >>> shown(0.12345, 3), shown(float("nan"), 3), shown(7, 3)
    ('0.123', '-', '7')
    """
    if isinstance(value, float):
        return "-" if pd.isna(value) else f"{value:.{digits}f}"
    return str(value)
