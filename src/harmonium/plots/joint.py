"""The joint density of two endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure, SubFigure
from matplotlib.gridspec import SubplotSpec
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from harmonium.metrics.predictions import in_unit_of
from harmonium.plots.groups import Group, at_level, groups_of, rows_of
from harmonium.plots.style import CENSORED_MARKERS, COLOURS, LINES, MARKERS, SMALL, plain
from harmonium.plots.times import end_of_axis, endpoint_name, last_event
from harmonium.table.frames import columns_of, to_pandas
from harmonium.typing import Array

__all__ = ["JointAxes", "joint_density"]

_N_TIMES = 160
_LONG = 24  # characters of a name in the legend, of which two stand beside each other
_N_ROWS = 128  # whose grids are held at once


class JointAxes(NamedTuple):
    """The joint density, and the marginal densities above and beside it."""

    joint: Axes
    above: Axes
    beside: Axes


def joint_density(
    model: Any,
    X: Any = None,
    *,
    endpoints: Sequence[str] | None = None,
    given: Any = None,
    by: Any = None,
    observed: tuple[Any, Any] | None = None,
    until: tuple[float, float] | None = None,
    probabilities: Any = (0.2, 0.4, 0.6, 0.8),
    filled: bool | None = None,
    time_labels: tuple[str, str] | None = None,
    figure: Figure | SubFigure | SubplotSpec | None = None,
) -> JointAxes:
    """Contours of the joint density of two endpoints, with their marginal densities on top and on the right.

    Parameters
    ----------
    model : SurvivalHarmonium
    X : DataFrame or array, optional
        Subjects, over whose densities is averaged; one row draws one subject. By default a subject of whom nothing is known: covariates
        are integrated out, which asks for a model that was trained with ``objective=0.95`` or less.
    endpoints : pair of str, optional
        To the right and upwards; by default the first two.
    given : DataFrame, optional
        What is known of the endpoints of each row of ``X``; without ``X``, one row, meant for everybody. Where an event time is given
        exactly there is no density.
    by : column name, optional
        Draw a group for each of its levels: rows of ``X`` with that level or, without ``X``, subjects of whom nothing else is known.
    observed : tuple (X, y), optional
        Subjects to mark: dots where both events were seen, crosses at the last time without event otherwise. X may be None without
        ``by``.
    until : pair of float, optional
        Where the axes end; by default at the last event of each endpoint in training.
    probabilities : array_like
        Contours of constant density hold these fractions of the probability that lies within the drawn times, for every group.
    filled : bool, optional
        Fill the contours; by default if there is only one group.
    time_labels : pair of str, optional
        By default the endpoints' names.
    figure : Figure, SubFigure or SubplotSpec, optional
        Where to make the three axes.

    Returns
    -------
    JointAxes
        The three axes: ``joint``, ``above`` and ``beside``.

    Examples
    --------
    >>> import harmonium as hm
    >>> import matplotlib.pyplot as plt
    >>> X, y = hm.datasets.make_three_way(200, random_state=0)
    >>> model = hm.SurvivalHarmonium(n_hidden=2, objective="joint", trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
    >>> axes = hm.plots.joint_density(model, endpoints=("t1", "t2"), by="colour", observed=(X, y))
    >>> len(axes.above.lines)
    2
    >>> plt.close()
    """
    names = _pair(model, endpoints)
    groups = groups_of(model, X, given, by)
    grid = _grid(model, names, until)
    densities = [_densities(model, group, dict(zip(names, grid, strict=True))) for group in groups]
    joints, marginals = [joint for joint, *_ in densities], [margins for _, *margins in densities]
    _refuse_points(joints, names)
    levels = [_levels(density, grid, _checked_probabilities(probabilities)) for density in joints]
    marks = [] if observed is None else _marks(model, observed, names, groups, by)

    axes = _three_axes(figure)
    filled = len(groups) == 1 if filled is None else filled
    for k, density in enumerate(joints):
        colour, line = COLOURS[k % len(COLOURS)], LINES[k % len(LINES)]
        if filled:
            _fill(axes.joint, grid, density, levels[k], colour)
        axes.joint.contour(*grid, density.T, levels=levels[k], colors=colour, linestyles=[line], linewidths=1.1, zorder=3)
        axes.above.plot(grid[0], marginals[k][0], color=colour, linestyle=line, linewidth=1.3)
        axes.beside.plot(marginals[k][1], grid[1], color=colour, linestyle=line, linewidth=1.3)
    for k, (points, seen) in enumerate(marks):
        _draw_marks(axes.joint, points, seen, k)
    unit = model.fitted.encoding.unit
    own = tuple(plain(name) + ("" if unit is None else f" ({unit})") for name in names)
    labels = own if time_labels is None else time_labels
    axes.joint.set(xlim=(0.0, grid[0][-1]), ylim=(0.0, grid[1][-1]), xlabel=labels[0], ylabel=labels[1])
    axes.above.set_ylim(0.0, None)
    axes.beside.set_xlim(0.0, None)
    _add_legends(axes, groups, by, bool(marks))
    return axes


def _pair(model: Any, endpoints: Sequence[str] | None) -> tuple[str, str]:
    first = endpoint_name(model, None)
    chosen = tuple(model.endpoint_names[:2]) if endpoints is None else endpoints
    if isinstance(chosen, str) or len(chosen) != 2 or chosen[0] == chosen[1]:
        found = f"the model has only {first!r}" if endpoints is None else f"found {endpoints!r}"
        raise ValueError(f"a joint density is of two endpoints; {found}")
    return endpoint_name(model, chosen[0]), endpoint_name(model, chosen[1])


def _grid(model: Any, names: tuple[str, str], until: tuple[float, float] | None) -> list[Array]:
    """Times of both endpoints, without 0, where a density may not be defined."""
    if until is not None and len(until) != 2:
        raise ValueError(f"until must be a pair, one time for each endpoint; found {len(until)}")
    ends = [last_event(model, name) for name in names] if until is None else [end_of_axis(end) for end in until]
    return [np.linspace(0.0, end, _N_TIMES + 1)[1:] for end in ends]


def _densities(model: Any, group: Group, times: dict[str, Array]) -> list[Array]:
    """Joint density and both marginal ones, averaged over the rows of a group, some at a time."""
    totals: list[Any] = [0.0, 0.0, 0.0]
    for start in range(0, len(group.X), _N_ROWS):
        rows = slice(start, start + _N_ROWS)
        prognosis = model.prognosis(group.X.iloc[rows], given=rows_of(group.given, rows))
        answers = [prognosis.joint_density(times), *(prognosis.density(name, at) for name, at in times.items())]
        totals = [total + answer.sum(axis=0) for total, answer in zip(totals, answers, strict=True)]
    return [np.asarray(total / len(group.X)) for total in totals]


def _refuse_points(joints: list[Array], names: tuple[str, str]) -> None:
    if any(np.isnan(density).any() for density in joints):
        raise ValueError(
            f"an event time of {names[0]!r} or {names[1]!r} is given exactly, so that the other has a density but both together have none; "
            "draw survival_curves of the other"
        )


def _levels(density: Array, grid: list[Array], probabilities: Array) -> Array:
    """Densities that are exceeded in regions with these probabilities of the probability on the grid, increasing."""
    mass = (density * np.outer(np.gradient(grid[0]), np.gradient(grid[1]))).ravel()
    order = np.argsort(density, axis=None)[::-1]
    held = np.cumsum(mass[order])
    return np.unique(np.interp(probabilities, held / held[-1], density.ravel()[order]))


def _checked_probabilities(probabilities: Any) -> Array:
    out = np.asarray(probabilities, dtype=np.float64)
    if out.ndim != 1 or not out.size or not ((out > 0.0) & (out < 1.0)).all():
        raise ValueError(f"probabilities must be some numbers between 0 and 1; found {probabilities!r}")
    return out


def _marks(
    model: Any, observed: tuple[Any, Any], names: tuple[str, str], groups: list[Group], by: Any
) -> list[tuple[Array, NDArray[np.bool_]]]:
    """For each group, places of its observed subjects and whether both events were seen."""
    if not isinstance(observed, tuple | list) or len(observed) != 2:
        raise ValueError("observed must be a pair, covariates and endpoints")
    X, y = observed
    known = in_unit_of(model, y)
    missing = [name for name in names if name not in known.names]
    if missing:
        raise ValueError(f"observed endpoints must have {missing[0]!r}; found {', '.join(map(repr, known.names))}")
    columns = [known.names.index(name) for name in names]
    lower, upper = known.lower[:, columns], known.upper[:, columns]
    points = np.where(np.isfinite(upper), 0.5 * (lower + np.where(np.isfinite(upper), upper, 0.0)), lower)
    seen, shown = (lower == upper).all(axis=1), ~known.unknown[:, columns].any(axis=1)
    if by is None:
        return [(points[shown], seen[shown])]
    (values,) = columns_of(to_pandas(X), [by])
    if len(values) != len(points):
        raise ValueError(f"observed covariates and endpoints must have as many rows; found {len(values)} and {len(points)}")
    chosen = [shown & at_level(values, group.level) for group in groups]
    return [(points[rows], seen[rows]) for rows in chosen]


def _three_axes(figure: Figure | SubFigure | SubplotSpec | None) -> JointAxes:
    if figure is None:
        figure = plt.figure(figsize=(5.4, 5.4), layout="constrained")
    if not isinstance(figure, Figure | SubFigure | SubplotSpec):
        raise TypeError(f"figure must be a Matplotlib Figure, SubFigure or SubplotSpec; found {type(figure).__name__}")
    cell = figure if isinstance(figure, SubplotSpec) else figure.add_gridspec(1, 1)[0]
    parent: Any = cell.get_topmost_subplotspec().get_gridspec().figure  # type: ignore[attr-defined] # missing in Matplotlib's stubs
    inner = cell.subgridspec(2, 2, width_ratios=[4, 1], height_ratios=[1, 4], wspace=0.05, hspace=0.05)
    joint = parent.add_subplot(inner[1, 0])
    axes = JointAxes(joint, parent.add_subplot(inner[0, 0], sharex=joint), parent.add_subplot(inner[1, 1], sharey=joint))
    for side in axes[1:]:  # densities that integrate to one need no numbers
        side.tick_params(labelleft=False, labelbottom=False, length=0)
        side.spines[:].set_visible(False)
    return axes


def _fill(ax: Axes, grid: list[Array], density: Array, at: Array, colour: str) -> None:
    probabilities = np.linspace(0.15, 0.75, at.size) if at.size > 1 else [0.3]
    shades = [tuple(1.0 - shade * (1.0 - part) for part in to_rgb(colour)) for shade in probabilities]
    ax.contourf(*grid, density.T, levels=[*at, np.inf], colors=shades, zorder=1)


def _draw_marks(ax: Axes, points: Array, seen: NDArray[np.bool_], k: int) -> None:
    for chosen, markers in ((seen, MARKERS), (~seen, CENSORED_MARKERS)):
        ax.plot(*points[chosen].T, alpha=0.7, zorder=2, **_mark(markers, k))


def _mark(markers: Sequence[str], k: int) -> dict[str, Any]:
    """How subjects of a group are marked: small and solid, or crosses."""
    size, edge = (2.6, 0.0) if markers is MARKERS else (4.0, 0.7)
    return {"linestyle": "none", "color": COLOURS[k % len(COLOURS)], "marker": markers[k], "markersize": size, "markeredgewidth": edge}


def _add_legends(axes: JointAxes, groups: list[Group], by: Any, marked: bool) -> None:
    """Groups above everything, where long names have room; marks in the corner between the marginals."""
    n = len(groups)
    style: dict[str, Any] = {"frameon": False, "fontsize": SMALL, "borderaxespad": 0.0}
    if by is not None:
        lines = [Line2D([], [], color=COLOURS[k % len(COLOURS)], linestyle=LINES[k % len(LINES)]) for k in range(n)]
        names = [f"{plain(by)}: {plain(group.level)}" for group in groups]
        outside: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.05), "handlelength": 3.0}
        if max(map(len, names)) <= _LONG:
            axes.above.legend(lines, names, ncols=2, **outside, **style)
        else:
            names, title = [plain(group.level) for group in groups], plain(by)
            axes.above.legend(lines, names, title=title, title_fontsize=SMALL, alignment="left", **outside, **style)
    if marked:
        shapes = [tuple(Line2D([], [], **_mark(markers, k)) for k in range(n)) for markers in (MARKERS, CENSORED_MARKERS)]
        style |= {
            "bbox_to_anchor": (0.0, 1.08),
            "handlelength": 1.5,
            "handletextpad": 0.4,
            "handler_map": {tuple: HandlerTuple(ndivide=None, pad=0.4)},
        }
        axes.beside.legend(shapes, ["both seen", "censored"], loc="lower left", **style).set_in_layout(False)
