"""The table and the figure of the benchmark (the paper's Fig 2)."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

__all__ = ["draw_scores", "mean_and_deviation"]

_TITLES = {"concordance": "C-index (higher is better)", "brier": "Brier score at half of the horizon (lower is better)"}
_COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F", "#999933"]
_MARKERS = "osD^vP*Xhd<>"


def mean_and_deviation(scores: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over outer folds of every metric, by study, model and kind of prediction.

    Examples
    --------
    >>> scores = pd.DataFrame({"study": ["a"] * 2, "model": ["cox"] * 2, "kind": ["plain"] * 2, "fold": [0, 1],
    ...                        "concordance": [0.6, 0.7], "brier": [0.2, 0.2], "integrated_brier": [0.1, 0.3]})
    >>> mean_and_deviation(scores).loc[("a", "cox", "plain"), ("concordance", "mean")].round(3)
    np.float64(0.65)
    """
    metrics = [metric for metric in ("concordance", "brier", "integrated_brier") if metric in scores]
    grouped = scores.groupby(["study", "model", "kind"], sort=False)[metrics]
    return grouped.agg(["mean", "std"])


def draw_scores(scores: pd.DataFrame) -> Figure:
    """Mean and standard deviation by study and model: concordance above, Brier score below."""
    table = mean_and_deviation(scores)
    studies = list(dict.fromkeys(table.index.get_level_values("study")))
    series = list(dict.fromkeys((model, kind) for _, model, kind in table.index))
    with mpl.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(1.6 + 1.5 * len(studies), 6.0), layout="constrained")
        axes: Any = figure.subplots(2, 1, sharex=True)
        for ax, (metric, title) in zip(axes, _TITLES.items(), strict=True):
            for k, (model, kind) in enumerate(series):
                _draw_series(ax, table, metric, studies, (model, kind), k, len(series))
            ax.set_ylabel(title.split(" (")[0])
            ax.set_title(title, loc="left", fontsize=9)
            ax.grid(axis="y", color="0.9")
            ax.set_axisbelow(True)
            for edge in range(1, len(studies)):
                ax.axvline(edge - 0.5, color="0.8", linewidth=0.8)
        axes[1].set_xticks(range(len(studies)), studies)
        axes[1].set_xlim(-0.5, len(studies) - 0.5)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=min(4, len(labels)), frameon=False)
    return figure


def _draw_series(ax: Any, table: pd.DataFrame, metric: str, studies: list[str], series: tuple[str, str], k: int, n: int) -> None:
    found = [(s, study) for s, study in enumerate(studies) if (study, *series) in table.index]
    middle = np.array([table.loc[(study, *series), (metric, "mean")] for _, study in found])
    spread = np.array([table.loc[(study, *series), (metric, "std")] for _, study in found])
    place = np.array([s for s, _ in found]) + 0.8 * ((k + 0.5) / n - 0.5)
    label = {"plain": series[0], "*": f"{series[0]}*"}.get(series[1], f"{series[0]} ({series[1]})")
    ax.errorbar(
        place, middle, spread, label=label, fmt=_MARKERS[k % len(_MARKERS)], color=_COLOURS[k % len(_COLOURS)], markersize=5, capsize=2
    )
