"""What was observed: Kaplan-Meier or Aalen-Johansen curves by group, with numbers at risk below."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from harmonium.metrics.competing import competing, is_prevented
from harmonium.metrics.observed import Observed, right_censored
from harmonium.model.prognosis import endpoint_place
from harmonium.plots.groups import at_level
from harmonium.plots.labels import label_ends
from harmonium.plots.style import COLOURS, INK, LINES, SMALL, axes_or_new, only_two_spines, plain
from harmonium.plots.times import end_of_axis, label_of_time
from harmonium.table.endpoints import Endpoints, parse_endpoints
from harmonium.table.labels import check_index
from harmonium.table.product_limit import ProductLimit, count_at_risk
from harmonium.typing import Array, Booleans

__all__ = ["observed"]

_MOST_GROUPS = 8
_MISSING = "missing"
_FIRST_LINE, _LINE = 46.0, 12.0  # points below the axis


def observed(
    y: Any,
    *,
    endpoint: str | None = None,
    by: Any = None,
    at_risk: bool = True,
    until: float | None = None,
    time_label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Kaplan-Meier curves of an endpoint, or Aalen-Johansen's incidences of one that a terminal event prevents; no model is needed.

    Parameters
    ----------
    y : DataFrame
        Endpoints.
    endpoint : str, optional
        By default the first.
    by : Series or array, optional
        A group for each row, such as a column of the covariates; rows in which it is missing are a group of their own.
    at_risk : bool
        Write numbers at risk below the axis.
    until : float, optional
        Where the axis ends; by default at the last observed time.
    time_label : str, optional
        Of the axis of time; by default it has the unit, if that is known.
    ax : Axes, optional

    Returns
    -------
    Axes
        Ticks across the curves are times of censoring.

    Examples
    --------
    >>> import harmonium as hm
    >>> import matplotlib.pyplot as plt
    >>> X, y = hm.datasets.load_nvalt8()
    >>> ax = hm.plots.observed(y, endpoint="os", by=X["stage"], time_label="Months")
    >>> len([line for line in ax.lines if line.get_drawstyle() == "steps-post"])
    7
    >>> plt.close()
    """
    check_index(y, by, "by", "y")
    known = parse_endpoints(y)
    name = known.names[endpoint_place(known.names, endpoint)]
    curves = [(label, _curve(known.part(rows), name)) for label, rows in _groups(by, len(known.lower))]
    curves = [(label, own) for label, own in curves if own.time.size]
    if not curves:
        raise ValueError(f"nothing was observed of {name!r}")
    end = end_of_axis(max(float(own.time.max()) for _, own in curves) if until is None else until)
    prevented = is_prevented(known, name)
    ax = axes_or_new(ax, (6.0, 4.2))
    ends, colours = [], []
    for number, (_, own) in enumerate(curves):
        colour = COLOURS[number % len(COLOURS)]
        times, heights = own.path(end)
        ax.plot(times, heights, color=colour, linestyle=LINES[number % len(LINES)], linewidth=1.5, drawstyle="steps-post")
        gone = own.time[own.censored & (own.time <= end)]
        ax.plot(gone, own.at(gone), color=colour, linestyle="none", marker="|", markersize=5.0, alpha=_visible(gone.size))
        ends.append((float(times[-1]), float(heights[-1])))
        colours.append(colour)
    top = 1.02 if not prevented else min(1.02, 1.25 * max(height for _, height in ends) + 0.02)
    what = "Cumulative incidence" if prevented else "Probability of no event"
    ax.set(xlim=(0.0, end), ylim=(0.0, top), xlabel=label_of_time(known.unit, time_label), ylabel=f"{what} ({plain(name)})")
    only_two_spines(ax)
    labels = [plain(label, 24) for label, _ in curves]
    if len(curves) > 1:
        label_ends(ax, ends, labels, colours)
    if at_risk:
        _write_numbers(ax, [own for _, own in curves], labels, colours, end)
    return ax


