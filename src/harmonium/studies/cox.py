"""Cox regression, to compare with; it comes with lifelines."""

from __future__ import annotations

from typing import Any

import pandas as pd

__all__ = ["fit_cox"]


def fit_cox(frame: pd.DataFrame, entry: str | None = None, **settings: Any) -> Any:
    """A fitted ``lifelines.CoxPHFitter``; the columns "time" and "event" of the table are the endpoint, all others covariates.

    ``entry`` names the column that says since when subjects were observed, if they entered late.
    """
    try:
        from lifelines import CoxPHFitter  # noqa: PLC0415 - an optional dependency
    except ImportError as error:
        raise ImportError("the comparison with a Cox model needs lifelines: pip install 'harmonium[bench]'") from error
    return CoxPHFitter(**settings).fit(frame, "time", "event", entry_col=entry)
