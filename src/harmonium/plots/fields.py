"""What hidden units do to columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, Normalize

from harmonium.plots.style import COLOURS, INK, SMALL, axes_or_new, plain
from harmonium.typing import Array

__all__ = ["receptive_fields"]

# Blue is darker than orange, so that signs differ in greyscale too.
_DIVERGING = LinearSegmentedColormap.from_list("blue-white-orange", [COLOURS[0], "#FFFFFF", COLOURS[4]])
_BETWEEN_MEASURES, _BETWEEN_COLUMNS = 1.4, 0.35  # space, in rows
_LARGEST, _SMALLEST = 8.0, 4.0  # font sizes of numbers


def receptive_fields(model: Any, X: Any, *, given: Any = None, ax: Axes | None = None) -> Axes:
    """What each hidden unit does to each column when it goes from off to on, as a table of shaded numbers.

    Parameters
    ----------
    model : SurvivalHarmonium
    X, given
        As in :meth:`harmonium.SurvivalHarmonium.receptive_fields`.
    ax : Axes, optional

    Returns
    -------
    Axes
        A block for each measure, endpoints last. Shades compare numbers within a block: the largest has full colour, blue if negative,
        orange if positive. Cells are empty where a unit's harmonium does not have the column: ordered endpoints have one each.

    Examples
    --------
    >>> import harmonium as hm
    >>> import matplotlib.pyplot as plt
    >>> X, y = hm.datasets.make_three_way(200, random_state=0)
    >>> model = hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
    >>> ax = hm.plots.receptive_fields(model, X, given=y)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['colour: red', 't1', 't2']
    >>> plt.close()
    """
    table = model.receptive_fields(X, given=given)
    if not table.shape[1]:
        raise ValueError("the model has no hidden units, hence no receptive fields")
    blocks = [(str(measure), _columns(block)) for measure, block in table.groupby(level="measure", sort=False)]
    height = len(table) + sum(_BETWEEN_MEASURES + _BETWEEN_COLUMNS * len(columns) for _, columns in blocks) - _BETWEEN_COLUMNS
    names = _row_labels(table.index)
    ax = axes_or_new(ax, (0.3 + 0.075 * max(map(len, names)) + max(0.62 * table.shape[1], 2.1), 0.4 + 0.21 * height))
    ax.set(xlim=(0.0, table.shape[1]), ylim=(height, 0.0))
    size = _number_size(ax, table.shape[1], height)
    top = -_BETWEEN_COLUMNS
    ticks: list[float] = []
    labels: list[str] = []
    for measure, columns in blocks:
        top += _BETWEEN_MEASURES
        ax.text(0.0, top + _BETWEEN_COLUMNS - 0.25, measure, ha="left", va="bottom", fontsize=SMALL, fontstyle="italic", color=INK)
        largest = max(float(np.nanmax(np.abs(column.to_numpy()), initial=0.0)) for column in columns) or 1.0
        for column in columns:
            top += _BETWEEN_COLUMNS
            _draw_cells(ax, column.to_numpy(dtype=np.float64), top, Normalize(-largest, largest), size)
            ticks.extend(top + 0.5 + np.arange(len(column)))
            labels.extend(_row_labels(column.index))
            top += len(column)
    ax.set_yticks(ticks, labels, fontsize=SMALL)
    units = ["\n".join(plain(name).rsplit(" ", 1)) for name in table.columns]  # an ordered endpoint's name on a line of its own
    ax.set_xticks(0.5 + np.arange(table.shape[1]), units, fontsize=SMALL)
    ax.tick_params(length=0, top=False, bottom=False, labeltop=True, labelbottom=False)
    ax.spines[:].set_visible(False)
    return ax


def _columns(block: pd.DataFrame) -> list[pd.DataFrame]:
    """Rows of a column with several levels together, and rows of neighbouring columns without levels."""
    names = block.index.get_level_values("column")
    several = names.duplicated(keep=False)
    begins = (names[1:] != names[:-1]) & (several[1:] | several[:-1])
    return [block.iloc[rows] for rows in np.split(np.arange(len(block)), np.flatnonzero(begins) + 1)]


def _draw_cells(ax: Axes, values: Array, top: float, scale: Normalize, size: float) -> None:
    edges = np.arange(values.shape[1] + 1.0), top + np.arange(values.shape[0] + 1.0)
    ax.pcolormesh(*edges, np.ma.masked_invalid(values), cmap=_DIVERGING, norm=scale, edgecolors="white", linewidth=0.5)
    for row, column in np.argwhere(np.isfinite(values)):
        value = values[row, column]
        red, green, blue, _ = _DIVERGING(scale(value))
        ink = "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.5 else "black"
        ax.text(column + 0.5, top + row + 0.5, _number(value), ha="center", va="center_baseline", fontsize=size, color=ink)


def _number(value: float) -> str:
    """Two digits with a sign, but none for zero."""
    text = f"{value:+.2f}"
    return "0.00" if float(text) == 0.0 else text.replace("-", "\N{MINUS SIGN}")


def _number_size(ax: Axes, n_columns: int, n_rows: float) -> float:
    """The font size that fits into a cell."""
    extent, points = ax.get_window_extent(), 72.0 / ax.figure.dpi
    wide, high = extent.width * points / n_columns, extent.height * points / n_rows
    return float(np.clip(min(wide / 3.6, 0.75 * high), _SMALLEST, _LARGEST))


def _row_labels(index: pd.MultiIndex) -> list[str]:
    """Column and level; of a column with many levels, its name only at the first."""
    out, last = [], None
    for column, level, _ in index:
        if level == "":
            out.append(plain(column))
        else:
            out.append(plain(level) if column == last else f"{plain(column)}: {plain(level)}")
        last = column
    return out
