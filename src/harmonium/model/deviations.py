"""How far answers about some rows deviate along the directions of a model's spread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.choice_of_method import SAMPLE
from harmonium.model.spread import STEP, Spread
from harmonium.typing import Array

__all__ = ["AVERAGED", "LEADING", "WIDENED", "Movable", "Question", "deviations_along", "displaced_along"]

LEADING = 22
"""Directions that are followed for answers about single rows; what the others would add is added in proportion."""

WIDENED = 1.07
"""Intervals of single rows are wider by this factor, which was chosen by measured coverage (docs/intervals.md)."""

AVERAGED = 0.96
"""Those of averages over rows are shorter by this one, chosen in the same way."""

Question = Callable[[Any], Array]
"""Of a prognosis; rows come first in the answer."""


class Movable(Protocol):
    """The prognosis of one model."""

    @property
    def methods(self) -> Any:
        """How each row is answered."""

    def moved(self, step: Array) -> Movable:
        """Of the same rows, by a model whose natural parameters are further along by a step."""

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
        Of averages over rows: along all directions, not only those that predictions of single rows follow most, and without the
        displacement; averages that are compared have what they lost added to them instead.
    """
    known = _usable(spread, prognosis)
    base = question(prognosis)
    return base, _along(known, prognosis, question, base, thorough)


def displaced_along(spread: Spread | None, prognosis: Movable, question: Question, covariate: int) -> Array:
    """How far an answer moves with the displacement by shrinkage of one covariate."""
    known = _usable(spread, prognosis)
    return _Slopes(known, prognosis, question, question(prognosis)).along(known.shrunk[covariate], known.shrunk_effects[covariate])


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
    """How far an answer moves along directions, of parameters and of direct effects."""

    def __init__(self, spread: Spread, prognosis: Movable, question: Question, base: Array) -> None:
        self._spread, self._prognosis, self._question, self._base = spread, prognosis, question, base
        self._affected = [
            (spread.covariates(cells), [self._slope(bias, part) for bias in spread.biases]) for part, cells in prognosis.affected()
        ]

    def numbered(self, number: int) -> Array:
        """Along one of the directions, of which a displacement is the first."""
        return self.along(self._spread.directions[number], self._spread.effects[number])

    def along(self, direction: Array, effects: Array) -> Array:
        """Along a direction of natural parameters, and one of direct effects."""
        out = self._slope(direction, self._prognosis)
        for covariates, by_bias in self._affected:
            shifts = covariates @ effects
            for k, own in enumerate(by_bias):
                out = out + own * shifts[:, k].reshape(-1, *[1] * (self._base.ndim - 1))
        return out

    def _slope(self, direction: Array, prognosis: Movable) -> Array:
        with np.errstate(invalid="ignore"):
            return np.asarray((self._question(prognosis.moved(STEP * direction)) - self._base) / STEP)


def _along(spread: Spread, prognosis: Movable, question: Question, base: Array, thorough: bool) -> Iterator[Array]:
    slopes = _Slopes(spread, prognosis, question, base)
    if not thorough:
        yield WIDENED * slopes.numbered(0)
    n_directions = len(spread.kept) if thorough else min(LEADING, len(spread.kept))
    factor = 1.0 / np.sqrt(spread.kept[n_directions - 1]) if n_directions else 1.0
    for number in range(1, 1 + n_directions):
        yield factor * (AVERAGED if thorough else WIDENED) * slopes.numbered(number)
    for jump, chance in zip(spread.jumps, spread.chances, strict=True):
        yield np.sqrt(chance) * (question(prognosis.moved(jump)) - base)
