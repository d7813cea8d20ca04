"""Whether predicted probabilities come true."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from harmonium.errors import MetricWarning, warn
from harmonium.metrics.predictions import in_unit_of
from harmonium.plots.estimate import KaplanMeier
from harmonium.plots.states import refuse_prevented
from harmonium.plots.style import COLOURS, GREY, axes_or_new, only_two_spines, plain
from harmonium.plots.times import endpoint_name
from harmonium.typing import Array

__all__ = ["calibration"]


def calibration(
    model: Any,
    X: Any,
    y: Any,
    *,
    endpoint: str | None = None,
    time: float,
    n_bins: int = 5,
    confidence: float = 0.95,
    time_label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Predicted against observed probability of an event by a time, in groups of subjects with similar predictions.

    Parameters
    ----------
    model : SurvivalHarmonium, SurvivalHarmoniumCV or Fitted
    X, y
        Subjects, which the model should not have been trained on, and what was observed of them.
    endpoint : str, optional
        By default the first.
    time : float
    n_bins : int
        Groups, between quantiles of the predictions.
    confidence : float
        Of the bars.
    time_label : str, optional
        What comes before the time in labels: "month" makes "by month 24". By default the unit comes after it, if it is known.
    ax : Axes, optional

    Returns
    -------
    Axes
        Observed probabilities are Kaplan and Meier's, their bars Wilson intervals for the effective number of subjects. A group whose
        observed times all end before ``time`` is left out, with a warning.

    Examples
    --------
    >>> import harmonium as hm
    >>> import matplotlib.pyplot as plt
    >>> X, y = hm.datasets.make_three_way(400, random_state=0)
    >>> model = hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Exact(n_starts=1), random_state=0).fit(X[:200], y[:200])
    >>> ax = hm.plots.calibration(model, X[200:], y[200:], endpoint="t1", time=0.5)
    >>> print(ax.get_xlabel())
    Predicted probability of an event by time 0.5
    (t1; 2 groups of 90 to 110)
    >>> plt.close()
    """
    name = endpoint_name(model, endpoint)
    refuse_prevented(model, name, "a comparison with Kaplan and Meier's estimate")
    if not (isinstance(time, Real) and 0.0 < time < np.inf):
        raise ValueError(f"time must be a positive number; found {time!r}")
    if not (isinstance(n_bins, int | np.integer) and n_bins >= 1):
        raise ValueError(f"n_bins must be a positive whole number; found {n_bins!r}")
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1; found {confidence!r}")
    everybody, rows = KaplanMeier.of(in_unit_of(model, y), name)
    if np.isnan(everybody.at(time)):
        raise ValueError(f"the last observed time of {name!r} is {everybody.last:g}; nothing was observed at {time:g}")
    predicted = 1.0 - model.prognosis(X).survival(name, [time])[:, 0]
    if len(predicted) != rows.size:
        raise ValueError(f"X and y must have as many rows; found {len(predicted)} and {rows.size}")
    predicted = predicted[rows]
    points, sizes = [], []
    for group in _quantile_groups(predicted, n_bins):
        curve, size = everybody.part(group), int(np.count_nonzero(group))
        observed = 1.0 - curve.at(time)
        if np.isnan(observed):
            warn(f"{size} subjects are left out: all observed times of their group end before {time:g}, at {curve.last:g}", MetricWarning)
            continue
        high, low = (1.0 - bound for bound in curve.interval(time, confidence))
        points.append((predicted[group].mean(), observed, observed - low, high - observed))
        sizes.append(size)
    when = _at(float(time), model.fitted.encoding.unit, time_label)
    return _draw(axes_or_new(ax, (4.2, 4.3)), np.array(points), sizes, confidence, plain(name), when)


def _at(time: float, unit: str | None, label: str | None) -> str:
    """A time, with a word before it or its unit after it."""
    return f"{time:g} {unit}" if label is None and unit is not None else f"{label or 'time'} {time:g}"


def _quantile_groups(predicted: Array, n_bins: int) -> list[NDArray[np.bool_]]:
    """Masks of groups, from low to high; equal predictions are in the same group."""
    edges = np.quantile(predicted, np.arange(1, n_bins) / n_bins)
    number = np.searchsorted(edges, predicted, side="left")
    return [number == k for k in np.unique(number)]


def _draw(ax: Axes, points: Array, sizes: list[int], confidence: float, name: str, when: str) -> Axes:
    ax.plot([0.0, 1.0], [0.0, 1.0], color=GREY, linestyle="--", linewidth=1.0, zorder=1)
    x, observed, below, above = points.T
    bars = np.maximum([below, above], 0.0)  # not below zero by rounding
    ax.errorbar(x, observed, yerr=bars, fmt="o", color=COLOURS[0], markersize=5.0, capsize=3.0, linewidth=1.2)
    counted = f"{sizes[0]}" if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
    groups = f"{len(sizes)} groups of {counted}" if len(sizes) > 1 else f"1 group of {counted}"
    ax.set_xlabel(f"Predicted probability of an event by {when}\n({name}; {groups})")
    ax.set_ylabel(f"Observed (Kaplan-Meier, {100 * confidence:g} % interval)")
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), aspect="equal")
    only_two_spines(ax)
    return ax
