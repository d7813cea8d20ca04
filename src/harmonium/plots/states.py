"""Where subjects are over time, and incidences beside what was observed; for models in which an endpoint is terminal."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from harmonium.metrics.competing import competing
from harmonium.metrics.observed import as_found
from harmonium.metrics.predictions import in_unit_of
from harmonium.plots.groups import at_level
from harmonium.plots.labels import label_ends
from harmonium.plots.style import COLOURS, INK, LINES, SMALL, axes_or_new, only_two_spines, plain
from harmonium.plots.times import end_of_axis, endpoint_name, label_of_time
from harmonium.table.frames import columns_of, to_pandas
from harmonium.typing import Integers

__all__ = ["incidence", "refuse_prevented", "states"]

_N_TIMES = 121
_HATCHES = ("", "//", "..", "\\\\", "xx", "--", "++", "oo")


def states(
    model: Any, X: Any, *, given: Any = None, until: float | None = None, time_label: str | None = None, ax: Axes | None = None
) -> Axes:
    """Probabilities of all states over time, stacked; of several subjects, their mean.

    Parameters
    ----------
    model : SurvivalHarmonium, SurvivalHarmoniumCV or Fitted
        Fitted to endpoints of which one is terminal.
    X : DataFrame or array
        One subject, or a cohort.
    given : DataFrame, optional
        What is known of the endpoints.
    until : float, optional
        Where the axis ends; by default with follow-up in training.
    time_label : str, optional
        Of the axis of time; by default it has the unit, if that is known.
    ax : Axes, optional

    Examples
    --------
    >>> import harmonium as hm
    >>> import matplotlib.pyplot as plt
    >>> X, y = hm.datasets.load_nvalt8(terminal=True)
    >>> model = hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
    >>> ax = hm.plots.states(model, X[:1], given=hm.landmark(y[:1], 12), time_label="Months")
    >>> len(ax.collections)
    4
    >>> plt.close()
    """
    if not len(to_pandas(X)):
        raise ValueError("X has no rows: there is nobody to draw states of")
    ends = [endpoint.follow_up.last for endpoint in model.fitted.encoding.endpoints]
    times = np.linspace(0.0, end_of_axis(max(ends) if until is None else until), _N_TIMES)
    found = model.prognosis(X, given=given).state_probabilities(times)
    ax = axes_or_new(ax, (6.0, 3.8))
    stacks = ax.stackplot(times, [own.mean(axis=0) for own in found.values()], edgecolor="white", linewidth=0.6)
    for number, stack in enumerate(stacks):
        stack.set(facecolor=COLOURS[number % len(COLOURS)], alpha=0.75, hatch=_HATCHES[number % len(_HATCHES)])
    ax.legend(
        stacks[::-1],
        [plain(label) for label in list(found)[::-1]],
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        frameon=False,
        fontsize=SMALL,
    )
    ax.set(xlim=(0.0, times[-1]), ylim=(0.0, 1.0), xlabel=label_of_time(model.fitted.encoding.unit, time_label), ylabel="Probability")
    only_two_spines(ax)
    return ax


def incidence(
    model: Any,
    X: Any,
    y: Any,
    *,
    endpoint: str | None = None,
    by: Any = None,
    n_groups: int = 3,
    until: float | None = None,
    time_label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Mean predicted incidence of groups of subjects, over the Aalen-Johansen estimate of the same groups.

    Parameters
    ----------
    model : SurvivalHarmonium, SurvivalHarmoniumCV or Fitted
    X, y
        Subjects, which the model should not have been trained on, and what was observed of them.
    endpoint : str, optional
        By default the first.
    by : str, optional
        A column whose levels are the groups; by default groups of low to high predicted risk.
    n_groups : int
        Of risk.
    until : float, optional
        Where the axis ends; by default at the 95 % quantile of observed times.
    time_label : str, optional
        Of the axis of time; by default it has the unit, if that is known.
    ax : Axes, optional

    Returns
    -------
    Axes
        Smooth lines are predictions, steps observations.

    Examples
    --------
    >>> import harmonium as hm
    >>> import matplotlib.pyplot as plt
    >>> X, y = hm.datasets.load_nvalt8(terminal=True)
    >>> model = hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
    >>> ax = hm.plots.incidence(model, X, y, endpoint="recurrence", time_label="Months")
    >>> len(ax.lines)  # predicted and observed, in three groups
    6
    >>> plt.close()
    """
    name, known = endpoint_name(model, endpoint), as_found(in_unit_of(model, y))
    everybody = competing(known, name)
    end = end_of_axis(float(np.quantile(everybody.observed.time, 0.95)) if until is None else until)
    times = np.linspace(0.0, end, _N_TIMES)
    prognosis = model.prognosis(X)
    predicted = np.asarray(prognosis.cumulative_incidence(name, times))
    ax = axes_or_new(ax, (6.0, 3.8))
    ends, names, colours = [], [], []
    highest = 0.0
    for number, (label, rows) in enumerate(_groups(to_pandas(X), by, prognosis, name, n_groups)):
        own = competing(known.part(rows), name).incidence()
        colour, mean = COLOURS[number % len(COLOURS)], predicted[rows].mean(axis=0)
        ax.plot(times, mean, color=colour, linestyle=LINES[number % len(LINES)], linewidth=1.8)
        ax.plot(times, own.at(times), color=colour, linewidth=0.8, drawstyle="steps-post", alpha=0.8)
        highest = max(highest, float(mean[-1]), float(own.at(end)))
        ends.append((float(times[-1]), float(mean[-1])))
        names.append(label)
        colours.append(colour)
    ax.set(
        xlim=(0.0, end),
        ylim=(0.0, min(1.02, 1.25 * highest)),
        xlabel=label_of_time(model.fitted.encoding.unit, time_label),
        ylabel=f"Cumulative incidence ({plain(name)})",
    )
    ax.text(0.02, 0.97, "smooth: predicted; steps: Aalen-Johansen", transform=ax.transAxes, va="top", fontsize="small", color=INK)
    only_two_spines(ax)
    label_ends(ax, ends, names, colours)
    return ax


def _groups(frame: Any, by: Any, prognosis: Any, name: str, n_groups: int) -> list[tuple[str, Integers]]:
    """Labels and rows of groups."""
    if by is not None:
        (values,) = columns_of(frame, [by])
        return [(plain(level), np.flatnonzero(at_level(values, level))) for level in sorted(values.dropna().unique())]
    if n_groups == 1:
        return [("all", np.arange(len(frame)))]
    risk = np.asarray(prognosis.risk(name))
    edges = np.quantile(risk, np.arange(1, n_groups) / n_groups)
    group = np.searchsorted(edges, risk, side="left")
    labels = ["low risk", *(["middle"] if n_groups == 3 else [f"group {k}" for k in range(2, n_groups)]), "high risk"]
    return [(labels[k], np.flatnonzero(group == k)) for k in np.unique(group)]


def refuse_prevented(model: Any, name: str, figure: str) -> None:
    """Refuse a figure that means something else where a terminal event may prevent the endpoint."""
    encoding = getattr(getattr(model, "fitted", None), "encoding", None)
    ordered = getattr(encoding, "ordered", None)
    if ordered is not None and ordered.graph.may_be_prevented((ordered.graph.names.index(name),)):
        raise ValueError(
            f"{name!r} can be prevented by a terminal event, so that {figure} would mislead; draw its incidence (plots.incidence; on "
            "the command line harmonium plot incidence)"
        )
