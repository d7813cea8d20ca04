"""The search for good optima on a sample of rows, where gradients cost little.

The likelihood has many maxima, and most starts end in one of the poorer ones. Two things make it likely that the best is found. Starts are
compared where differences show: after short runs, of which the better ones are followed until they have settled. And from the best
optimum the search goes on by *exchange*: one hidden unit is replaced by that of a fresh start while the others keep what they have
learned, which leads to a better optimum more often than a fresh start does, and takes a fraction of the gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from scipy.optimize import OptimizeResult

from harmonium.training.coordinates import Coordinates
from harmonium.typing import Array

__all__ = ["Search", "distinct", "exchanged", "n_followed"]

_SAME = 1e-6  # per row; optima that differ by less are one
_SHORT_RUN = 60  # iterations after which starts are compared
_FEWEST_FOLLOWED = 3  # short runs that are followed until they have settled; half of them if that is more
_ROUNDS = 2  # exchanges of every hidden unit in which nothing better was found, after which the search ends
_MOST_ROUNDS = 8
_NEARLY = 3  # ends of exchanges that were not better but may be, on all rows; settled for comparison

Run = Callable[[Array, int], OptimizeResult]
"""From a z, for so many iterations, to somewhere near an optimum."""


@dataclass
class Search:
    """A search by runs from starts and by exchange.

    Attributes
    ----------
    coordinates : Coordinates
    run : callable
        From a z to somewhere near an optimum, in at most so many iterations.
    settle : callable
        From near an optimum to it, so closely that its value can be compared.
    max_iter : int
        Most iterations of a run that is not short.
    settled : list of OptimizeResult
        Optima found so far.
    """

    coordinates: Coordinates
    run: Run
    settle: Callable[[Array], OptimizeResult]
    max_iter: int
    settled: list[OptimizeResult] = field(default_factory=list)

    def follow(self, starts: Sequence[Array], n_followed: int | None = None) -> None:
        """Starts until they have settled; if only some are to be followed, those that are best after a short run."""
        if n_followed is not None and n_followed < len(starts):
            short = sorted((self.run(z, min(_SHORT_RUN, self.max_iter)) for z in starts), key=_value)
            starts = [end.x for end in short[:n_followed]]
        self.settled += [self.settle(self.run(z, self.max_iter).x) for z in starts]

    def exchange(self, fresh: Iterable[Array]) -> None:
        """Replace hidden units of the best optimum until that no longer helps; ``fresh`` are starts to take units from."""
        n_hidden = self.coordinates.n_hidden
        source, best = iter(fresh), min(self.settled, key=_value)
        others: list[OptimizeResult] = []
        n_failed = 0
        for number in range(_MOST_ROUNDS * n_hidden):
            if n_failed == _ROUNDS * n_hidden:
                break
            end = self.run(exchanged(self.coordinates, best.x, next(source), number % n_hidden), self.max_iter)
            n_failed += 1
            if end.fun < best.fun - _SAME:
                best, n_failed = self.settle(end.x), 0
                self.settled.append(best)
            else:
                others.append(end)
        self.settled += [self.settle(end.x) for end in sorted(others, key=_value)[:_NEARLY]]

    def best(self, most: int) -> list[OptimizeResult]:
        """The best few distinct optima, best first."""
        return distinct(self.settled)[:most]


def n_followed(n_starts: int) -> int:
    """How many of some short runs are worth following.

    Examples
    --------
    >>> n_followed(2), n_followed(10)
    (3, 5)
    """
    return max(_FEWEST_FOLLOWED, n_starts // 2)


def exchanged(coordinates: Coordinates, z: Array, fresh: Array, unit: int) -> Array:
    """The parameters z with one hidden unit of others."""
    out = z.copy()
    (biases, couplings, _), (new_biases, new_couplings, _) = coordinates.split(out), coordinates.split(fresh)
    biases[unit], couplings[:, unit] = new_biases[unit], new_couplings[:, unit]
    return coordinates.within_bounds(out)


def distinct(ends: Sequence[OptimizeResult]) -> list[OptimizeResult]:
    """Ends that are not the same optimum, best first."""
    out: list[OptimizeResult] = []
    for end in sorted(ends, key=_value):
        if not out or end.fun > out[-1].fun + _SAME:
            out.append(end)
    return out


def _value(end: OptimizeResult) -> float:
    return float(end.fun)
