r"""Scales of numeric columns: smooth increasing maps of values to normal scores and back, on which the Gaussian unit lives.

The score of a value is the normal quantile of its rank, so skewed, bounded and heaped columns become bell-shaped, and what one outlier
measures does not matter, only that it is the largest. Through a few of these pairs goes a monotone rational quadratic spline (Gregory and
Delbourgo 1982), whose inverse is a closed form:

* **knots** at quantiles that are equally spaced on the normal scale, and at the ends of the column;
* **heaps**, values that one row in twenty has, are knots of their own: score and both borders. A drawn score between the borders is
  the value itself;
* **beyond the ends** the score grows like ln(1 + ln(1 + x)): finite for every number, and strictly increasing. An end is the last value
  before a fence, so that values far outside move no one else's score.

The ``linear`` scale is the paper's: values minus their mean, divided by their standard deviation.

A fit depends on distinct values and how often they occur, whatever their order, their unit and their sign (:class:`Tally`).

The grid on which a column's values lie: whole numbers, multiples of ten, two decimals.

A monotone rational quadratic spline (Gregory and Delbourgo 1982) whose tails grow like ln(1 + ln(1 + x)).

Between two knots with chord :math:`\delta` and slopes :math:`d_0, d_1`, at the part :math:`\xi` of the way,

.. math:: y = y_0 + (y_1 - y_0) \frac{\delta \xi^2 + d_0 \xi (1 - \xi)}{\delta + (d_0 + d_1 - 2 \delta) \xi (1 - \xi)},

which increases for all positive slopes, and whose inverse is the root of a quadratic equation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Annotated, Any

import numpy as np

from harmonium.numerics.normal_quantile import normal_quantile
from harmonium.table.column_summary import Tally
from harmonium.table.rules import Finite, Positive, ascending, one_of
from harmonium.typing import Array, Integers

__all__ = [
    "NUMERIC_SCALES",
    "Grid",
    "Heap",
    "NumericScale",
    "RationalSpline",
    "check_numeric_scale",
    "fit_numeric_scale",
    "grid_of",
    "linear_scale",
]

_MOST_DECIMALS = 8
_LARGEST = 2.0**53  # whole numbers up to here are exact
_SURE = 100.0  # how unlikely a common step must be to be taken for a rule


@dataclass(frozen=True)
class Grid:
    """Values (origin + step * k) / 10**decimals, for whole numbers k.

    Examples
    --------
    >>> import numpy as np
    >>> grid_of(np.array([0.25, 1.5, 2.01]))
    Grid(origin=25, step=1, decimals=2)
    >>> grid_of(np.array([10.0, 20.0, 40.0, 90.0])).nearest(np.array([33.0]))
    array([30.])
    """

    origin: int
    step: int
    decimals: int

    def nearest(self, values: Array, lowest: float = -np.inf, highest: float = np.inf) -> Array:
        """The nearest points of the grid that do not lie outside a range."""
        unit = 10.0**self.decimals
        low, high = (np.ceil((lowest * unit - self.origin) / self.step - 1e-6), np.floor((highest * unit - self.origin) / self.step + 1e-6))
        k = np.clip(np.round((values * unit - self.origin) / self.step), low, high)
        return np.asarray((self.origin + self.step * k) / unit)

    def rules(self) -> dict[str, bool]:
        """What holds of whatever was learned; a model file in which it does not is refused."""
        return {"it must have a positive step and few decimals": self.step > 0 and 0 <= self.decimals <= _MOST_DECIMALS}


def grid_of(values: Array, precision: float = 2.0**-52) -> Grid | None:
    """The coarsest grid of distinct ascending values; None if they have many decimals.

    A step of more than one unit of the last decimal is believed if by chance so many values would hardly all lie on it.
    """
    size = float(np.abs(values).max())
    for decimals in range(_MOST_DECIMALS + 1):
        scaled = values * 10.0**decimals
        if size * 10.0**decimals * max(precision * 2.0**52, 1.0) >= _LARGEST:
            return None
        whole = np.round(scaled)
        if (np.abs(scaled - whole) <= 4.0 * precision * np.abs(whole)).all():
            points = whole.astype(np.int64)
            step = int(np.gcd.reduce(points - points[0]))
            rule = step > 1 and (values.size - 1) * np.log(step) >= np.log(_SURE)
            return Grid(int(points[0]), step if rule else 1, decimals)
    return None


_TAIL = 0.5  # how far a tail has risen where it has clearly bent
_LARGEST_NUMBER = float(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class RationalSpline:
    """A strictly increasing map of all numbers, with a continuous slope.

    Attributes
    ----------
    x, y, slopes : ndarray
        At the knots; x in units of ``size``.
    size : float
        A power of two, so that numbers of any magnitude lose nothing.
    """

    x: Array
    y: Array
    slopes: Array
    size: float

    @classmethod
    def through(cls, x: Array, y: Array) -> RationalSpline:
        """Through knots, both ascending. Slopes are weighted harmonic means of the chords on both sides (Fritsch and Butland 1984)."""
        size = float(2.0 ** np.clip(np.floor(np.log2(max(float(np.abs(x).max()), 1e-300))), -1020.0, 1020.0))
        u = x / size
        width = np.diff(u)
        chord = np.diff(y) / width
        slopes = np.empty(u.size)
        slopes[[0, -1]] = chord[[0, -1]]
        if u.size > 2:
            first, second = 2.0 * width[1:] + width[:-1], width[1:] + 2.0 * width[:-1]
            slopes[1:-1] = (first + second) / (first / chord[:-1] + second / chord[1:])
            for end, inner, nearest in ((0, 1, 0), (-1, -2, -1)):
                slopes[end] = np.clip(2.0 * chord[nearest] - slopes[inner], 0.3 * chord[nearest], 3.0 * chord[nearest])
        return cls(u, y, slopes, size)

    def at(self, values: Array) -> Array:
        """The map."""
        with np.errstate(over="ignore"):
            u = np.clip(values / self.size, -_LARGEST_NUMBER, _LARGEST_NUMBER)
        place, xi = self._piece(u)
        rise, left, right = self._shape(place)
        between = xi * (1.0 - xi)
        out = self.y[place] + rise * (xi**2 + left * between) / (1.0 + (left + right - 2.0) * between)
        low, high = self.x[0] - u, u - self.x[-1]
        out = np.where(low > 0.0, self.y[0] - _tail(low, self.slopes[0]), out)
        return np.asarray(np.where(high > 0.0, self.y[-1] + _tail(high, self.slopes[-1]), out))

    def inverse(self, scores: Array) -> Array:
        """The inverse of the map."""
        place = np.clip(np.searchsorted(self.y, scores, side="right") - 1, 0, self.y.size - 2).astype(np.int64)
        rise, left, right = self._shape(place)
        t = np.clip(scores - self.y[place], 0.0, rise) / rise
        bend = t * (left + right - 2.0)
        a, b, c = 1.0 - left + bend, left - bend, -t
        xi = np.clip(2.0 * c / (-b - np.sqrt(np.maximum(b * b - 4.0 * a * c, 0.0))), 0.0, 1.0)
        u = np.where(xi < 0.5, self.x[place] + xi * (self.x[place + 1] - self.x[place]), 0.0)
        u = np.where(xi >= 0.5, self.x[place + 1] - (1.0 - xi) * (self.x[place + 1] - self.x[place]), u)
        low, high = self.y[0] - scores, scores - self.y[-1]
        u = np.where(low > 0.0, self.x[0] - _tail_inverse(low, self.slopes[0]), u)
        u = np.where(high > 0.0, self.x[-1] + _tail_inverse(high, self.slopes[-1]), u)
        with np.errstate(over="ignore"):
            return np.asarray(np.where(np.isnan(scores), np.nan, np.clip(u * self.size, -_LARGEST_NUMBER, _LARGEST_NUMBER)))

    def _piece(self, u: Array) -> tuple[Integers, Array]:
        """The piece in which each number lies, and how far along."""
        place = np.clip(np.searchsorted(self.x, u, side="right") - 1, 0, self.x.size - 2).astype(np.int64)
        inside = np.clip(u, self.x[0], self.x[-1])
        return place, np.clip((inside - self.x[place]) / (self.x[place + 1] - self.x[place]), 0.0, 1.0)

    def _shape(self, place: Integers) -> tuple[Array, Array, Array]:
        """Rise of pieces, and slopes at both their ends relative to the chord."""
        rise = self.y[place + 1] - self.y[place]
        chord = rise / (self.x[place + 1] - self.x[place])
        return rise, self.slopes[place] / chord, self.slopes[place + 1] / chord


def _tail(distance: Array, slope: float) -> Array:
    with np.errstate(over="ignore"):
        z = np.minimum(np.maximum(distance, 0.0) * (slope / _TAIL), _LARGEST_NUMBER)
    return np.asarray(_TAIL * np.log1p(np.log1p(z)))


def _tail_inverse(height: Array, slope: float) -> Array:
    with np.errstate(over="ignore"):
        return np.minimum(np.expm1(np.expm1(np.maximum(height, 0.0) / _TAIL)) * (_TAIL / slope), _LARGEST_NUMBER)


NUMERIC_SCALES = ("scores", "linear")

_STEP, _LEVELS = 0.4, 6  # knots at normal scores 0, ±0.4, ..., ±2.4, as far as there are rows beyond
_ROWS_BEYOND = 2.0
_FEW = 9  # distinct values, all of which are knots
_HEAP_SHARE, _HEAP_ROWS = 0.05, 5.0  # a value with so large a part of the rows is a heap
_FENCE = 4.0  # distances of the outermost quantile from the median, beyond which a value is an outlier
_NEAREST = 1e-100  # knots, relative to the largest
_MARGIN = 0.05  # of the range, by which draws may leave it
_NATURAL = (0.0, 1.0, 100.0)  # bounds that a column may have


@dataclass(frozen=True)
class Heap:
    """A value that many rows have, and the scores between which a draw is this value."""

    value: Finite
    lower: float
    upper: float

    def rules(self) -> dict[str, bool]:
        """What holds of whatever was learned; a model file in which it does not is refused."""
        return {"its scores must ascend": self.lower < self.upper}


@dataclass(frozen=True)
class NumericScale:
    """A strictly increasing map of numbers to scores that have mean 0 and standard deviation 1 in training.

    Attributes
    ----------
    name : str
        One of :data:`NUMERIC_SCALES`.
    knots, scores : tuple of float
        Values and their scores, ascending; at least two.
    heaps : tuple of Heap
    grid : Grid or None
        The whole numbers or decimals on which all values lie; None if they lie on none.
    lowest, highest : float
        Of all values in training.
    floor, ceiling : float
        Bounds that no value can pass, as far as the data show: -inf and inf if there are none.
    location, spread : float
        Mean and standard deviation of the normal quantiles of ranks in training, which became scores by them.

    Examples
    --------
    >>> import numpy as np
    >>> scale = fit_numeric_scale(Tally.of(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 5.0, 393.0])))
    >>> scale.to_score(np.array([0.0, 5.0, 393.0, 1e9])).round(2)
    array([-0.83,  1.16,  1.9 ,  3.25])
    >>> scale.from_score(scale.to_score(np.array([0.0, 3.0, 393.0])))
    array([  0.,   3., 393.])
    """

    name: Annotated[str, one_of(NUMERIC_SCALES)]
    knots: tuple[Finite, ...]
    scores: tuple[Finite, ...]
    heaps: tuple[Heap, ...] = ()
    grid: Grid | None = None
    lowest: float = -np.inf
    highest: float = np.inf
    floor: float = -np.inf
    ceiling: float = np.inf
    location: Finite = 0.0
    spread: Positive = 1.0

    def to_score(self, values: Array) -> Array:
        """Scores of values, NaN where missing."""
        values = np.asarray(values, dtype=np.float64)
        if self.name == "linear":
            mean, above = self.knots
            return np.asarray((values - mean) / (above - mean))
        return self._spline.at(values)

    def from_score(self, scores: Array) -> Array:
        """Values at scores, the inverse of :meth:`to_score`, on the column's grid."""
        scores = np.asarray(scores, dtype=np.float64)
        if self.name == "linear":
            mean, above = self.knots
            values = mean + (above - mean) * scores
            return values if self.grid is None else self.grid.nearest(values)
        values = np.clip(self._spline.inverse(scores), *self._limits)
        for heap in self.heaps:
            values = np.where((scores > heap.lower) & (scores < heap.upper), heap.value, values)
        return values if self.grid is None else self.grid.nearest(values, *self._limits)

    def of_probability(self, probability: Array) -> Array:
        """Scores of quantiles of the training rows, between the first and the last that are plausible."""
        first, last = (_normal_probability(self.location + self.spread * end) for end in self.plausible_scores)
        inside = first + np.asarray(probability) * (last - first)
        return (normal_quantile(np.clip(inside, 1e-300, 1.0 - 2.0**-53)) - self.location) / self.spread

    @cached_property
    def plausible_scores(self) -> tuple[float, float]:
        """Between which to draw: the range in training without outliers and a little beyond, but not past a heap at its end or a bound."""
        linear = self.name == "linear"
        (low, high) = (self.lowest, self.highest) if linear else self._stretched(_MARGIN)
        lower, upper = self.to_score(np.array([low, high]))
        heaps = {heap.value for heap in self.heaps}
        return (
            -np.inf if self.knots[0] in heaps else float(lower),
            np.inf if self.knots[-1] in heaps else float(upper),
        )

    @cached_property
    def _limits(self) -> tuple[float, float]:
        """What no draw can pass."""
        low, high = self._stretched(1.0)
        return min(low, self.lowest), max(high, self.highest)

    def _stretched(self, part: float) -> tuple[float, float]:
        """The range of the knots with a part of it added on both sides, inside the column's bounds."""
        first, last = self.knots[0], self.knots[-1]
        margin = part * last - part * first
        return max(first - margin, self.floor), min(last + margin, self.ceiling)

    @cached_property
    def _spline(self) -> RationalSpline:
        return RationalSpline.through(np.array(self.knots), np.array(self.scores))

    def rules(self) -> dict[str, bool]:
        """What holds of whatever was learned; a model file in which it does not is refused."""
        n_knots, needed = len(self.knots), len(self.knots) == 2 or (self.name != "linear" and len(self.knots) > 2)
        return {
            f"it needs two knots, more only if it is not linear, and as many scores; found {n_knots}": needed
            and len(self.scores) == n_knots,
            "its knots and scores must ascend": ascending(self.knots) and ascending(self.scores),
            "its bounds must ascend": self.floor <= self.lowest <= self.highest <= self.ceiling,
        }


