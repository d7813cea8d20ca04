"""One HTML file with everything in it: style, tables and figures; no script, and nothing that a browser would fetch."""

from __future__ import annotations

import base64
import html
import io
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

__all__ = ["Page"]

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; margin: 0 auto; padding: 1.5rem; max-width: 60rem; }
h1 { font-size: 1.7rem; line-height: 1.2; } h2 { font-size: 1.25rem; margin-top: 2.5rem; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; font-size: .9rem; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .75rem .25rem 0; text-align: left; vertical-align: top; } thead th { border-bottom: 1px solid #555; }
td.number, th.number { text-align: right; }
figure { margin: 1.5rem 0; } figure img { max-width: 100%; height: auto; } figcaption { font-size: .9rem; color: #444; }
.wide { overflow-x: auto; } footer { margin-top: 3rem; font-size: .85rem; color: #555; }
"""


class Page:
    """A page that grows from top to bottom. All text is shown as it is, whatever characters it has.

    Examples
    --------
    >>> page = Page("A <b>study</b>")
    >>> page.text("5 < 6")
    >>> "A &lt;b&gt;study&lt;/b&gt;" in page.html() and "5 &lt; 6" in page.html()
    True
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self._parts = [f"<h1>{html.escape(title)}</h1>"]

    def heading(self, text: str) -> None:
        """Begin a section."""
        self._parts.append(f"<h2>{html.escape(text)}</h2>")

    def text(self, text: str) -> None:
        """A paragraph."""
        self._parts.append(f"<p>{html.escape(text)}</p>")

    def table(self, frame: pd.DataFrame, digits: int = 3) -> None:
        """A table without its index."""
        numeric = [pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind) for kind in frame.dtypes]
        header = "".join(f"<th{_class(n)}>{html.escape(str(name))}</th>" for name, n in zip(frame.columns, numeric, strict=True))
        rows = []
        for row in frame.itertuples(index=False):
            cells = "".join(f"<td{_class(n)}>{html.escape(_shown(value, digits))}</td>" for value, n in zip(row, numeric, strict=True))
            rows.append(f"<tr>{cells}</tr>")
        self._parts.append(f'<div class="wide"><table><thead><tr>{header}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>')

    def figure(self, figure: Figure, caption: str) -> None:
        """A figure, held in the page itself."""
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=130)
        data = base64.b64encode(content.getvalue()).decode()
        text = html.escape(caption)
        self._parts.append(f'<figure><img alt="{text}" src="data:image/png;base64,{data}"><figcaption>{text}</figcaption></figure>')

    def footer(self, text: str) -> None:
        """The last lines."""
        self._parts.append(f"<footer>{html.escape(text)}</footer>")

    def html(self) -> str:
        """The whole page."""
        head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{html.escape(self.title)}</title>'
        return f'<!doctype html><html lang="en"><head>{head}<style>{_STYLE}</style></head><body>{"".join(self._parts)}</body></html>\n'


def _class(number: bool) -> str:
    return ' class="number"' if number else ""


def _shown(value: Any, digits: int) -> str:
    if isinstance(value, float):
        return "-" if pd.isna(value) else f"{value:.{digits}f}"
    return str(value)
