"""Tables to be taken home, in which a spreadsheet finds no formulas.

Labels and names are anybody's text, and a spreadsheet runs a cell that begins like a formula; an apostrophe makes it text (OWASP, CSV
injection). The browser does the same in ``assets/explorer.js``.
"""

from __future__ import annotations

import csv
import re
from typing import Any

import pandas as pd

__all__ = ["as_csv"]

_FORMULA = re.compile(r"^(?![-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$)[=+\-@\t\r\n]", re.ASCII | re.IGNORECASE)  # but no number


def as_csv(table: pd.DataFrame) -> str:
    """A table as text; numbers stay as they are.

    Examples
    --------
    >>> import pandas as pd
    >>> print(as_csv(pd.DataFrame({"patient": ["=1+1", "-7"], "risk": [-0.5, 0.25]})), end="")
    "patient","risk"
    "'=1+1",-0.5
    "-7",0.25
    """
    safe = table.rename(columns=_as_text).map(_as_text)
    return str(safe.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC))  # by default a carriage return would end a row


def _as_text(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value
