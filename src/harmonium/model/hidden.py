"""Hidden states given what is known of each row: all of them with their probabilities, or a sample.

Given the hidden units all visible units are independent and their distributions known, so that every answer is an average over hidden
states. Up to :data:`~harmonium.engine.states.EXACT_LIMIT` units they are enumerated; beyond, drawn by Gibbs sampling. A sampled answer
averages what is known given the state, not indicators (Rao-Blackwell), and comes with its Monte-Carlo error (eq. 26).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import t as student

from harmonium.cells import Cells
from harmonium.engine.covariate_units import CovariateUnits
from harmonium.engine.exact import posterior
from harmonium.engine.gibbs import Chains, row_contents
from harmonium.engine.parameters import Parameters
from harmonium.engine.states import EXACT_LIMIT, hidden_states
from harmonium.engine.threads import map_in_order, thread_count
from harmonium.errors import SamplingWarning, warn
from harmonium.numerics.streams import streams_of
from harmonium.typing import Array

__all__ = ["Answer", "Enumerated", "Hidden", "Sampled", "hidden_given", "row_chunks", "sample_hidden", "stacked", "warn_if_uncertain"]

_N_CHAINS = 16
_N_BURN_IN = 100
_N_DRAWS = 50
_SWEEPS_BETWEEN = 2
_POOR_R_HAT = 1.1
_LARGE_ERROR = 0.02  # Monte-Carlo standard error of a probability, from which on there is a warning
_ROWS_AT_ONCE = 64  # of sampled rows, whose states are expanded together

ByState = Callable[[Array, int], Array]
"""Maps states (n_states, n_hidden) and a row to answers (n_states, n_answers)."""


@dataclass(frozen=True)
class Answer:
    """Averages over hidden states, (rows, answers), and how far sampling leaves them uncertain.

    Attributes
    ----------
    mean : ndarray
    standard_error : ndarray
        Monte-Carlo error; zero if states were enumerated.
    r_hat : ndarray
        Potential scale reduction: near 1 if chains agree; exactly 1 if states were enumerated.
    """

    mean: Array
    standard_error: Array
    r_hat: Array

    @classmethod
    def exact(cls, mean: Array) -> Answer:
        """Without error."""
        return cls(mean, np.zeros_like(mean), np.ones_like(mean))

    def error(self, confidence: float = 0.99) -> Array:
        """Half the width of a confidence interval for the exact answer."""
        quantile: float = student.ppf(0.5 + 0.5 * confidence, _N_CHAINS - 1)
        return quantile * self.standard_error


def stacked(parts: list[Answer]) -> Answer:
    """Answers of all chunks of rows."""
    if len(parts) == 1:
        return parts[0]
    return Answer(*(np.concatenate(arrays) for arrays in zip(*((p.mean, p.standard_error, p.r_hat) for p in parts), strict=True)))


@dataclass(frozen=True)
class Enumerated:
    """Every hidden state (states, hidden), and its probability in every row (rows, states)."""

    states: Array
    weights: Array

    def part(self, rows: NDArray[np.bool_]) -> Enumerated:
        """Of some rows."""
        return Enumerated(self.states, self.weights[rows])

    def average(self, by_state: ByState, groups: NDArray[np.int64], n_answers: int) -> Answer:
        """Average over states of so many answers; rows of one group (0, 1, ...) share what they are by state, found for the first."""
        firsts = np.unique(groups, return_index=True)[1]
        if firsts.size == 1:
            return Answer.exact(self.weights @ by_state(self.states, int(firsts[0])))
        mean = np.empty((groups.size, n_answers))
        for group, first in enumerate(firsts):
            rows = groups == group
            mean[rows] = self.weights[rows] @ by_state(self.states, int(first))
        return Answer.exact(mean)

    def expected(self) -> Array:
        """p(h = 1) of every hidden unit, (rows, hidden)."""
        expected: Array = self.weights @ self.states
        return expected

    def draw(self, rng: np.random.Generator) -> Array:
        """A state for each row, (rows, hidden)."""
        cumulative = np.cumsum(self.weights, axis=1)
        chosen = np.sum(rng.random((len(cumulative), 1)) * cumulative[:, -1:] >= cumulative, axis=1)
        return np.asarray(self.states[np.minimum(chosen, len(self.states) - 1)])


@dataclass(frozen=True)
class Sampled:
    """Hidden states drawn for every row, (rows, chains, draws, hidden)."""

    states: NDArray[np.bool_]

    def part(self, rows: NDArray[np.bool_]) -> Sampled:
        """Of some rows."""
        return Sampled(self.states[rows])

    def average(self, by_state: ByState, groups: NDArray[np.int64], n_answers: int) -> Answer:
        """Average over draws; warns if chains disagree."""
        n_chains, n_draws, n_hidden = self.states.shape[1:]
        answer = Answer.exact(np.empty((len(groups), n_answers)))
        for row in range(len(groups)):
            values = by_state(self.states[row].reshape(-1, n_hidden).astype(float), row).reshape(n_chains, n_draws, -1)
            answer.mean[row], answer.standard_error[row], answer.r_hat[row] = _summary(values)
        worst = float(answer.r_hat.max(initial=1.0))
        if worst > _POOR_R_HAT:
            warn(
                f"chains of Gibbs sampling disagree (R-hat up to {worst:.2f}); answers are uncertain beyond their stated error. "
                f"A model with at most {EXACT_LIMIT} hidden units answers exactly",
                SamplingWarning,
            )
        return answer

    def expected(self) -> Array:
        """p(h = 1) of every hidden unit, (rows, hidden)."""
        return np.asarray(self.states.mean(axis=(1, 2)))

    def draw(self, rng: np.random.Generator) -> Array:
        """A state for each row: one of its draws."""
        n_rows, n_chains, n_draws, _ = self.states.shape
        chosen = np.arange(n_rows), rng.integers(n_chains, size=n_rows), rng.integers(n_draws, size=n_rows)
        return np.asarray(self.states[chosen], dtype=np.float64)


Hidden = Enumerated | Sampled


def hidden_given(
    parameters: Parameters, cells: Cells, rng: np.random.Generator, n_threads: int | None = None, units: CovariateUnits | None = None
) -> Hidden:
    """Hidden states given the cells of each row (eq. 7): enumerated if there are few enough units.

    Parameters
    ----------
    parameters : Parameters
    cells : Cells
    rng : numpy.random.Generator
        Used beyond enumeration only.
    n_threads : int, optional
    units : CovariateUnits, optional
        How covariates are distributed, which matters to rows with missing ones.
    """
    if parameters.n_hidden <= EXACT_LIMIT:
        weights = posterior(parameters, cells, n_threads) if units is None else units.posterior(parameters, cells, n_threads)
        return Enumerated(hidden_states(parameters.n_hidden), weights)
    return sample_hidden(parameters, cells, rng, n_threads)


def sample_hidden(parameters: Parameters, cells: Cells, rng: np.random.Generator, n_threads: int | None = None) -> Sampled:
    """Hidden states drawn by Gibbs sampling, whatever their number.

    A row's random numbers depend on the seed and on what is known of the row, and its chains move by themselves: its states are the same
    to the last bit whatever rows stand beside it.
    """
    parameters.check(cells.layout)
    seed, contents = int(rng.integers(2**63)), row_contents(cells)
    distinct = {content: row for row, content in enumerate(contents)}

    def sample(row: int) -> NDArray[np.bool_]:
        return _sample_row(parameters, cells.part(slice(row, row + 1)), streams_of(contents[row], seed, _N_CHAINS))

    found = dict(zip(distinct, map_in_order(sample, list(distinct.values()), thread_count(n_threads)), strict=True))
    empty = np.empty((0, _N_CHAINS, _N_DRAWS, parameters.n_hidden), dtype=bool)
    return Sampled(np.stack([found[content] for content in contents]) if contents else empty)


def _sample_row(parameters: Parameters, cells: Cells, streams: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """States of one row, (chains, draws, hidden)."""
    natural = parameters.natural()
    chains = Chains.start(parameters, cells, streams, chains_per_row=_N_CHAINS, n_threads=1)
    # Chains begin with few to nearly all units on: if they then agree, it is not because they began alike.
    begin = (chains.uniforms(parameters.n_hidden) < np.linspace(0.05, 0.95, _N_CHAINS)).astype(float)
    chains.draw_given(natural.bias[:, None] + natural.coupling @ begin, 1)
    chains.sweep_natural(natural, _N_BURN_IN, 1)
    out = np.empty((_N_CHAINS, _N_DRAWS, parameters.n_hidden), dtype=bool)
    for k in range(_N_DRAWS):
        chains.sweep_natural(natural, _SWEEPS_BETWEEN, 1)
        out[:, k] = (chains.uniforms(parameters.n_hidden) < expit(-chains.fields)).T
    return out


def warn_if_uncertain(probabilities: Answer) -> None:
    """Warn if sampling leaves a probability uncertain by more than 0.02, unless its chains have been reported to disagree."""
    worst = float(probabilities.standard_error.max(initial=0.0))
    if worst > _LARGE_ERROR and float(probabilities.r_hat.max(initial=1.0)) <= _POOR_R_HAT:
        warn(
            f"probabilities found by Gibbs sampling have a standard error of up to {worst:.2f}. Rows with fewer unobserved cells are "
            f"answered exactly, and so are all rows by a model with at most {EXACT_LIMIT} hidden units",
            SamplingWarning,
        )


def _summary(values: Array) -> tuple[Array, Array, Array]:
    """Mean, standard error and R-hat of values (chains, draws, answers) (eq. 26)."""
    n_draws = values.shape[1]
    of_chain = values.mean(axis=1)
    between, within = of_chain.var(axis=0, ddof=1), values.var(axis=1, ddof=1).mean(axis=0)
    spread = within > 1e-300
    ratio = (n_draws - 1) / n_draws + np.where(spread, between, 0.0) / np.where(spread, within, 1.0)
    return of_chain.mean(axis=0), np.sqrt(between / len(of_chain)), np.sqrt(np.maximum(ratio, 1.0))


def row_chunks(cells: Cells, n_hidden: int) -> Iterator[slice]:
    """Slices of rows for which all states' probabilities, or all draws, fit into memory; an empty one of an empty table."""
    size = max(1, (1 << 24) >> n_hidden) if n_hidden <= EXACT_LIMIT else _ROWS_AT_ONCE
    for start in range(0, max(cells.n_rows, 1), size):
        yield slice(start, min(start + size, cells.n_rows))
