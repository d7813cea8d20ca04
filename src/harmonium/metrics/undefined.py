"""NaN with a reason: what a metric returns when the rows at hand do not define it."""

from __future__ import annotations

from harmonium.errors import MetricWarning, warn

__all__ = ["undefined"]


def undefined(metric: str, reason: str) -> float:
    """NaN, with a warning that says why.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     undefined("the concordance", "there are no events")
    nan
    >>> print(caught[0].message)
    the concordance is undefined: there are no events
    """
    warn(f"{metric} is undefined: {reason}", MetricWarning)
    return float("nan")