def _visible(n: int) -> float:
    """How opaque the ticks of n censored subjects are: many side by side would look like a thick line."""
    return float(np.clip(60.0 / max(n, 1), 0.12, 0.6))


class _Curve:
    """What was observed of a group, and its estimate."""

    def __init__(self, found: Observed, other: Booleans | None, estimate: Any) -> None:
        self.time, self.entry = found.time, found.entry
        self.censored: Booleans = ~found.event if other is None else ~found.event & ~other
        self._estimate, self._rises = estimate, other is not None
        self._steps = np.unique(found.time[found.event])

    def at(self, times: Array) -> Array:
        """The estimate at times."""
        return np.asarray(self._estimate.at(times))

    def path(self, end: float) -> tuple[Array, Array]:
        """Corners from 0 to the last observed time, or the end of the axis."""
        last = min(float(self.time.max()), end)
        times = np.unique(np.concatenate([[0.0], self._steps[self._steps <= last], [last]]))
        return times, self.at(times)

    def at_risk(self, times: Array) -> list[int]:
        """How many are still observed, just before each time."""
        return [int(n) for n in count_at_risk(self.time, times, self.entry)]


def _curve(known: Endpoints, name: str) -> _Curve:
    if is_prevented(known, name):
        both = competing(known, name)
        return _Curve(both.observed, both.other, both.incidence() if both.observed.time.size else None)
    found = right_censored(known, name)
    return _Curve(found, None, ProductLimit.of_events(found.time, found.event, found.entry) if found.time.size else None)


def _groups(by: Any, n_rows: int) -> list[tuple[str, Any]]:
    """Labels and rows; levels in the order of a category, or sorted."""
    if by is None:
        return [("all", np.arange(n_rows))]
    values = by.reset_index(drop=True) if isinstance(by, pd.Series) else pd.Series(np.asarray(by))
    if len(values) != n_rows:
        raise ValueError(f"by must have a group for each of {n_rows} rows; found {len(values)}")
    present = values.dropna().unique()
    levels = [level for level in values.cat.categories if level in present] if hasattr(values, "cat") else sorted(present, key=_order)
    if len(levels) > _MOST_GROUPS:
        raise ValueError(
            f"at most {_MOST_GROUPS} groups can be distinguished; by has {len(levels)} values. Cut it into classes (pandas.qcut)"
        )
    groups = [(str(level), np.flatnonzero(at_level(values, level))) for level in levels]
    missing = np.flatnonzero(values.isna().to_numpy())
    return [*groups, *([(_MISSING, missing)] if missing.size else [])]


def _order(level: Any) -> tuple[str, Any]:
    return ("", level) if isinstance(level, int | float | np.integer | np.floating) else (type(level).__name__, level)


def _write_numbers(ax: Axes, curves: list[_Curve], labels: list[str], colours: list[str], end: float) -> None:
    """Numbers at risk under the ticks of the axis."""
    ticks = np.array([tick for tick in ax.get_xticks() if 0.0 <= tick <= end])
    ax.set_xticks(ticks)

    def write(text: str, at: float, line: int, shift: float = 0.0, **style: Any) -> None:
        place: dict[str, Any] = {"xycoords": ax.get_xaxis_transform(), "textcoords": "offset points", "annotation_clip": False}
        ax.annotate(text, (at, 0.0), xytext=(shift, -_FIRST_LINE - _LINE * line), fontsize=SMALL, va="center", **place, **style)

    widest = max((len(f"{n}") for own in curves for n in own.at_risk(ticks[:1])), default=1)
    write("Number at risk", 0.0, 0, color=INK, ha="left", fontweight="bold")
    for line, (own, label, colour) in enumerate(zip(curves, labels, colours, strict=True), start=1):
        if len(curves) > 1:
            write(label, 0.0, line, shift=-7.0 - 3.5 * widest, color=colour, ha="right")
        for tick, n in zip(ticks, own.at_risk(ticks), strict=True):
            write(f"{n}", float(tick), line, color=INK, ha="center")
