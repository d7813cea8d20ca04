"""What happened during training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

__all__ = ["History"]


@dataclass
class History:
    """Rows of progress, one for each iteration or epoch.

    Parameters
    ----------
    listener : callable, optional
        Called with every row; a progress bar, for example.
    """

    listener: Callable[[dict[str, Any]], None] | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)

    def add(self, **row: Any) -> None:
        """Append a row and tell the listener."""
        self.rows.append(row)
        if self.listener is not None:
            self.listener(row)

    def to_frame(self) -> pd.DataFrame:
        """All rows as a table."""
        return pd.DataFrame(self.rows)
