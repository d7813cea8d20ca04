"""A row of :func:`harmonium.evaluate` for an endpoint that a terminal event may prevent."""

from __future__ import annotations

from typing import Any

import numpy as np

from harmonium.errors import MetricWarning, silenced
from harmonium.metrics.competing import Competing, IncidenceBrier, since_the_start, unweighted_concordance, weighted_concordance
from harmonium.metrics.observed import counts_of
from harmonium.metrics.predictions import Predictions
from harmonium.metrics.times import grid_of
from harmonium.table.endpoints import Endpoints
from harmonium.typing import Array

__all__ = ["competing_answers", "competing_evaluation_row", "competing_row"]


def competing_row(
    known: Endpoints, e: int, train: Endpoints | None, predictions: Predictions, times: Any, sample_weight: Any = None
) -> dict[str, float]:
    """All metrics but the likelihood."""
    own = since_the_start(known, known.names[e], sample_weight)
    own_train = own if train is None else since_the_start(train, known.names[e])
    grid = grid_of(own.observed, times)
    brier = IncidenceBrier.of(own, own_train, grid)
    answers = competing_answers(own, predictions, grid, brier)
    return counts_of(known, e, sample_weight) | competing_evaluation_row(own, own_train, grid, brier, *answers)


def competing_answers(own: Competing, predictions: Predictions, grid: Array, brier: IncidenceBrier) -> tuple[Array, Array]:
    """Of a table or a part of it: the risk of all rows, and what each subject contributes to the Brier score."""
    return predictions.risk(own.observed), brier.losses(own, predictions.incidence(own.observed, grid))


def competing_evaluation_row(
    own: Competing, train: Competing, grid: Array, brier: IncidenceBrier, risk: Array, losses: Array
) -> dict[str, float]:
    """All metrics but the likelihood, without counts, from the answers of all parts."""
    found, score = unweighted_concordance(own, risk), brier.concluded(own, losses)
    return {
        "concordance": found.value,
        "concordance_se": found.standard_error,
        "concordance_ipcw": weighted_concordance(own, train, risk),
        "concordance_ipcw_se": np.nan,
        "integrated_brier_score": score.value,
        "integrated_brier_score_se": score.standard_error,
        "kaplan_meier_ibs": _aalen_johansen_ibs(own, train, grid, brier),
        "d_calibration": np.nan,
        "d_calibration_p": np.nan,
    }


def _aalen_johansen_ibs(own: Competing, train: Competing, grid: Array, brier: IncidenceBrier) -> float:
    """The integrated Brier score of the Aalen-Johansen estimate."""
    null = np.broadcast_to(train.incidence().at(grid), (own.observed.rows.size, grid.size))
    with silenced(MetricWarning):  # the same as those of the model's own score
        return brier.concluded(own, brier.losses(own, null)).value
