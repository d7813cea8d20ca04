"""Whether endpoints attract or repel each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from harmonium.plots.style import COLOURS, GREY, SMALL, axes_or_new, plain

__all__ = ["dependence"]

_LONG = 30  # characters that stand in one line
_SERIES = (
    ("tau", "all subjects", COLOURS[0], "o", COLOURS[0], -0.14),
    ("tau_given_covariates", "subjects with equal covariates", COLOURS[1], "s", "white", 0.14),
)


def dependence(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Kendall's tau of every pair of endpoints, with intervals if the table has them.

    Parameters
    ----------
    table : DataFrame
        What :meth:`harmonium.SurvivalHarmonium.dependence` returns.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import harmonium as hm
    >>> import matplotlib.pyplot as plt
    >>> X, y = hm.datasets.load_nvalt8()
    >>> model = hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
    >>> ax = hm.plots.dependence(model.dependence(X))
    >>> print(ax.get_yticklabels()[0].get_text())
    os and rfs
    >>> plt.close()
    """
    if not isinstance(table, pd.DataFrame) or not {"tau", "tau_given_covariates"} <= set(table.columns) or not len(table):
        raise ValueError("table must be what the model's dependence returns, with the columns tau and tau_given_covariates")
    n = len(table)
    ax = axes_or_new(ax, (6.0, 1.5 + 0.5 * n))
    ax.axvline(0.0, color=GREY, linewidth=1.0, zorder=1)
    for name, label, colour, marker, face, shift in _SERIES:
        x, y = table[name].to_numpy(dtype=np.float64), np.arange(n) + shift
        if f"{name}_lower" in table:
            ax.hlines(y, table[f"{name}_lower"], table[f"{name}_upper"], color=colour, linewidth=1.4)
        ax.plot(x, y, linestyle="none", marker=marker, color=colour, markerfacecolor=face, markersize=5.5, label=label)
    ax.set_yticks(np.arange(n), [_name(a, b) for a, b in table.index])
    ax.set_xticks([-1.0, -0.5, 0.0, 0.5, 1.0])
    ax.set(
        xlim=(-1.0, 1.0), ylim=(n - 0.5, -0.5), xlabel="\N{LEFTWARDS ARROW} repel        Kendall's tau        attract \N{RIGHTWARDS ARROW}"
    )
    ax.legend(frameon=False, fontsize=SMALL, loc="lower left", bbox_to_anchor=(0.0, 1.0), handletextpad=0.3)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def _name(first: Any, second: Any) -> str:
    together = f"{plain(first)} and {plain(second)}"
    return together if len(together) <= _LONG else f"{plain(first)}\nand {plain(second)}"
