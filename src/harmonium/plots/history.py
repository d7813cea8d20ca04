"""How training went."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from harmonium.plots.style import COLOURS, INK, axes_or_new, only_two_spines
from harmonium.typing import Array

__all__ = ["training_history"]

_WORST = 0.2  # fraction of the values that may lie below the view


def training_history(model: Any, *, ax: Axes | None = None) -> Axes:
    """The objective by evaluations of its gradient, or the size of the gradient by epochs, and validation if there was any.

    Parameters
    ----------
    model : SurvivalHarmonium
    ax : Axes, optional

    Returns
    -------
    Axes
        Of the objective (exact trainer) or the gradient's norm (contrastive trainer). Where there was validation, its log-likelihood
        stands in the lower half, on an axis of its own, the last of ``ax.figure.axes``; its best is ringed: those parameters were kept.
        Lines are interrupted where the optimiser began again, from another start or with another prior. The worst values, with which
        every run begins, may lie below the view.

    Examples
    --------
    >>> import harmonium as hm
    >>> import matplotlib.pyplot as plt
    >>> X, y = hm.datasets.make_three_way(200, random_state=0)
    >>> model = hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
    >>> ax = hm.plots.training_history(model)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('Evaluations of the gradient', 'Objective per subject')
    >>> plt.close()
    """
    history = getattr(model, "history_", None)
    if history is None or not len(history):
        raise ValueError("the model has no history: it is not fitted, was loaded from a file, or was trained by partial_fit only")
    exact = "objective" in history
    x = history["evaluations" if exact else "iteration"].to_numpy(dtype=np.float64)
    value = history["objective" if exact else "gradient_norm"].to_numpy(dtype=np.float64)
    run = np.cumsum(np.diff(value, prepend=value[0]) < 0.0) if exact else np.zeros(x.size)  # within a run the objective never falls
    validated = "validation" in history
    ax = axes_or_new(ax, (6.0, 4.2 if validated else 3.0))
    only_two_spines(ax)
    ax.set_xlabel("Evaluations of the gradient" if exact else "Epoch")
    for x_of_run, value_of_run in _runs(x, value, run):
        ax.plot(x_of_run, value_of_run, color=COLOURS[0], linewidth=1.2)
    ylabel = "Objective per subject" if exact else "Norm of the gradient"
    _view(ax, (np.quantile(value, _WORST) if exact else 0.0, value.max()), ylabel, (0.55, 1.0) if validated else (0.0, 1.0))
    if validated:
        _draw_validation(ax.twinx(), x, history["validation"].to_numpy(dtype=np.float64), run)
    return ax


def _runs(x: Array, value: Array, run: Array) -> list[tuple[Array, Array]]:
    return [(x[run == k], value[run == k]) for k in np.unique(run)]


def _draw_validation(ax: Axes, x: Array, validation: Array, run: Array) -> None:
    looked = ~np.isnan(validation)
    for x_of_run, value_of_run in _runs(x[looked], validation[looked], run[looked]):
        ax.plot(x_of_run, value_of_run, color=COLOURS[1], linestyle="--", marker="s", markersize=3.0, linewidth=1.0)
    best = int(np.nanargmax(validation))
    ax.plot(x[best], validation[best], "o", markersize=9.0, markerfacecolor="none", markeredgecolor=INK)
    only_two_spines(ax)
    ax.yaxis.set_ticks_position("left")
    ax.yaxis.set_label_position("left")
    later = validation[looked][np.diff(run[looked], prepend=-1.0) == 0.0]  # a run's first value is far below all others
    low = float(later.min()) if later.size else float(np.nanmin(validation))
    _view(ax, (low, float(validation[best])), "Log-likelihood,\nvalidation", (0.0, 0.45))


def _view(ax: Axes, limits: tuple[float, float], label: str, part: tuple[float, float]) -> None:
    """Show values between two limits in a part of the height of the axes."""
    low, high = limits
    margin = 0.06 * (high - low) or 0.5
    low, high = low - margin, high + margin
    unit = (high - low) / (part[1] - part[0])
    ticks = np.asarray(MaxNLocator(4).tick_values(low, high))
    ax.set_ylim(low - part[0] * unit, high + (1.0 - part[1]) * unit)
    ax.set_yticks(ticks[(ticks >= low) & (ticks <= high)])
    ax.spines["left"].set_bounds(low, high)
    ax.set_ylabel(label, y=0.5 * (part[0] + part[1]), ha="center")
    for line in ax.lines:
        line.set_clip_path(Rectangle((0.0, part[0]), 1.0, part[1] - part[0], transform=ax.transAxes))
