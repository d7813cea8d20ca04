"""How far answers about some rows deviate along the directions of a model's spread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.choice_of_method import SAMPLE
from harmonium.model.spread import STEP, Spread
from harmonium.typing import Array

__all__ = ["LEADING", "WIDENED", "Question", "deviations_along"]

LEADING = 22
"""Directions that are followed for answers about single rows; what the others would add is added in proportion."""

WIDENED = 1.15
"""Intervals of single rows are wider by this factor, which was chosen by measured coverage (docs/intervals.md)."""

Question = Callable[[Any], Array]
"""Of a prognosis; rows come first in the answer."""


class Movable(Protocol):
    """The prognosis of one model."""

    cells: Cells

    @property
    def methods(self) -> Any:
        """How each row is answered."""

    def moved(self, step: Array) -> Movable:
        """Of the same rows, by a model whose natural parameters are further along by a step."""


def deviations_along(spread: Spread | None, prognosis: Movable, question: Question, *, thorough: bool) -> tuple[Array, Iterator[Array]]:
    """The answer and, for each direction, how far it deviates along it.

    Parameters
    ----------
    spread : Spread or None
    prognosis : ModelPrognosis
    question : callable
    thorough : bool
        Of averages over rows: along all directions, not only those that predictions of single rows follow most, and without the
        displacement, with which their intervals would be too wide.
    """
    if spread is None:
        raise ValueError(
            "the model has no intervals: it was trained without a likelihood (contrastive divergence), joined from parts, or saved before "
            "there were any. Fit it with the exact trainer"
        )
    if (prognosis.methods == SAMPLE).any():
        raise ValueError("intervals need exact answers, and some rows are sampled; use at most 14 hidden units or fill in missing values")
    base = question(prognosis)
    return base, _along(spread, prognosis, question, base, thorough)


def _along(spread: Spread, prognosis: Movable, question: Question, base: Array, thorough: bool) -> Iterator[Array]:
    def slope(direction: Array) -> Array:
        with np.errstate(invalid="ignore"):
            return (question(prognosis.moved(STEP * direction)) - base) / STEP

    by_bias = [slope(bias) for bias in spread.biases]
    covariates = spread.covariates(prognosis.cells)
    n_directions = len(spread.kept) if thorough else min(LEADING, len(spread.kept))
    factor = 1.0 / np.sqrt(spread.kept[n_directions - 1]) if n_directions else 1.0
    for number in range(1 if thorough else 0, 1 + n_directions):
        deviation, shifts = slope(spread.directions[number]), covariates @ spread.effects[number]
        for k, own in enumerate(by_bias):
            deviation = deviation + own * shifts[:, k].reshape(-1, *[1] * (base.ndim - 1))
        yield (factor if number else 1.0) * (1.0 if thorough else WIDENED) * deviation
