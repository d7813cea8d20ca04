"""What was observed: Kaplan-Meier or Aalen-Johansen curves by group, with numbers at risk below."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from harmonium.metrics.competing import competing, is_prevented
from harmonium.metrics.observed import Observed, as_found, right_censored
from harmonium.model.prognosis import endpoint_place
from harmonium.plots.classes import classes_of
from harmonium.plots.labels import label_ends
from harmonium.plots.style import COLOURS, INK, LINES, SMALL, axes_or_new, only_two_spines, plain
from harmonium.plots.times import end_of_axis, label_of_time
from harmonium.table.endpoints import Endpoints, parse_endpoints
from harmonium.table.labels import check_index
from harmonium.table.product_limit import ProductLimit, count_at_risk
from harmonium.typing import Array, Booleans

__all__ = ["kaplan_meier"]

_FIRST_LINE, _LINE = 46.0, 12.0  # points below the axis


def kaplan_meier(
    y: Any,
    *,
    endpoint: str | None = None,
    by: Any = None,
    at_risk: bool = True,
    fewest: int = 5,
    until: float | None = None,
    time_label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Kaplan-Meier curves of an endpoint, or Aalen-Johansen's incidences of one that a terminal event prevents; no model is needed.

    An event that lies within an interval is shown at its end, when it was found.

    Parameters
    ----------
    y : DataFrame
        Endpoints.
    endpoint : str, optional
        By default the first.
    by : Series or array, optional
        A group for each row, such as a column of the covariates; rows in which it is missing are a group of their own. Numbers with more
        than eight values are cut at their tertiles.
    at_risk : bool
        Write numbers at risk below the axis.
    fewest : int
        A curve ends where fewer of its group are at risk: beyond, one event more or less is a large step. If no group has as many, the
        curve of the largest begins.
    until : float, optional
        Where the axis ends; by default with the last curve.
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
    >>> ax = hm.plots.kaplan_meier(y, endpoint="os", by=X["stage"], time_label="Months")
    >>> len([line for line in ax.lines if line.get_drawstyle() == "steps-post"])  # three more groups have fewer than five patients
    4
    >>> plt.close()
    """
    check_index(y, by, "by", "y")
    known = as_found(parse_endpoints(y))
    name = known.names[endpoint_place(known.names, endpoint)]
    curves = [(label, _curve(known.part(rows), name)) for label, rows in classes_of(by, len(known.lower))]
    curves = [(label, own) for label, own in curves if own.time.size]
    if not curves:
        raise ValueError(f"nothing was observed of {name!r}")
    enough = min(fewest, max(own.time.size for _, own in curves))
    lasts = [own.last(enough) for _, own in curves]
    end = end_of_axis(max(lasts) if until is None else until)
    prevented = is_prevented(known, name)
    ax = axes_or_new(ax, (6.0, 4.2))
    labels = [plain(label, 24) for label, _ in curves]
    colours = [COLOURS[number % len(COLOURS)] for number in range(len(curves))]
    ends = {}
    for number, ((_, own), colour, last) in enumerate(zip(curves, colours, lasts, strict=True)):
        if last <= 0.0:
            continue  # there never are enough
        times, heights = own.path(min(last, end))
        ax.plot(times, heights, color=colour, linestyle=LINES[number % len(LINES)], linewidth=1.5, drawstyle="steps-post")
        gone = own.time[own.censored & (own.time <= times[-1])]
        ax.plot(gone, own.at(gone), color=colour, linestyle="none", marker="|", markersize=5.0, alpha=_visible(gone.size))
        ends[number] = (float(times[-1]), float(heights[-1]))
    top = 1.02 if not prevented else min(1.02, 1.25 * max(height for _, height in ends.values()) + 0.02)
    what = "Cumulative incidence" if prevented else "Probability of no event"
    ax.set(xlim=(0.0, end), ylim=(0.0, top), xlabel=label_of_time(known.unit, time_label), ylabel=f"{what} ({plain(name)})")
    only_two_spines(ax)
    title = getattr(by, "name", None)
    if len(curves) > 1:
        label_ends(ax, list(ends.values()), [labels[k] for k in ends], [colours[k] for k in ends], title=title)
    if at_risk:
        _write_numbers(ax, [own for _, own in curves], labels, colours, end, title)
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

    def last(self, enough: int) -> float:
        """The last observed time at which enough subjects are at risk; 0 if there is none."""
        times = np.unique(self.time)
        return float(max(times[count_at_risk(self.time, times, self.entry) >= enough], default=0.0))

    def path(self, last: float) -> tuple[Array, Array]:
        """Corners from 0 to some time."""
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


def _write_numbers(ax: Axes, curves: list[_Curve], labels: list[str], colours: list[str], end: float, title: Any) -> None:
    """Numbers at risk under the ticks of the axis."""
    ticks = np.array([tick for tick in ax.get_xticks() if 0.0 <= tick <= end])
    ax.set_xticks(ticks)

    def write(text: str, at: float, line: int, shift: float = 0.0, **style: Any) -> None:
        place: dict[str, Any] = {"xycoords": ax.get_xaxis_transform(), "textcoords": "offset points", "annotation_clip": False}
        ax.annotate(text, (at, 0.0), xytext=(shift, -_FIRST_LINE - _LINE * line), fontsize=SMALL, va="center", **place, **style)

    widest = max((len(f"{n}") for own in curves for n in own.at_risk(ticks[:1])), default=1)
    write("Number at risk" + ("" if title is None else f", by {plain(title)}"), 0.0, 0, color=INK, ha="left", fontweight="bold")
    for line, (own, label, colour) in enumerate(zip(curves, labels, colours, strict=True), start=1):
        if len(curves) > 1:
            write(label, 0.0, line, shift=-7.0 - 3.5 * widest, color=colour, ha="right")
        for tick, n in zip(ticks, own.at_risk(ticks), strict=True):
            write(f"{n}", float(tick), line, color=INK, ha="center")
