"""A report as a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from harmonium.report.document import Document
from harmonium.report.html import as_html
from harmonium.report.study import study_report

__all__ = ["content_of", "write_report"]

_ENDINGS = (".html", ".docx")


def write_report(
    model: Any,
    X: pd.DataFrame,
    y: pd.DataFrame,
    path: str | Path,
    *,
    title: str = "Study report",
    unit: str | None = None,
    sample_weight: Any = None,
    groups: Any = None,
    others: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Write a report about a fitted model and the table it was fitted to, as ``harmonium fit --report`` does.

    The model is fitted five times more, to judge predictions of rows that it has not seen. The file holds no row of the table, but extreme
    values of columns, and curves that show when events were.

    Parameters
    ----------
    model : SurvivalHarmonium
        Fitted. A loaded model will not do, since it cannot be fitted again.
    X, y : DataFrame
        What it was fitted to.
    path : str or Path
        A .html file, which can be printed to PDF, or .docx; it is overwritten.
    title : str
    unit : str, optional
        Of time, such as "months"; by default the one that the endpoints have, if they do.
    sample_weight : array_like of shape (n_rows,), optional
        With which it was fitted.
    groups : array_like of shape (n_rows,), optional
        Rows of one group are in one fold.
    others : mapping, optional
        Names, and other models to be judged on the same folds: what their ``fit(X, y)`` returns has a ``prognosis``.

    Returns
    -------
    DataFrame
        The metrics in it, by endpoint, as :func:`harmonium.evaluate` has them.

    Examples
    --------
    >>> import tempfile
    >>> import harmonium as hm
    >>> X, y = hm.datasets.make_three_way(60, random_state=0)
    >>> model = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1, max_iter=5), random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     scores = hm.write_report(model, X, y, f"{folder}/report.html", title="Three ways")
    >>> scores.index.tolist()
    ['t1', 't2']
    """
    place = Path(path)
    if place.suffix.lower() not in _ENDINGS:
        raise ValueError(f"a report must end with {' or '.join(_ENDINGS)} (print the .html to PDF); found {str(path)!r}")
    if not hasattr(model, "set_params"):
        raise TypeError(f"a report fits the model again in cross-validation, so it needs a SurvivalHarmonium; found {type(model).__name__}")
    report = study_report(model, X, y, title, unit=unit, sample_weight=sample_weight, groups=groups, others=others)
    place.write_bytes(content_of(report.document, place))
    return pd.DataFrame.from_dict(report.scores, orient="index").rename_axis("endpoint")


def content_of(document: Document, path: Path) -> bytes:
    """What to write in a file of this name."""
    if path.suffix.lower() != ".docx":
        return as_html(document).encode()
    from harmonium.report.word import as_word  # noqa: PLC0415 - it needs python-docx

    return as_word(document)
