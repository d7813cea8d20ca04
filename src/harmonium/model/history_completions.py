r"""What rows may be of whose covariates or event history something is not known: rows of which everything is, with weights.

.. math:: p(x_m, \text{history} \mid \text{what is known}) \propto p(x_m \mid x_o) \, L(\text{history} \mid x), \qquad x = (x_o, x_m) .

Missing covariates are those of :mod:`harmonium.model.completions`; possible histories, of an event between two visits, say, or of a subject
that is known to be alive for longer than it was examined, are those of :mod:`harmonium.table.unseen_courses`. L is the likelihood under
the harmoniums of all endpoints, so any answer about such a row is the average of the answers about the rows that it may be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harmonium.engine.covariate_units import CovariateUnits
from harmonium.engine.parameters import Parameters
from harmonium.model.completions import Completions
from harmonium.model.endpoint_models import EndpointModels
from harmonium.numerics.quadrature import panel_nodes
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import Endpoints
from harmonium.table.histories import Histories
from harmonium.table.unseen_courses import Rule, possible_histories
from harmonium.typing import Array, Integers

__all__ = ["HistoryCompletions"]

_NEGLIGIBLE = 1e-10  # a weight that is not worth an answer


def _rule() -> Rule:
    """Of integrals over the time of an event that was not seen: to about four digits where hazards are smooth."""
    return Rule(*panel_nodes(np.linspace(0.0, 1.0, 9), 4))


class HistoryCompletions(NamedTuple):
    """Rows of which everything is known until some time, those of each row of a table together.

    Attributes
    ----------
    rows : ndarray of int
        The row of the table.
    covariates : ndarray
        Encoded.
    y : Endpoints
    known : Histories
    log_likelihood : ndarray
        Of the history given the covariates; of a time that was not seen, times the width for which it stands.
    log_prior : ndarray
        Of the covariates given those that were observed.
    weights : ndarray
        They add up to one for each row.
    """

    rows: Integers
    covariates: Array
    y: Endpoints
    known: Histories
    log_likelihood: Array
    log_prior: Array
    weights: Array

    @classmethod
    def of(
        cls,
        models: EndpointModels,
        encoding: Encoding,
        parameters: Parameters,
        units: CovariateUnits | None,
        covariates: Array,
        y: Endpoints,
        n_threads: int | None = None,
        *,
        everything: bool = False,
    ) -> HistoryCompletions:
        """Of rows with encoded covariates, NaN where missing; parameters and units say how covariates are distributed.

        Likelihoods of rows that can be one thing only are found if ``everything`` is wanted; their weights do not need them.
        """
        n_rows = len(covariates)
        possible = possible_histories(models.course, y, models.histories(y), _rule(), models.course.passing)
        found = Completions.of(parameters, units, encoding.cells(covariates), n_threads)
        first = np.searchsorted(found.rows, np.arange(n_rows + 1))
        sizes = np.diff(first)[possible.rows]
        history = np.repeat(np.arange(possible.rows.size), sizes)
        own = np.arange(history.size) - np.repeat(np.cumsum(sizes) - sizes, sizes) + first[possible.rows[history]]
        order = np.argsort(possible.rows[history], kind="stable")
        history, own = history[order], own[order]
        rows, values, known = possible.rows[history], found.covariates[own], possible.y.part(history)
        prior, ln = np.log(found.weights[own]), possible.log_width[history].copy()
        histories = models.histories(known)
        uncertain = np.flatnonzero((np.bincount(rows, minlength=n_rows)[rows] > 1) | everything)
        ln[uncertain] += models.log_likelihood(encoding, values[uncertain], known.part(uncertain), histories.part(uncertain))
        weights = _weights(rows, prior + ln, n_rows)
        worth = np.flatnonzero(weights > _NEGLIGIBLE)
        parts = (own[worth] for own in (ln, prior, weights))
        return cls(rows[worth], values[worth], known.part(worth), histories.part(worth), *parts)

    def part(self, rows: Integers) -> HistoryCompletions:
        """Of some rows of the table, which are numbered anew."""
        number = np.full(int(max(self.rows.max(initial=-1), rows.max(initial=-1))) + 1, -1)
        number[rows] = np.arange(rows.size)
        own = np.flatnonzero(number[self.rows] >= 0)
        own = own[np.argsort(number[self.rows[own]], kind="stable")]
        some = (array[own] for array in (self.log_likelihood, self.log_prior, self.weights))
        return HistoryCompletions(number[self.rows[own]], self.covariates[own], self.y.part(own), self.known.part(own), *some)

    def log_likelihoods(self, n_rows: int) -> Array:
        """Ln p of what is known of the histories of the table's rows, given the covariates that were observed."""
        ln = self.log_likelihood + self.log_prior
        best = np.full(n_rows, -np.inf)
        np.maximum.at(best, self.rows, ln)
        shift = np.nan_to_num(best, neginf=0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.bincount(self.rows, np.exp(ln - shift[self.rows]), n_rows)) + shift)

    def averaged(self, answers: Array) -> Array:
        """Answers about the table's rows, from those about these."""
        starts = np.searchsorted(self.rows, np.arange(self.rows[-1] + 1 if self.rows.size else 0))
        if starts.size == self.rows.size:
            return answers
        weighted = answers * self.weights.reshape(-1, *[1] * (answers.ndim - 1))
        return np.asarray(np.add.reduceat(weighted, starts, axis=0)) if self.rows.size else answers

    def drawn(self, rng: np.random.Generator) -> Integers:
        """One of these for each row of the table, by its weight."""
        last = np.append(np.flatnonzero(np.diff(self.rows)), self.rows.size - 1) if self.rows.size else self.rows
        first = np.append(0, last[:-1] + 1) if last.size else last
        places = np.searchsorted(np.cumsum(self.weights), np.arange(last.size) + rng.random(last.size))
        return np.clip(places, first, last)


def _weights(rows: Integers, ln: Array, n_rows: int) -> Array:
    """Weights that add up to one for each row; even ones where nothing of what is thought of is possible."""
    best = np.full(n_rows, -np.inf)
    np.maximum.at(best, rows, ln)
    likely = np.where(np.isfinite(best[rows]), np.exp(ln - np.nan_to_num(best[rows], neginf=0.0)), 1.0)
    return np.asarray(likely / np.bincount(rows, likely, n_rows)[rows])
