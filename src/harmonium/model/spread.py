r"""How far a model's parameters may be from where they are: a few directions, each a standard error long.

The covariance of the parameters is :math:`\sum_r d_r d_r^\top`, so any answer f has the variance

.. math:: \sum_r \Bigl( \frac{f(\theta + \epsilon d_r) - f(\theta)}{\epsilon} \Bigr)^2

and needs no derivative of its own. Beside the parameters a direction moves *direct effects* of covariates on outcomes, which the model does
not have (they are zero) but the truth may: a row's outcomes have biases that are shifted by a linear function of its covariates. To first
order such a shift is one of the biases, which are few, times that row's number; so answers about rows need nothing new for them either.

How far answers about some rows deviate along the directions of a model's spread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.choice_of_method import SAMPLE
from harmonium.engine.parameters import Natural, Parameters
from harmonium.typing import Array

__all__ = ["LEADING", "STEP", "Movable", "Question", "Spread", "covariate_statistics", "deviations_along", "flat", "linear_along", "moved"]

STEP = 1e-5
"""Of differences along a direction, in standard errors."""


@dataclass(frozen=True)
class Spread:
    """Directions, those first that predictions follow, and what shrinkage and few hidden units may have led astray.

    Attributes
    ----------
    directions : ndarray of shape (1 + n_directions, n_natural)
        Of the natural parameters: biases, couplings and hidden biases in one vector. The first is the displacement by all shrinkage.
    effects : ndarray of shape (1 + n_directions, n_effects, n_biases)
        Of direct effects: how far a standard deviation of each covariate statistic moves each bias.
    biases : ndarray of shape (n_biases, n_natural)
        The outcomes' biases, which direct effects move.
    kept : ndarray of shape (n_directions,)
        The share of the variance of predictions that the directions up to each have.
    centre, unit : ndarray of shape (n_effects,)
        Mean and standard deviation of the covariates' coupled statistics.
    jumps : ndarray of shape (n_jumps, n_natural)
        From the optimum to others that are nearly as good.
    chances : ndarray of shape (n_jumps,)
        That another sample would have preferred them.
    linear : ndarray of shape (n_endpoints, 1 + n_effects)
        What a fit that shrinks lacks: linear effects on the logarithm of each endpoint's hazard, a constant first
        (:mod:`harmonium.model.linear_effects`).
    linear_roots : ndarray of shape (n_endpoints, 1 + n_effects, 1 + n_effects)
        Roots of their covariances, in columns.
    linear_moves : ndarray of shape (n_endpoints, 1 + n_directions + n_jumps, 1 + n_effects)
        How they move with all directions and jumps.
    """

    directions: Array
    effects: Array
    biases: Array
    kept: Array
    centre: Array
    unit: Array
    jumps: Array
    chances: Array
    linear: Array
    linear_roots: Array
    linear_moves: Array

    def check(self, n_natural: int, n_effects: int) -> str | None:
        """What is wrong with it, if anything is."""
        n, n_biases, n_linear, own = len(self.kept), len(self.biases), len(self.linear), 1 + n_effects
        expected = {
            "directions": (1 + n, n_natural),
            "effects": (1 + n, n_effects, n_biases),
            "biases": (n_biases, n_natural),
            "kept": (n,),
            "centre": (n_effects,),
            "unit": (n_effects,),
            "jumps": (len(self.chances), n_natural),
            "chances": (len(self.chances),),
            "linear": (n_linear, own),
            "linear_roots": (n_linear, own, own),
            "linear_moves": (n_linear, 1 + n + len(self.chances), own),
        }
        for name, shape in expected.items():
            found = getattr(self, name)
            if found.shape != shape:
                return f"{name} must have the shape {shape}; found {found.shape}"
            if not np.isfinite(found).all():
                return f"{name} must be finite"
        if not ((self.kept > 0.0) & (self.kept <= 1.0 + 1e-9)).all() or not (self.unit > 0.0).all():
            return "shares and units must be positive"
        if not ((self.chances >= 0.0) & (self.chances <= 1.0)).all():
            return "chances must be probabilities"
        return None

    def covariates(self, cells: Cells) -> Array:
        """Covariate statistics in standard deviations from their means, (rows, effects); at the mean where they are unknown."""
        return np.nan_to_num((covariate_statistics(cells) - self.centre) / self.unit)


def flat(natural: Natural) -> Array:
    """Natural parameters in one vector."""
    return np.concatenate([natural.bias, natural.coupling.ravel(), natural.hidden_bias])


def moved(parameters: Parameters, step: Array) -> Parameters:
    """Parameters whose natural ones are further along by a vector."""
    natural = parameters.natural()
    bias, coupling = natural.bias.size, natural.coupling.size
    return Parameters.from_natural(
        parameters.layout,
        Natural(
            natural.bias + step[:bias],
            natural.coupling + step[bias : bias + coupling].reshape(natural.coupling.shape),
            natural.hidden_bias + step[bias + coupling :],
            natural.constant,
        ),
    )


def covariate_statistics(cells: Cells) -> Array:
    """Coupled statistics of covariates, (rows, effects); NaN where a covariate was not observed."""
    parts = [np.empty((cells.n_rows, 0))]
    for block, lower, upper in zip(cells.layout.blocks, cells.lower, cells.upper, strict=True):
        if not block.outcome:
            values = np.where(lower == upper, lower, np.nan)
            statistics = block.unit.statistics(np.nan_to_num(values))[..., np.array(block.unit.coupled, dtype=bool)]
            parts.append(
                np.where(np.isnan(values)[..., None], np.nan, statistics).reshape(cells.n_rows, int(np.prod(statistics.shape[1:])))
            )
    return np.concatenate(parts, axis=1)


LEADING = 32
"""Directions that are followed for answers about single rows: 22, with fewer of which curves are not held often enough, beside those of
averages, five for each of two endpoints. What the others would add is added in proportion."""

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
