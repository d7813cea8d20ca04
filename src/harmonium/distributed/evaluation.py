"""``evaluate`` for Dask DataFrames: predictions are made where the rows are, and a few numbers per row come to the client.

Concordance compares every subject with every other, so risks and observed times must meet in one place. The client gathers, for each
endpoint, the bounds (two or three numbers per row), risk, survival until the subject's own time, log-likelihood and the contribution to
the Brier score: about 56 bytes per row and endpoint; of an endpoint that a terminal event may prevent, bounds, risk and contribution.
Covariates and curves stay on the workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import dask
import numpy as np
import pandas as pd

from harmonium.distributed.clusters import require_paired
from harmonium.distributed.frames import single_threaded
from harmonium.distributed.partitions import no_agreement
from harmonium.metrics.brier import IntegratedBrier
from harmonium.metrics.competing import Competing, IncidenceBrier, competing, is_prevented, since_the_start
from harmonium.metrics.competing_evaluation import competing_answers, competing_evaluation_row
from harmonium.metrics.evaluation import endpoint_log_likelihood, evaluation_row, mean_log_likelihood
from harmonium.metrics.observed import Observed, counts_of, place_of, right_censored
from harmonium.metrics.predictions import Predictions, in_unit_of, unit_of
from harmonium.metrics.times import CENTRAL, grid_of
from harmonium.model.survival_model import SurvivalModel
from harmonium.table.endpoints import Endpoints, parse_endpoints
from harmonium.typing import Array

__all__ = ["evaluate"]


def evaluate(
    model: SurvivalModel, X: Any, y: Any, *, endpoints: Any = None, times: Any = CENTRAL, n_bins: int = 10, likelihood: bool = True
) -> pd.DataFrame:
    """Compare the predictions of a model with what happened, as :func:`harmonium.evaluate` does.

    Parameters
    ----------
    model : Fitted or a fitted estimator
    X, y : dask.dataframe.DataFrame
        Of subjects that were not used for training, in the same partitions.
    endpoints, times, n_bins, likelihood
        As in :func:`harmonium.evaluate`.

    Returns
    -------
    pandas.DataFrame
        That of :func:`harmonium.evaluate`.

    Notes
    -----
    The client needs memory for about 56 bytes per row and endpoint, several times that while indices are computed, and each worker
    for the distribution of the censoring, 40 bytes for each distinct time. A sample of a million rows is enough for three digits.
    """
    require_paired(X, y)
    known = _gathered(model, y)
    names = known.names if endpoints is None else (endpoints,) if isinstance(endpoints, str) else tuple(endpoints)
    places = [place_of(known.names, name) for name in names]
    questions = [_question(known, e, times) for e in places]
    with_likelihood = likelihood and not known.terminal
    asked = dask.delayed((single_threaded(model), [question for question, _ in questions], with_likelihood), traverse=False)
    lazy = [dask.delayed(_answers)(*part, asked) for part in zip(X.to_delayed(), y.to_delayed(), strict=True)]
    answers = [part for part in dask.compute(*lazy) if part]
    rows = []
    for number, (question, own) in enumerate(questions):
        row, values = question.row(known, own, [part[number] for part in answers], n_bins)
        found = mean_log_likelihood(known, question.place, values if with_likelihood else None)
        rows.append(row | {"log_likelihood": found.value, "log_likelihood_se": found.standard_error})
    return pd.DataFrame(rows, index=pd.Index(names, name="endpoint"))


def _gathered(model: SurvivalModel, y: Any) -> Endpoints:
    """What is known of the endpoints in all rows, in the unit of the model."""
    read: list[Endpoints] = list(dask.compute(*(dask.delayed(parse_endpoints)(part) for part in y.to_delayed())))
    parts = [part.in_unit(unit_of(model)) for part in read if len(part.lower)] or read[:1]
    for part in parts:
        if part.terminal != parts[0].terminal:
            raise ValueError(no_agreement(parts[0].terminal, part.terminal))
    lower, upper, entry = (np.concatenate([getattr(part, column) for part in parts]) for column in ("lower", "upper", "entry"))
    return replace(parts[0], lower=lower, upper=upper, entry=entry)


def _answers(X: pd.DataFrame, y: pd.DataFrame, asked: Any) -> list[tuple[Array, ...]]:
    """To the questions about each endpoint, in one partition."""
    model, questions, likelihood = asked
    if not len(X):
        return []
    known = in_unit_of(model, y)
    if len(X) != len(known.lower):
        raise ValueError(f"X and y must have as many rows in every partition; found {len(X)} and {len(known.lower)}")
    predictions = Predictions(model, X)
    return [
        (*question.answers(predictions, known), endpoint_log_likelihood(model, X, y, known, question.place) if likelihood else np.empty(0))
        for question in questions
    ]


class _Question(Protocol):
    """What workers are asked about an endpoint, and what follows from their answers."""

    @property
    def place(self) -> int:
        """Of the endpoint among those of the table."""

    def answers(self, predictions: Predictions, known: Endpoints) -> tuple[Array, ...]:
        """Of a partition."""

    def row(self, known: Endpoints, own: Any, answers: Sequence[tuple[Array, ...]], n_bins: int) -> tuple[dict[str, float], Array]:
        """All metrics but the likelihood, and the log-likelihood of every row, where that was asked for."""


def _question(known: Endpoints, e: int, times: Any) -> tuple[_Question, Any]:
    """And what was observed in all rows, which stays at the client."""
    return (_Preventable if is_prevented(known, known.names[e]) else _Endpoint).of(known, e, times)


@dataclass(frozen=True)
class _Endpoint:
    """Of an endpoint that nothing prevents."""

    name: str
    place: int
    grid: Array
    brier: IntegratedBrier

    @classmethod
    def of(cls, known: Endpoints, e: int, times: Any) -> tuple[_Endpoint, Observed]:
        """See :func:`_question`."""
        own = right_censored(known, known.names[e])
        grid = grid_of(own, times)
        return cls(own.name, e, grid, IntegratedBrier.of(own, own, grid)), own

    def answers(self, predictions: Predictions, known: Endpoints) -> tuple[Array, ...]:
        """Of a partition: risk, survival until the own time, and contributions to the Brier score."""
        own = right_censored(known, self.name, quiet=True)  # the warning is given once, for all rows
        losses = self.brier.losses(own, predictions.survival(own, self.grid))
        return predictions.risk(own), predictions.own_survival(own), *losses

    def row(self, known: Endpoints, own: Observed, answers: Sequence[tuple[Array, ...]], n_bins: int) -> tuple[dict[str, float], Array]:
        """See :class:`_Question`."""
        risk, survival, losses, sums, values = zip(*answers, strict=True)
        score = self.brier.concluded(own, np.concatenate(losses), np.sum(sums, axis=0))
        row = evaluation_row(known, self.place, own, own, self.grid, n_bins, np.concatenate(risk), np.concatenate(survival), score)
        return row, np.concatenate(values)


@dataclass(frozen=True)
class _Preventable:
    """Of an endpoint that a terminal event may prevent."""

    name: str
    place: int
    grid: Array
    brier: IncidenceBrier

    @classmethod
    def of(cls, known: Endpoints, e: int, times: Any) -> tuple[_Preventable, Competing]:
        """See :func:`_question`."""
        own = since_the_start(known, known.names[e])
        grid = grid_of(own.observed, times)
        return cls(own.observed.name, e, grid, IncidenceBrier.of(own, own, grid)), own

    def answers(self, predictions: Predictions, known: Endpoints) -> tuple[Array, ...]:
        """Of a partition: risk, and contributions to the Brier score."""
        return competing_answers(competing(known, self.name, quiet=True), predictions, self.grid, self.brier)

    def row(self, known: Endpoints, own: Competing, answers: Sequence[tuple[Array, ...]], n_bins: int) -> tuple[dict[str, float], Array]:
        """See :class:`_Question`."""
        risk, losses, values = (np.concatenate(parts) for parts in zip(*answers, strict=True))
        return counts_of(known, self.place) | competing_evaluation_row(own, own, self.grid, self.brier, risk, losses), values