def check_numeric_scale(name: Any) -> None:
    """Refuse a scale that there is not."""
    if name not in NUMERIC_SCALES:
        raise ValueError(f"numeric_scale must be one of {', '.join(NUMERIC_SCALES)}; found {name!r}")


def fit_numeric_scale(tally: Tally, precision: float = 2.0**-52) -> NumericScale:
    """Fit a scale to values and how often they occur, of which there must be at least two.

    Parameters
    ----------
    tally : Tally
    precision : float
        Relative, of the type in which the values were given.
    """
    ranks = _Ranks.of(tally)
    few = ranks.values.size <= _FEW
    own = dict(zip(ranks.values.tolist(), ranks.scores.tolist(), strict=True)) if few else _quantile_knots(ranks)
    points = {**own, **_heap_knots(ranks)}
    knots = np.array(sorted(points))
    scores = np.array([points[knot] for knot in knots.tolist()])
    rising = (np.diff(np.maximum.accumulate(scores)) > 0.0) & (np.diff(knots) > _NEAREST * np.abs(knots).max())
    knots, scores = (own[np.concatenate([[True], rising])] for own in (knots, scores))
    lowest, highest = float(tally.values[0]), float(tally.values[-1])
    floor, ceiling = _bounds(lowest, highest)
    return NumericScale(
        "scores",
        tuple(knots.tolist()),
        tuple(((scores - ranks.mean) / ranks.deviation).tolist()),
        tuple(_heaps(ranks)),
        grid_of(tally.values, precision),
        lowest,
        highest,
        floor,
        ceiling,
        ranks.mean,
        ranks.deviation,
    )


