"""Survival curves of some subjects, or incidences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from harmonium.metrics.competing import competing, is_prevented
from harmonium.metrics.observed import as_found
from harmonium.metrics.predictions import in_unit_of
from harmonium.plots.estimate import KaplanMeier
from harmonium.plots.labels import label_ends
from harmonium.plots.states import refuse_prevented
from harmonium.plots.style import COLOURS, GREY, INK, MARKERS, SMALL, axes_or_new, only_two_spines, plain
from harmonium.plots.times import end_of_axis, endpoint_name, label_of_time, last_event
from harmonium.table.endpoints import Endpoints
from harmonium.table.frames import to_pandas
from harmonium.typing import Array

__all__ = ["survival_curves"]

_MOST_LABELS = 12  # more subjects than this get no label unless asked for
_N_TIMES, _N_MARKS = 241, 5
_LABELS = {"survival": "Probability of no event", "incidence": "Cumulative incidence"}
_FAINT = 0.15  # opacity of bands, which overlap


def survival_curves(
    model: Any,
    X: Any,
    *,
    endpoint: str | None = None,
    measure: Literal["survival", "incidence"] = "survival",
    given: Any = None,
    until: float | None = None,
    labels: Sequence[Any] | None = None,
    cohort: Any = None,
    interval: float | None = None,
    time_label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Survival curves or incidences of some subjects, without and with what is known of their endpoints.

    Parameters
    ----------
    model : SurvivalHarmonium, SurvivalHarmoniumCV or Fitted
    X : DataFrame or array
        A row for each subject.
    endpoint : str, optional
        By default the first.
    measure : "survival" or "incidence"
        The probability of no event, or that it has happened: of an endpoint that a terminal event may prevent, only the latter.
    given : DataFrame, optional
        What is known of the endpoints, such as :func:`harmonium.landmark` makes: curves given this as well are solid, those given the
        covariates only dashed.
    until : float, optional
        Where the axis ends; by default at the last event in training, or the last observed time of the cohort.
    labels : sequence, optional
        Of the subjects; by default the index of ``X``.
    cohort : DataFrame, optional
        A table of endpoints, whose Kaplan-Meier curve, or Aalen-Johansen estimate, is drawn in grey behind.
    interval : float, optional
        Probability of intervals, which are drawn as bands; with ``given``, around the solid curves.
    time_label : str, optional
        Of the axis of time; by default it has the unit, if that is known.
    ax : Axes, optional

    Returns
    -------
    Axes
        Labels stand to the right of it.

    Examples
    --------
    >>> import harmonium as hm
    >>> import matplotlib.pyplot as plt
    >>> X, y = hm.datasets.load_nvalt8()
    >>> model = hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
    >>> ax = hm.plots.survival_curves(model, X[:2], given=hm.landmark(y[:2], 12), cohort=y, time_label="Months")
    >>> len(ax.lines)  # the cohort, and two for each subject
    5
    >>> plt.close()
    """
    name, frame = endpoint_name(model, endpoint), to_pandas(X)
    if measure not in _LABELS:
        raise ValueError(f"measure must be one of {', '.join(map(repr, _LABELS))}; found {measure!r}")
    if measure == "survival":
        refuse_prevented(model, name, "a survival curve")
    if not len(frame):
        raise ValueError("X has no rows: there is nobody to draw a curve of")
    texts = _labels(frame, labels)
    reference = None if cohort is None else _observed(in_unit_of(model, cohort), name, measure)
    if until is None:
        until = last_event(model, name) if reference is None else float(reference[0][-1])
    times = _fine_grid(name, end_of_axis(until), None if given is None else in_unit_of(model, given))
    without = _asked(model.prognosis(X), name, times, measure)
    knowing = None if given is None else _asked(model.prognosis(X, given=given), name, times, measure)
    band = None if interval is None else _asked(model.prognosis(X, given=given), name, times, measure, interval)

    ax = axes_or_new(ax, (6.0, 3.8))
    ax.set(
        xlim=(0.0, times[-1]),
        ylim=(0.0, 1.02),
        xlabel=label_of_time(model.fitted.encoding.unit, time_label),
        ylabel=f"{_LABELS[measure]} ({plain(name)})",
    )
    only_two_spines(ax)
    ends, names, colours = [], [], []
    if reference is not None:
        x, heights = reference
        ax.plot(x, heights, color=GREY, drawstyle="steps-post", linewidth=1.2, zorder=1)
        last = min(float(x[-1]), float(times[-1]))
        ends.append((last, float(heights[np.searchsorted(x, last, side="right") - 1])))
        names.append("cohort")
        colours.append(GREY)
    for row, text in enumerate(texts):
        colour = COLOURS[row % len(COLOURS)]
        if band is not None:
            ax.fill_between(times, band.lower[row], band.upper[row], color=colour, alpha=_FAINT, linewidth=0.0, zorder=0)
        _draw_subject(ax, times, without[row], None if knowing is None else knowing[row], colour, row)
        if text is not None:
            ends.append((float(times[-1]), float((without if knowing is None else knowing)[row, -1])))
            names.append(text)
            colours.append(colour)
    label_ends(ax, ends, names, colours)
    if knowing is not None:
        handles = [Line2D([], [], color=INK, linestyle=line) for line in ("--", "-")]
        ax.legend(handles, ["given covariates only", "given endpoints as well"], frameon=False, fontsize=SMALL, loc="best")
    return ax


