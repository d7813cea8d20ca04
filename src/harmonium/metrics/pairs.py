"""Comparable pairs of subjects, counted in n log n steps.

An event of subject i at t can be compared with every subject j that was under observation at t and remained event-free: j entered before
t, and its own observed time is later than t, or equal to t and censored. In terms of integers: with r the rank of i's time among
all distinct times, i's event has the key 2 r; j has the interval [start, stop) of keys of events with which it can be compared.

Subjects are sorted by risk. Going through the events in the order of their keys, a Fenwick tree over the sorted risks holds those whose
interval contains the key; two prefix sums tell how many of them have a lower risk than i, and how many an equal one. Risks are equal if
they differ by no more than ``TIED``. As this is not transitive, every subject has a window of its own in the sorted risks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harmonium.numerics.compilation import compiled
from harmonium.typing import Array, Booleans, Integers

__all__ = ["TIED", "Pairs", "Sums"]

TIED = 1e-8
"""Risks this close are equal, as in scikit-survival."""


class Sums(NamedTuple):
    """Of the pairs in which each subject takes part: their weight, and the weight of those that agree (half of it if risks are tied)."""

    agreeing: Array
    compared: Array


class Pairs(NamedTuple):
    """All comparable pairs, sorted and ready to be counted.

    Attributes
    ----------
    key, start : ndarray of int
        Of every subject; its interval is [start, key).
    events : ndarray of int
        Subjects whose event counts, by key.
    entering, leaving : ndarray of int
        Subjects by start and by key.
    place, lower, upper : ndarray of int
        Of every subject: its place among the sorted risks, and the first and last (exclusive) place of risks equal to its own.
    """

    key: Integers
    start: Integers
    events: Integers
    entering: Integers
    leaving: Integers
    place: Integers
    lower: Integers
    upper: Integers

    @classmethod
    def of(cls, time: Array, event: Booleans, entry: Array, risk: Array, counted: Booleans) -> Pairs:
        """Sort subjects; only the events in ``counted`` take part as the earlier subject of a pair."""
        distinct, rank = np.unique(time, return_inverse=True)
        key = 2 * rank.astype(np.int64) + ~event
        leaving = np.argsort(key, kind="stable")
        start, entering = np.zeros(time.size, dtype=np.int64), np.arange(time.size)
        if (entry > 0.0).any():
            start = np.where(entry > 0.0, 2 * np.searchsorted(distinct, entry, side="right"), 0).astype(np.int64)
            entering = np.argsort(start, kind="stable")
        by_risk = np.argsort(risk, kind="stable")
        place = np.empty(time.size, dtype=np.int64)
        place[by_risk] = np.arange(time.size)
        lower, upper = _windows(risk[by_risk])
        return cls(key, start, leaving[counted[leaving]], entering, leaving, place, lower[place], upper[place])

    def by_event(self, mass: Array) -> Sums:
        """For every event, the mass of the subjects with which it can be compared; zero for other subjects."""
        return Sums(*_by_event(self.key, self.start, self.events, self.entering, self.leaving, self.place, self.lower, self.upper, mass))

    def by_comparator(self, weight: Array) -> Sums:
        """For every subject, the weight of the events with which it is compared as the one that remained event-free."""
        arrays = (self.key, self.events, self.place, self.lower, self.upper, weight)
        until = Sums(*_by_comparator(self.key, self.leaving, *arrays))
        if not self.start.any():
            return until
        before = Sums(*_by_comparator(self.start, self.entering, *arrays))
        return Sums(until.agreeing - before.agreeing, until.compared - before.compared)


@compiled()
def _windows(risk: Array) -> tuple[Integers, Integers]:
    """First and last (exclusive) place of what equals each of the sorted risks."""
    n = risk.size
    lower, upper = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    first, last = 0, 0
    for i in range(n):
        while risk[first] - risk[i] < -TIED:
            first += 1
        while last < n and risk[last] - risk[i] <= TIED:
            last += 1
        lower[i], upper[i] = first, last
    return lower, upper


@compiled(inline=True)
def _add(tree: Array, place: int, value: float) -> None:
    """Add a value at a place of a Fenwick tree."""
    i = place + 1
    while i < tree.size:
        tree[i] += value
        i += i & -i


@compiled(inline=True)
def _before(tree: Array, place: int) -> float:
    """Sum of the values before a place."""
    total, i = 0.0, place
    while i > 0:
        total += tree[i]
        i -= i & -i
    return total


@compiled()
def _by_event(
    key: Integers,
    start: Integers,
    events: Integers,
    entering: Integers,
    leaving: Integers,
    place: Integers,
    lower: Integers,
    upper: Integers,
    mass: Array,
) -> tuple[Array, Array]:
    """See :meth:`Pairs.by_event`."""
    n = key.size
    tree, agreeing, compared = np.zeros(n + 1), np.zeros(n), np.zeros(n)
    n_entered, n_left, total = 0, 0, 0.0
    for i in events:
        while n_entered < n and start[entering[n_entered]] <= key[i]:
            j = entering[n_entered]
            _add(tree, place[j], mass[j])
            total += mass[j]
            n_entered += 1
        while n_left < n and key[leaving[n_left]] <= key[i]:
            j = leaving[n_left]
            _add(tree, place[j], -mass[j])
            total -= mass[j]
            n_left += 1
        if n_entered > n_left:  # otherwise what is left of the sums is rounding
            below, until = _before(tree, lower[i]), _before(tree, upper[i])
            agreeing[i] = 0.5 * (below + until)
            compared[i] = total
    return agreeing, compared


@compiled()
def _by_comparator(
    end: Integers,
    order: Integers,
    key: Integers,
    events: Integers,
    place: Integers,
    lower: Integers,
    upper: Integers,
    weight: Array,
) -> tuple[Array, Array]:
    """Sums over the events with keys below the end of each subject, taken in the order of these ends."""
    n = key.size
    tree, agreeing, compared = np.zeros(n + 1), np.zeros(n), np.zeros(n)
    n_events, total = 0, 0.0
    for j in order:
        while n_events < events.size and key[events[n_events]] < end[j]:
            i = events[n_events]
            _add(tree, place[i], weight[i])
            total += weight[i]
            n_events += 1
        below, until = _before(tree, lower[j]), _before(tree, upper[j])
        agreeing[j] = total - 0.5 * (below + until)
        compared[j] = total
    return agreeing, compared
