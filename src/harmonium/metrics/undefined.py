"""What a metric says when the rows at hand do not define it, or not all of it."""

from __future__ import annotations

import warnings

__all__ = ["MetricWarning", "caution", "undefined"]


class MetricWarning(UserWarning):
    """A metric is undefined, or leaves out some of what it was given."""


def caution(message: str) -> None:
    """Warn that a metric does not use everything."""
    warnings.warn(message, MetricWarning, stacklevel=4)


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
    warnings.warn(f"{metric} is undefined: {reason}", MetricWarning, stacklevel=3)
    return float("nan")