def _asked(prognosis: Any, name: str, times: Array, measure: str, interval: float | None = None) -> Any:
    return (prognosis.survival if measure == "survival" else prognosis.cumulative_incidence)(name, times, interval=interval)


def _observed(known: Endpoints, name: str, measure: str) -> tuple[Array, Array]:
    """Corners of what was observed of everybody."""
    known = as_found(known)
    if not is_prevented(known, name):
        times, alive = KaplanMeier.of(known, name)[0].path()
        return times, alive if measure == "survival" else 1.0 - alive
    own = competing(known, name)
    if not own.observed.time.size:
        raise ValueError(f"nothing was observed of {name!r}")
    times = np.unique(np.concatenate([[0.0], own.observed.time[own.observed.event], [own.observed.time.max()]]))
    return times, own.incidence().at(times)


def _draw_subject(ax: Axes, times: Array, without: Array, knowing: Array | None, colour: str, row: int) -> None:
    """One curve, or a dashed and a solid one; few marks, at other places for every subject, tell them apart in greyscale."""
    every = max(times.size // _N_MARKS, 1)
    style: dict[str, Any] = {
        "color": colour,
        "marker": MARKERS[row % len(MARKERS)],
        "markersize": 4.0,
        "markevery": (every // 3 + (row * every) // 4 % every, every),
    }
    if knowing is None:
        ax.plot(times, without, **style)
    else:
        ax.plot(times, without, linestyle="--", linewidth=1.0, markerfacecolor="white", **style)
        ax.plot(times, knowing, **style)


def _labels(frame: Any, labels: Sequence[Any] | None) -> list[str | None]:
    if labels is None:
        return [plain(label) for label in frame.index] if len(frame) <= _MOST_LABELS else [None] * len(frame)
    if isinstance(labels, str) or len(labels) != len(frame):
        found = repr(labels) if isinstance(labels, str) else len(labels)
        raise ValueError(f"labels must be as many as the rows of X, {len(frame)}; found {found}")
    return [plain(label) for label in labels]


def _fine_grid(name: str, end: float, known: Endpoints | None) -> Array:
    """A fine grid that has what is known of the endpoint, where curves have corners."""
    grid = np.linspace(0.0, end, _N_TIMES)
    if known is None or name not in known.names:
        return grid
    e = known.names.index(name)
    corners = np.concatenate([known.lower[:, e], known.upper[:, e]])
    return np.union1d(grid, corners[corners < end])