def linear_scale(tally: Tally, mean: float, deviation: float, precision: float = 2.0**-52) -> NumericScale:
    """The paper's: how many standard deviations a value lies above the mean."""
    lowest, highest = float(tally.values[0]), float(tally.values[-1])
    grid = grid_of(tally.values, precision)
    return NumericScale("linear", (mean, mean + deviation), (0.0, 1.0), (), grid, lowest, highest)


@dataclass(frozen=True)
class _Ranks:
    """Distinct values with the normal scores of their ranks, and of the borders between them."""

    values: Array
    counts: Array
    share_below: Array  # of the rows: below each value, and in the end 1
    scores: Array
    is_heap: Any

    @classmethod
    def of(cls, tally: Tally) -> _Ranks:
        counts = np.asarray(tally.counts, dtype=np.float64)
        total = counts.sum()
        share = np.concatenate([[0.0], np.cumsum(counts) / total])
        middle = np.where(share[:-1] + share[1:] < 1.0, 0.5 * (share[:-1] + share[1:]), 0.5)
        above = np.concatenate([np.cumsum(counts[::-1])[::-1] / total, [0.0]])
        upper_half = 0.5 * (above[:-1] + above[1:])
        scores = np.where(share[:-1] + share[1:] < 1.0, normal_quantile(middle), -normal_quantile(np.minimum(upper_half, 0.5)))
        is_heap = (counts >= _HEAP_SHARE * total) & (counts >= _HEAP_ROWS)
        borders = _border_scores(share, above)
        bell = np.exp(-0.5 * borders**2) / np.sqrt(2.0 * np.pi)
        scores = np.where(is_heap, (bell[:-1] - bell[1:]) * total / counts, scores)  # the mean between the borders
        return cls(tally.values, counts, share, scores, is_heap)

    @property
    def total(self) -> float:
        return float(self.counts.sum())

    @property
    def mean(self) -> float:
        return float(self.counts @ self.scores) / self.total

    @property
    def deviation(self) -> float:
        return float(np.sqrt(self.counts @ (self.scores - self.mean) ** 2 / self.total))

    @property
    def borders(self) -> Array:
        """Scores of the borders below each value, and above the last."""
        above = np.concatenate([np.cumsum(self.counts[::-1])[::-1] / self.total, [0.0]])
        return _border_scores(self.share_below, above)


