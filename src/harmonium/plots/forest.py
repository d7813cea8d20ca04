"""Effects with their intervals, one below the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from harmonium.plots.style import COLOURS, GREY, INK, MARKERS, SMALL, axes_or_new, only_two_spines, plain

__all__ = ["effects"]

_MEASURES = {"difference": "Difference in the probability of no event", "mean_difference": "Difference in restricted mean"}
_TIMES = {"difference": "time", "mean_difference": "until"}
_HEIGHT, _MARGIN = 0.26, 1.1  # inches for an effect, and for everything else
_APART = 0.24  # between endpoints of one effect


def effects(table: pd.DataFrame, *, measure: str = "difference", unit: str | None = None, ax: Axes | None = None) -> Axes:
    """Forest plot of a table of effects.

    Parameters
    ----------
    table : DataFrame
        What :meth:`harmonium.SurvivalHarmonium.summary` returns, or some of its rows.
    measure : "difference" or "mean_difference"
    unit : str, optional
        Of time.
    ax : Axes, optional

    Returns
    -------
    Axes
        A line for each step of a column; endpoints side by side, with marks of their own. To the right of zero is better. The time is on
        the axis or, if endpoints have times of their own, beside their names.

    Examples
    --------
    >>> import harmonium as hm
    >>> import matplotlib.pyplot as plt
    >>> X, y = hm.datasets.make_three_way(200, random_state=0)
    >>> model = hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
    >>> ax = hm.plots.effects(model.summary(X, time=0.5))
    >>> ax.get_xlabel()
    'Difference in the probability of no event until 0.5'
    >>> plt.close()
    """
    if measure not in _MEASURES:
        raise ValueError(f"measure must be one of {', '.join(map(repr, _MEASURES))}; found {measure!r}")
    if measure not in table or not len(table):
        raise ValueError(f"the table has no effects of the kind {measure!r}; it should be what model.summary() returns")
    steps = list(dict.fromkeys((column, step) for column, step, _ in table.index))
    endpoints = list(dict.fromkeys(table.index.get_level_values("endpoint")))
    until = {endpoint: _until(table, endpoint, measure, unit) for endpoint in endpoints}
    same = len(set(until.values())) == 1
    ax = axes_or_new(ax, (6.4, _MARGIN + _HEIGHT * len(steps)))
    ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=0)
    offsets = _APART * (np.arange(len(endpoints)) - 0.5 * (len(endpoints) - 1))
    for e, endpoint in enumerate(endpoints):
        own = table.xs(endpoint, level="endpoint")
        places = np.array([steps.index(key) for key in own.index], dtype=np.float64) + offsets[e]
        colour = COLOURS[e % len(COLOURS)]
        if f"{measure}_lower" in own:
            ax.hlines(places, own[f"{measure}_lower"], own[f"{measure}_upper"], color=colour, linewidth=1.3)
        name = plain(endpoint) if same else f"{plain(endpoint)}, {until[endpoint]}"
        ax.plot(own[measure], places, linestyle="none", marker=MARKERS[e % len(MARKERS)], color=colour, markersize=4.5, label=name)
    ax.set_yticks(range(len(steps)), [_label(column, step) for column, step in steps], fontsize=SMALL, color=INK)
    ax.set_ylim(len(steps) - 0.4, -0.6)
    label = _MEASURES[measure] + ("" if not unit or measure == "difference" else f" ({unit})")
    ax.set_xlabel(f"{label} {until[endpoints[0]]}" if same else label, loc="right")  # long names leave little room below the axes
    only_two_spines(ax)
    if len(endpoints) > 1:
        ax.legend(frameon=False, fontsize=SMALL, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.1)  # above lines
    return ax


def _until(table: pd.DataFrame, endpoint: Any, measure: str, unit: str | None) -> str:
    """By when, such as "until 24 months"."""
    time = float(table.xs(endpoint, level="endpoint")[_TIMES[measure]].iloc[0])
    return f"until {time:.3g} {plain(unit or '')}".rstrip()


def _label(column: Any, step: str) -> str:
    return f"{plain(column, 20)}: {plain(step.replace(chr(39), ''), 40)}"
