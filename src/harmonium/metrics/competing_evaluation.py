"""A row of :func:`harmonium.evaluate` for an endpoint that a terminal event may prevent."""

from __future__ import annotations

from typing import Any

import numpy as np

from harmonium.errors import CompetingWarning, MetricWarning, silenced
from harmonium.metrics.competing import integrated, since_the_start, unweighted_concordance, weighted_concordance
from harmonium.metrics.observed import counts_of
from harmonium.metrics.predictions import Predictions
from harmonium.metrics.times import grid_of
from harmonium.table.endpoints import Endpoints

__all__ = ["competing_row"]


def competing_row(
    known: Endpoints, e: int, train: Endpoints | None, predictions: Predictions, times: Any, sample_weight: Any = None
) -> dict[str, float]:
    """All metrics but the likelihood."""
    own = since_the_start(known, known.names[e], sample_weight)
    own_train = own if train is None else since_the_start(train, known.names[e])
    grid = grid_of(own.observed, times)
    with silenced(CompetingWarning):
        incidence = 1.0 - predictions.survival(own.observed, grid)
        risk = predictions.risk(own.observed)
    found = unweighted_concordance(own, risk)
    brier = integrated(own, own_train, incidence, grid)
    null = np.broadcast_to(own_train.incidence().at(grid), incidence.shape)
    with silenced(MetricWarning):  # the same as those of the model's own score
        null_score = integrated(own, own_train, null, grid)
    return {
        **counts_of(known, e, sample_weight),
        "concordance": found.value,
        "concordance_se": found.standard_error,
        "concordance_ipcw": weighted_concordance(own, own_train, risk),
        "concordance_ipcw_se": np.nan,
        "integrated_brier_score": brier.value,
        "integrated_brier_score_se": brier.standard_error,
        "kaplan_meier_ibs": null_score.value,
        "d_calibration": np.nan,
        "d_calibration_p": np.nan,
    }
