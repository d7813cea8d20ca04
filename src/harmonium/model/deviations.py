"""How far answers about some rows deviate along the directions of a model's spread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.choice_of_method import SAMPLE
from harmonium.model.spread import STEP, Spread
from harmonium.typing import Array

__all__ = ["LEADING", "Movable", "Question", "deviations_along", "linear_along"]

LEADING = 22
"""Directions that are followed for answers about single rows; what the others would add is added in proportion."""

_NEARLY_ALL = 0.99  # of the variance of predictions has what averages follow; the rest is added in proportion

Question = Callable[[Any], Array]
"""Of a prognosis; rows come first in the answer."""


class Movable(Protocol):
    """The prognosis of one model."""

    @property
    def methods(self) -> Any:
        """How each row is answered."""

    def moved(self, step: Array) -> Movable:
        """Of the same rows, by a model whose natural parameters are further along by a step."""

    def hurried(self, endpoint: int, hazard_ratio: float) -> Movable:
        """Of the same rows, with a factor of the hazard of one endpoint (:mod:`harmonium.model.linear_effects`)."""

    def affected(self) -> Sequence[tuple[Movable, Cells]]:
        """Prognoses whose biases direct effects move, and the cells whose covariates they follow: one unless rows are asked in states."""


def deviations_along(spread: Spread | None, prognosis: Movable, question: Question, *, thorough: bool) -> tuple[Array, Iterator[Array]]:
    """The answer and, for each direction, how far it deviates along it.

    Parameters
    ----------
    spread : Spread or None
    prognosis : ModelPrognosis
    question : callable
    thorough : bool
        Of averages over rows: along all directions, not only those that predictions of single rows follow most, with linear effects on the
        hazards in the place of the displacement.
    """
    known = _usable(spread, prognosis)
    base = question(prognosis)
    return base, (_of_averages if thorough else _of_rows)(_Slopes(known, prognosis, question, base))


def linear_along(spread: Spread | None, prognosis: Movable, question: Question) -> Array:
    """How far an answer moves with the linear effects on the hazards that the model lacks."""
    known = _usable(spread, prognosis)
    return _Slopes(known, prognosis, question, question(prognosis)).with_hazards(known.linear)


def _usable(spread: Spread | None, prognosis: Movable) -> Spread:
    """The spread; refuse what has no intervals."""
    if spread is None:
        raise ValueError(
            "the model has no intervals: it was trained without a likelihood (contrastive divergence), joined from parts, or saved before "
            "there were any. Fit it with the exact trainer"
        )
    if (prognosis.methods == SAMPLE).any():
        raise ValueError("intervals need exact answers, and some rows are sampled; use at most 14 hidden units or fill in missing values")
    return spread


class _Slopes:
    """How far an answer moves along directions, of parameters, of direct effects, and of linear effects on the hazards."""

    def __init__(self, spread: Spread, prognosis: Movable, question: Question, base: Array) -> None:
        self.spread, self._prognosis, self._question, self._base = spread, prognosis, question, base
        self._covariates = [(part, spread.covariates(cells)) for part, cells in prognosis.affected()]

    @cached_property
    def _by_bias(self) -> list[list[Array]]:
        return [[self._slope(part.moved(STEP * bias)) for bias in self.spread.biases] for part, _ in self._covariates]

    @cached_property
    def _by_hazard(self) -> list[list[Array]]:
        return [[self._slope(part.hurried(e, 1.0 + STEP)) for e in range(len(self.spread.linear))] for part, _ in self._covariates]

    def numbered(self, number: int) -> Array:
        """Along one of the directions, of which a displacement is the first."""
        out = self._slope(self._prognosis.moved(STEP * self.spread.directions[number]))
        for (_, covariates), own in zip(self._covariates, self._by_bias, strict=True):
            out = out + self._in_rows(own, covariates @ self.spread.effects[number])
        return out

    def jump(self, number: int) -> Array:
        """To another optimum, as far as its chance says."""
        jump, chance = self.spread.jumps[number], self.spread.chances[number]
        return np.asarray(np.sqrt(chance) * (self._question(self._prognosis.moved(jump)) - self._base))

    def with_hazards(self, linear: Array) -> Array:
        """With linear effects on the hazards, (endpoints, 1 + effects)."""
        out = np.zeros_like(self._base)
        for (_, covariates), own in zip(self._covariates, self._by_hazard, strict=True):
            out = out + self._in_rows(own, linear[:, 0] + covariates @ linear[:, 1:].T)
        return out

    def _slope(self, there: Movable) -> Array:
        with np.errstate(invalid="ignore"):
            return np.asarray((self._question(there) - self._base) / STEP)

    def _in_rows(self, slopes: Sequence[Array], shifts: Array) -> Array:
        """What slopes make of shifts, (rows, slopes)."""
        out = np.zeros_like(self._base)
        for own, shift in zip(slopes, shifts.T, strict=True):
            out += own * shift.reshape(-1, *[1] * (self._base.ndim - 1))
        return out


def _of_rows(slopes: _Slopes) -> Iterator[Array]:
    """Of single rows: the displacement, leading directions, and other optima."""
    kept = slopes.spread.kept
    n_directions = min(LEADING, len(kept))
    factor = 1.0 / np.sqrt(kept[n_directions - 1]) if n_directions else 1.0
    for number in range(1 + n_directions):
        yield (factor if number else 1.0) * slopes.numbered(number)
    yield from (slopes.jump(number) for number in range(len(slopes.spread.jumps)))


def _of_averages(slopes: _Slopes) -> Iterator[Array]:
    """Of averages over rows: all directions, and linear effects, which move with these and are uncertain themselves."""
    moves, kept = slopes.spread.linear_moves, slopes.spread.kept
    n_directions = min(int(np.searchsorted(kept, _NEARLY_ALL)) + 1, len(kept))
    factor = 1.0 / np.sqrt(kept[n_directions - 1]) if n_directions else 1.0
    for number in range(1, 1 + n_directions):
        yield factor * (slopes.numbered(number) + slopes.with_hazards(moves[:, number]))
    for number, chance in enumerate(slopes.spread.chances):
        yield slopes.jump(number) + np.sqrt(chance) * slopes.with_hazards(moves[:, 1 + len(kept) + number])
    for e, root in enumerate(slopes.spread.linear_roots):
        for own in root.T:
            linear = np.zeros_like(slopes.spread.linear)
            linear[e] = own
            yield slopes.with_hazards(linear)
