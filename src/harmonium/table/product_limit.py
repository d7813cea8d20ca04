"""Kaplan and Meier's product-limit estimate, the one place where risk sets are counted, and Aalen and Johansen's.

A subject is at risk at t if it entered before t and was observed until t or longer. A subject observed from the start (entry 0) is at
risk from time 0 on, an event at time 0 included.

Aalen and Johansen's estimate of a cumulative incidence: what Kaplan and Meier's is where another event may come first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harmonium.typing import Array, Integers

__all__ = ["AalenJohansen", "ProductLimit", "count_at_risk", "product_limit"]

_ROUNDING = 1e-11  # of sums of weights


def product_limit(time: Array, ended: Any, at: Array, entry: Array | None = None, count: Array | Integers | None = None) -> Array:
    """Probability that what is waited for has not happened just after each of some ascending times.

    Parameters
    ----------
    time : ndarray
        Until when each subject was observed.
    ended : ndarray of bool
        Whether what is waited for happened then.
    at : ndarray
        Ascending; every time at which it happened must be among them, up to the last.
    entry : ndarray, optional
        From when each subject was observed, not later than ``time``; by default from the start.
    count : ndarray, optional
        For how many subjects each time stands, all of them observed from the start; by default for one.

    Examples
    --------
    >>> import numpy as np
    >>> product_limit(np.array([1.0, 2.0, 2.0, 3.0]), np.array([True, True, False, True]), np.array([1.0, 2.0, 3.0]))
    array([0.75, 0.5 , 0.  ])
    """
    if count is None:
        ending, at_risk = _count(time, at, ended), count_at_risk(time, at, entry)
    else:
        order = np.argsort(time, kind="stable")
        before, after = (np.searchsorted(time[order], at, side=side) for side in ("left", "right"))
        seen, over = (np.concatenate([[0], np.cumsum(number[order])]) for number in (count, count * ended))
        ending, at_risk = over[after] - over[before], seen[-1] - seen[before]
    return np.cumprod(_factors(ending, at_risk), dtype=np.float64)


def count_at_risk(time: Array, at: Array, entry: Array | None = None, weights: Array | None = None) -> Any:
    """Number of subjects at risk at each of some times, or their weight.

    Examples
    --------
    >>> import numpy as np
    >>> count_at_risk(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0]), entry=np.array([0.0, 1.0, 0.0]))
    array([2, 2, 1])
    """
    if weights is not None:
        before = 0.0 if entry is None else _weight_from(entry[entry > 0.0], at, weights[entry > 0.0])
        return _weight_from(time, at, weights) - before
    out: Integers = time.size - np.searchsorted(np.sort(time), at, side="left")
    if entry is not None:
        late = np.sort(entry[entry > 0.0])
        out -= late.size - np.searchsorted(late, at, side="left")
    return out


@dataclass(frozen=True)
class ProductLimit:
    """A product-limit curve.

    Attributes
    ----------
    times : ndarray
        Distinct observed times, ascending.
    at_risk, ended : ndarray
        How many were at risk at each of them, or their weight, and for how many it happened then.
    factors : ndarray
        Probability of going on at each of them.
    survival : ndarray
        The curve just after each of them: the product of the factors so far.
    """

    times: Array
    at_risk: Any
    ended: Any
    factors: Array
    survival: Array

    @classmethod
    def of_events(cls, time: Array, event: Any, entry: Array | None = None, weights: Array | None = None) -> ProductLimit:
        """The Kaplan-Meier curve: the time until the event; subjects may have weights.

        Examples
        --------
        >>> import numpy as np
        >>> time, event = np.array([1.0, 2.0, 2.0, 3.0]), np.array([True, True, False, True])
        >>> ProductLimit.of_events(time, event).survival
        array([0.75, 0.5 , 0.  ])
        >>> ProductLimit.of_events(time, event, entry=np.array([0.0, 0.0, 1.5, 0.0])).survival
        array([0.66666667, 0.44444444, 0.        ])
        """
        times = np.unique(time)
        return cls._of_counts(times, count_at_risk(time, times, entry, weights), _count(time, times, event, weights))

    @classmethod
    def of_censoring(cls, time: Array, event: Any, entry: Array | None = None, weights: Array | None = None) -> ProductLimit:
        """The time until censoring, at which an event at the same time has already come first.

        Examples
        --------
        >>> import numpy as np
        >>> ProductLimit.of_censoring(np.array([1.0, 2.0, 2.0, 3.0]), np.array([True, True, False, True])).survival
        array([1. , 0.5, 0.5])
        """
        times, censored = np.unique(time), ~np.asarray(event, dtype=bool)
        at_risk = count_at_risk(time, times, entry, weights) - _count(time, times, ~censored, weights)
        return cls._of_counts(times, at_risk, _count(time, times, censored, weights))

    @classmethod
    def _of_counts(cls, times: Array, at_risk: Any, ended: Any) -> ProductLimit:
        factors = _factors(ended, at_risk)
        return cls(times, at_risk, ended, factors, np.cumprod(factors, dtype=np.float64))

    @property
    def last(self) -> float:
        """The last observed time; minus infinity if there is none."""
        return float(self.times[-1]) if self.times.size else -np.inf

    def at(self, time: Any) -> Array:
        """The curve at some times; beyond the last observed time, as it was there.

        Examples
        --------
        >>> import numpy as np
        >>> ProductLimit.of_events(np.array([1.0, 2.0]), np.array([True, False])).at([0.5, 1.0, 7.0])
        array([1. , 0.5, 0.5])
        """
        return _from_start(self.survival)[self._n_until(time)]

    def between(self, start: Any, time: Any) -> Array:
        """Probability of going on until ``time`` given that it had not happened until ``start`` (0 means no condition).

        It is the product of the factors after ``start``. So it is defined even beyond a time at which the whole risk set was lost, for
        those who entered later, although the curve is zero from there on.

        Examples
        --------
        >>> import numpy as np
        >>> curve = ProductLimit.of_events(np.array([1.0, 2.0, 2.0]), np.array([True, True, False]))
        >>> curve.between([0.0, 1.0], 2.0)
        array([0.33333333, 0.5       ])
        """
        n_lost = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(self.factors == 0.0)])
        survival = _from_start(self.without_losses().survival)
        first = np.where(np.asarray(start, dtype=np.float64) > 0.0, self._n_until(start), 0)
        last = self._n_until(time)
        return np.where(n_lost[last] == n_lost[first], survival[last] / survival[first], 0.0)

    def without_losses(self) -> ProductLimit:
        """The curve that goes on where the whole risk set was lost, as though nothing had happened then.

        Its ratios are conditional probabilities for everybody who was under observation on one side of such a time only.
        """
        factors = np.where(self.factors == 0.0, 1.0, self.factors)
        return ProductLimit(self.times, self.at_risk, self.ended, factors, np.cumprod(factors, dtype=np.float64))

    def _n_until(self, time: Any) -> Integers:
        return np.asarray(np.searchsorted(self.times, np.asarray(time, dtype=np.float64), side="right"))


def _count(times: Array, at: Array, chosen: Any, weights: Array | None = None) -> Any:
    """How many of some times that are chosen equal each of others, or their weight."""
    if weights is not None:
        return np.bincount(np.searchsorted(at, times[chosen]), weights[chosen], minlength=at.size)
    ordered = np.sort(times[chosen])
    out: Integers = np.searchsorted(ordered, at, side="right") - np.searchsorted(ordered, at, side="left")
    return out


def _weight_from(time: Array, at: Array, weights: Array) -> Array:
    """The weight of those whose time is not before each of others."""
    order = np.argsort(time, kind="stable")
    later = np.concatenate([np.cumsum(weights[order][::-1])[::-1], [0.0]])
    found: Array = later[np.searchsorted(time[order], at, side="left")]
    return found


def _factors(ending: Any, at_risk: Any) -> Array:
    """Conditional probabilities of going on; one where nothing ends, even if nobody is at risk. Sums of weights are rounded."""
    factors = 1.0 - np.divide(ending, at_risk, out=np.zeros(ending.size), where=ending > 0)
    return np.where(factors < _ROUNDING, 0.0, factors)


def _from_start(values: Array) -> Array:
    return np.concatenate([np.ones(1), values])


@dataclass(frozen=True)
class AalenJohansen:
    """A cumulative incidence, as a step function.

    Attributes
    ----------
    times : ndarray
        Distinct observed times, ascending.
    incidence : ndarray
        Just after each of them.
    """

    times: Array
    incidence: Array

    @classmethod
    def of(cls, time: Array, event: Any, other: Any, entry: Array | None = None, weights: Array | None = None) -> AalenJohansen:
        """From observed times, whether the event was seen then, and whether another one was that prevents it; subjects may have weights.

        Examples
        --------
        >>> import numpy as np
        >>> time = np.array([1.0, 2.0, 3.0, 4.0])
        >>> AalenJohansen.of(time, np.array([1, 0, 1, 0], dtype=bool), np.array([0, 1, 0, 0], dtype=bool)).incidence
        array([0.25, 0.25, 0.5 , 0.5 ])
        """
        event = np.asarray(event, dtype=bool)
        free = ProductLimit.of_events(time, event | np.asarray(other, dtype=bool), entry, weights)
        before = np.concatenate([[1.0], free.survival[:-1]])
        seen = np.bincount(np.searchsorted(free.times, time[event]), None if weights is None else weights[event], minlength=free.times.size)
        steps = before * np.divide(seen, free.at_risk, out=np.zeros(seen.size), where=seen > 0)
        return cls(free.times, np.cumsum(steps, dtype=np.float64))

    def at(self, times: Any) -> Array:
        """At some times; beyond the last observed time, as it was there."""
        place = np.searchsorted(self.times, np.asarray(times, dtype=np.float64), side="right")
        return np.concatenate([[0.0], self.incidence])[place]
