"""``evaluate`` for Dask DataFrames: predictions are made where the rows are, and a few numbers per row come to the client.

Concordance compares every subject with every other, so risks and observed times must meet in one place. The client gathers, for each
endpoint, the bounds (two or three numbers per row), risk, survival until the subject's own time, log-likelihood and the contribution to
the Brier score: about 56 bytes per row and endpoint. Covariates and curves stay on the workers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import dask
import numpy as np
import pandas as pd

from harmonium.distributed.clusters import require_paired
from harmonium.distributed.frames import single_threaded
from harmonium.metrics.brier import IntegratedBrier
from harmonium.metrics.evaluation import endpoint_log_likelihood, evaluation_row, mean_log_likelihood
from harmonium.metrics.observed import place_of, right_censored
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
    observed = [right_censored(known, name) for name in names]
    grids = [grid_of(own, times) for own in observed]
    briers = [IntegratedBrier.of(own, own, grid) for own, grid in zip(observed, grids, strict=True)]
    asked = dask.delayed((single_threaded(model), list(zip(names, places, grids, briers, strict=True)), likelihood), traverse=False)
    lazy = [dask.delayed(_answers)(*part, asked) for part in zip(X.to_delayed(), y.to_delayed(), strict=True)]
    answers = [part for part in dask.compute(*lazy) if part]
    rows = []
    for number, (e, own, grid, brier) in enumerate(zip(places, observed, grids, briers, strict=True)):
        risk, survival, log_likelihood, losses, sums = zip(*(part[number] for part in answers), strict=True)
        score = brier.concluded(own, np.concatenate(losses), np.sum(sums, axis=0))
        row = evaluation_row(known, e, own, own, grid, n_bins, np.concatenate(risk), np.concatenate(survival), score)
        found = mean_log_likelihood(known, e, np.concatenate(log_likelihood) if likelihood else None)
        rows.append(row | {"log_likelihood": found.value, "log_likelihood_se": found.standard_error})
    return pd.DataFrame(rows, index=pd.Index(names, name="endpoint"))


def _gathered(model: SurvivalModel, y: Any) -> Endpoints:
    """What is known of the endpoints in all rows, in the unit of the model."""
    read: list[Endpoints] = list(dask.compute(*(dask.delayed(parse_endpoints)(part) for part in y.to_delayed())))
    parts = [part.in_unit(unit_of(model)) for part in read if len(part.lower)] or read[:1]
    lower, upper, entry = (np.concatenate([getattr(part, column) for part in parts]) for column in ("lower", "upper", "entry"))
    if any(part.terminal for part in parts):
        raise ValueError("evaluate does not take a Dask DataFrame where an endpoint is terminal; evaluate in memory")
    return replace(parts[0], lower=lower, upper=upper, entry=entry)


def _answers(X: pd.DataFrame, y: pd.DataFrame, asked: Any) -> list[tuple[Array, ...]]:
    """Of each endpoint in one partition: risk, survival until the own time, log-likelihood, and contributions to the Brier score."""
    model, questions, likelihood = asked
    if not len(X):
        return []
    known = in_unit_of(model, y)
    if len(X) != len(known.lower):
        raise ValueError(f"X and y must have as many rows in every partition; found {len(X)} and {len(known.lower)}")
    predictions, out = Predictions(model, X), []
    for name, e, grid, brier in questions:
        observed = right_censored(known, name, quiet=True)  # the warning is given once, for all rows
        losses = brier.losses(observed, predictions.survival(observed, grid))
        values = endpoint_log_likelihood(model, X, y, known, e) if likelihood else np.empty(0)
        out.append((predictions.risk(observed), predictions.own_survival(observed), values, *losses))
    return out