def _normal_probability(quantile: float) -> float:
    return NormalDist().cdf(quantile)


def _border_scores(below: Array, above: Array) -> Array:
    """Normal quantiles of shares, from the side on which they are small, so that a flipped column has flipped scores."""
    return np.asarray(np.where(below <= above, normal_quantile(np.minimum(below, 0.5)), -normal_quantile(np.minimum(above, 0.5))))


def _quantile_knots(ranks: _Ranks) -> dict[float, float]:
    """Pairs of value and score at equal steps of the score, and at the ends; none inside of a heap, which has its own."""
    levels = _STEP * np.arange(-_LEVELS, _LEVELS + 1)
    beyond = ranks.total * np.array([NormalDist().cdf(-abs(level)) for level in levels])
    enough = (beyond >= _ROWS_BEYOND) | (levels == 0.0)
    levels = levels[enough & (levels > ranks.scores[0]) & (levels < ranks.scores[-1])]
    scores, values = ranks.scores, ranks.values
    place = np.clip(np.searchsorted(scores, levels), 1, scores.size - 1)
    part = (levels - scores[place - 1]) / (scores[place] - scores[place - 1])
    at = (1.0 - part) * values[place - 1] + part * values[place]
    low, high = _end(ranks, at, levels, -1), _end(ranks, at, levels, 1)
    inside = (at > low[0]) & (at < high[0]) & (levels > low[1]) & (levels < high[1])
    borders = ranks.borders
    for heap in np.flatnonzero(ranks.is_heap).tolist():
        inside &= (levels < borders[heap]) | (levels > borders[heap + 1])
        low_border, high_border = _border_values(values, heap)
        inside &= (at < low_border) | (at > high_border)
    return dict([low, high, *zip(at[inside].tolist(), levels[inside].tolist(), strict=True)])


