"""The figure of the benchmark (the paper's Fig 2)."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harmonium.plots.style import only_two_spines
from harmonium.studies.benchmark.summary import ORDER

__all__ = ["draw_scores"]

_METRICS = {
    "concordance": ("a", "C-index", "higher is better"),
    "brier": ("b", r"Brier score at $\tau/2$", "lower is better"),
}
_LABELS = {
    "cox": "Cox",
    "forest": "random survival forest",
    "svm": "support vector machine",
    "paper-harmonium": "harmonium, contrastive divergence",
    "harmonium": "harmonium, exact, searched",
    "harmonium-default": "harmonium, exact, default",
    "harmonium-cv": "harmonium, exact, cross-validated",
}
# Shapes tell models apart, without colour; a filled shape is a prediction given the other endpoint.
_LOOKS = {
    "cox": ("X", "0.35"),
    "forest": ("v", "0.35"),
    "svm": ("P", "0.35"),
    "paper-harmonium": ("s", "#D55E00"),
    "harmonium": ("o", "#0072B2"),
    "harmonium-default": ("^", "#009E73"),
    "harmonium-cv": ("D", "#CC79A7"),
}
_OTHERS = ("h", "#000000")
_KINDS = ("plain", "*")
_GAP = 1.6  # between studies, in steps from model to model
_NARROWEST = 5  # steps for a study, which must have room for its name
_LEAST_WIDTH = 9.2  # inches, which must have room for the legend


def draw_scores(table: pd.DataFrame) -> Figure:
    """Mean and standard deviation by study, model and kind of prediction: concordance above, Brier score below.

    Parameters
    ----------
    table : DataFrame
        As of :func:`~harmonium.studies.benchmark.summary.mean_and_deviation`. Landmark predictions are left out, as in the paper.
    """
    places, studies = _places(table)
    models = sorted({model for _, model, _ in places}, key=_rank)
    with mpl.rc_context({"font.size": 9}):
        figure = Figure(figsize=(max(_LEAST_WIDTH, 1.6 + 0.135 * max(places.values())), 6.2), layout="constrained")
        axes: Any = figure.subplots(2, 1, sharex=True)
        for ax, (metric, (letter, title, direction)) in zip(axes, _METRICS.items(), strict=True):
            _draw_metric(ax, table, metric, places)
            ax.set_title(letter, loc="left", fontweight="bold")
            ax.set_title(direction, loc="right", fontsize=8, color="0.35")
            ax.set_ylabel(title)
            for first, _ in list(studies.values())[1:]:
                ax.axvline(first - 0.5 * (_GAP + 1.0), color="0.8", linewidth=0.8)
        axes[1].set_xticks([0.5 * (first + last) for first, last in studies.values()], list(studies))
        for ax in axes:
            ax.tick_params(axis="x", length=0)
        axes[1].set_xlim(-1.0, max(last for _, last in studies.values()) + 1.0)
        figure.legend(
            handles=_legend(models, starred=any(kind == "*" for *_, kind in places)), loc="outside upper center", ncols=3, frameon=False
        )
    return figure


def _rank(model: str) -> tuple[int, str]:
    return (ORDER.index(model) if model in ORDER else len(ORDER), model)


def _places(table: pd.DataFrame) -> tuple[dict[tuple[str, str, str], float], dict[str, tuple[float, float]]]:
    """Where every study, model and kind stands on the horizontal axis, and from where to where every study reaches."""
    places: dict[tuple[str, str, str], float] = {}
    studies: dict[str, tuple[float, float]] = {}
    at = 0.0
    for study in dict.fromkeys(table.index.get_level_values("study")):
        here = [(model, kind) for name, model, kind in table.index if name == study and kind in _KINDS]
        here.sort(key=lambda series: (_KINDS.index(series[1]), _rank(series[0])))
        room = max(len(here), _NARROWEST)
        for step, series in enumerate(here):
            places[study, *series] = at + step + 0.5 * (room - len(here))
        studies[study] = (at, at + room - 1.0)
        at += room + _GAP
    return places, studies


def _draw_metric(ax: Any, table: pd.DataFrame, metric: str, places: dict[tuple[str, str, str], float]) -> None:
    for (study, model, kind), place in places.items():
        middle, spread = (table.loc[(study, model, kind), (metric, what)] for what in ("mean", "std"))
        marker, colour = _LOOKS.get(model, _OTHERS)
        ax.errorbar(
            place,
            middle,
            spread,
            marker=marker,
            color=colour,
            markerfacecolor=colour if kind == "*" else "white",
            markersize=6,
            elinewidth=0.9,
            linestyle="none",
            label=f"{study} {model} {kind}",
        )
    ax.grid(axis="y", color="0.92")
    ax.set_axisbelow(True)
    only_two_spines(ax)


def _legend(models: list[str], *, starred: bool) -> list[Line2D]:
    handles = []
    for model in models:
        marker, colour = _LOOKS.get(model, _OTHERS)
        label = _LABELS.get(model, model)
        handles.append(Line2D([], [], marker=marker, color=colour, markerfacecolor="white", linestyle="none", label=label))
    if starred:
        handles.append(Line2D([], [], marker="o", color="0.2", linestyle="none", label="* filled: given the other endpoint"))
    return handles