def _end(ranks: _Ranks, at: Array, levels: Array, side: int) -> tuple[float, float]:
    """The last value before the fence on one side, and its score; the outermost value if there is no spread by which to judge."""
    values, scores = (ranks.values, ranks.scores) if side > 0 else (-ranks.values[::-1], -ranks.scores[::-1])
    quantile = float((side * at).max()) if at.size else np.inf
    middle = float(np.interp(0.0, scores, values))
    fence = quantile + _FENCE * (quantile - middle)
    place = int(np.searchsorted(values, fence, side="right")) - 1
    if not quantile > middle or values[place] <= quantile:
        place = values.size - 1
    return side * float(values[place]), side * float(scores[place])


def _border_values(values: Array, place: int) -> tuple[float, float]:
    """Half way to the neighbours of a value; infinite where there is none."""
    low = 0.5 * values[place - 1] + 0.5 * values[place] if place > 0 else -np.inf
    high = 0.5 * values[place] + 0.5 * values[place + 1] if place + 1 < values.size else np.inf
    return float(low), float(high)


def _heap_knots(ranks: _Ranks) -> dict[float, float]:
    """Every heap's value with its score, and the borders half way to its neighbours with theirs."""
    out, borders = {}, ranks.borders
    for place in np.flatnonzero(ranks.is_heap).tolist():
        low, high = _border_values(ranks.values, place)
        out[float(ranks.values[place])] = float(ranks.scores[place])
        for value, score in ((low, borders[place]), (high, borders[place + 1])):
            if np.isfinite(value):
                out[value] = float(score)
    return out


def _heaps(ranks: _Ranks) -> list[Heap]:
    borders = (ranks.borders - ranks.mean) / ranks.deviation
    return [Heap(float(ranks.values[k]), float(borders[k]), float(borders[k + 1])) for k in np.flatnonzero(ranks.is_heap)]


def _bounds(lowest: float, highest: float) -> tuple[float, float]:
    """Natural bounds of a column that does not change its sign: 0, and 1 or 100 if it is reached."""
    if lowest >= 0.0:
        return 0.0, highest if highest in _NATURAL[1:] else np.inf
    if highest <= 0.0:
        return lowest if -lowest in _NATURAL[1:] else -np.inf, 0.0
    return -np.inf, np.inf
